package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	defaultTimeout   = 30 * time.Second
	defaultPeriod    = 500 * time.Millisecond
	defaultFailures  = 60
	envdPatience     = 10 * time.Second // where the request needs the command service
	envdCourtesy     = 3 * time.Second  // where it would be nice to have
	probeDialTimeout = 3 * time.Second
)

// errDeadline is Go's own text, which CubeMaster passes on.
var errDeadline = errors.New("context deadline exceeded")

// await probes a started box until it answers 2xx often enough, or the probe's patience ends.
func (c *Cluster) await(ctx context.Context, b *box, p Probe) error {
	if p.Handler.HTTPGet == nil {
		return nil
	}
	period := millis(p.PeriodMS, defaultPeriod)
	failures := max(p.FailureThreshold, 1)
	if p.FailureThreshold == 0 {
		failures = defaultFailures
	}
	needed := max(p.SuccessThreshold, 1)
	client := c.httpClient(b)
	defer client.CloseIdleConnections()
	client.Timeout = millis(p.TimeoutMS, defaultTimeout)
	end := time.Now().Add(max(time.Duration(failures)*period, client.Timeout))
	for seen := 0; ; {
		err := probeOnce(ctx, client, *p.Handler.HTTPGet)
		if err == nil {
			seen++
		} else {
			seen = 0
		}
		switch {
		case seen >= needed:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case time.Now().After(end):
			return errDeadline
		}
		if err := c.alive(ctx, b); err != nil {
			return err
		}
		pause(ctx, min(period, defaultPeriod))
	}
}

func millis(n int, otherwise time.Duration) time.Duration {
	if n <= 0 {
		return otherwise
	}
	return time.Duration(n) * time.Millisecond
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// alive fails for a container whose process ended.
func (c *Cluster) alive(ctx context.Context, b *box) error {
	found, err := c.docker.ContainerInspect(ctx, b.container)
	switch {
	case err != nil:
		return fmt.Errorf("looking at the container: %w", err)
	case !found.State.Running:
		return fmt.Errorf("container exited with code %d before its probe answered", found.State.ExitCode)
	}
	return nil
}

func probeOnce(ctx context.Context, client *http.Client, get HTTPGet) error {
	path := "/" + strings.TrimPrefix(or(get.Path, "/health"), "/") // cubemastercli sends what it is given
	url := "http://" + net.JoinHostPort("sandbox", strconv.Itoa(get.Port)) + path
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	req.Host = or(get.Host, "localhost:"+strconv.Itoa(get.Port))
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<20))
	err = errors.Join(err, resp.Body.Close())
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return fmt.Errorf("probe answered %s", resp.Status)
	}
	return err
}

// httpClient speaks to ports inside a box; the port of the URL is the one inside.
func (c *Cluster) httpClient(b *box) *http.Client {
	transport := &http.Transport{
		Proxy: nil,
		DialContext: func(ctx context.Context, _, addr string) (net.Conn, error) {
			_, text, err := net.SplitHostPort(addr)
			if err != nil {
				return nil, err
			}
			port, err := strconv.Atoi(text)
			if err != nil {
				return nil, err
			}
			ctx, cancel := context.WithTimeout(ctx, probeDialTimeout)
			defer cancel()
			return c.dialBox(ctx, b, port)
		},
	}
	return &http.Client{Transport: transport}
}
