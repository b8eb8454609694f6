package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"
)

// way is one way to a server, with connections of its own that are kept.
type way struct {
	name   string
	url    string
	host   string // "" is the URL's
	client *http.Client
}

func newWay(name, addr, host string) *way {
	return &way{name, "http://" + addr, host, &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}}
}

func closeAll(ways []*way) {
	for _, v := range ways {
		v.client.CloseIdleConnections()
	}
}

// get asks for a path, and gives the answer's body.
func (v *way) get(ctx context.Context, path string) (io.ReadCloser, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, v.url+path, http.NoBody)
	if err != nil {
		return nil, err
	}
	req.Host = v.host
	resp, err := v.client.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode/100 != 2 {
		return nil, errors.Join(fmt.Errorf("%s answers %s", v.name, resp.Status), resp.Body.Close())
	}
	return resp.Body, nil
}

// fetch gets a path whole and says how long that took.
func (v *way) fetch(ctx context.Context, path string) (time.Duration, error) {
	begin := time.Now()
	body, err := v.get(ctx, path)
	if err != nil {
		return 0, err
	}
	_, err = io.Copy(io.Discard, body)
	return time.Since(begin), errors.Join(err, body.Close())
}

// firstOf says how long the first byte of a path takes.
func (v *way) firstOf(ctx context.Context, path string) (time.Duration, error) {
	begin := time.Now()
	body, err := v.get(ctx, path)
	if err != nil {
		return 0, err
	}
	_, err = io.ReadFull(body, make([]byte, 1))
	took := time.Since(begin)
	_, rest := io.Copy(io.Discard, body)
	return took, errors.Join(err, rest, body.Close())
}

// load is what a number of requests took.
type load struct {
	each  []time.Duration
	total time.Duration
}

func (l *load) add(more load) {
	l.each = append(l.each, more.each...)
	l.total += more.total
}

// p50 is the median of the requests, in microseconds.
func (l load) p50() float64 {
	slices.Sort(l.each)
	return float64(l.each[len(l.each)/2]) / float64(time.Microsecond)
}

// rate is requests a second.
func (l load) rate() float64 { return float64(len(l.each)) / l.total.Seconds() }

// drive sends n requests, at any time so many at once.
func (v *way) drive(ctx context.Context, path string, atOnce, n int) (load, error) {
	loads, errs := make([]load, atOnce), make([]error, atOnce)
	var all sync.WaitGroup
	begin := time.Now()
	for i := range loads {
		all.Go(func() {
			for range n / atOnce {
				took, err := v.fetch(ctx, path)
				if err != nil {
					errs[i] = err
					return
				}
				loads[i].each = append(loads[i].each, took)
			}
		})
	}
	all.Wait()
	sum := load{total: time.Since(begin)}
	for _, l := range loads {
		sum.each = append(sum.each, l.each...)
	}
	return sum, errors.Join(errs...)
}
