package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// What is promised of the proxy, against a request to the port that Docker publishes on loopback, which is the direct
// way that every machine has: a request takes at most so many times as long, this part of the throughput is left, and
// the first byte of a stream comes at most so much later.
const (
	mostLatency    = 1.3
	leastRate      = 0.8
	mostFirstDelay = 10 // ms
)

const benchImage = "hermesbox-bench/answer:1"

// loads are the measurements: small answers one at a time for what a request takes, large ones for throughput.
var loads = []struct {
	path      string
	atOnce, n int
	latency   bool // else throughput
}{{"/", 1, 500, true}, {"/", 8, 1000, true}, {"/", 32, 2000, true}, {"/large", 1, 4, false}, {"/large", 4, 8, false}}

// proxyBench compares requests through the local Cube's proxy with direct ones. For comparison it measures the
// container's own address, which only Linux reaches, a relay of bytes that knows no HTTP, and Go's own reverse proxy,
// each in a process of its own.
func proxyBench(ctx context.Context, out io.Writer, o options) (met bool, err error) {
	w, err := openWorld(ctx, o.hermesbox)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, w.close(ctx)) }()
	if err := w.importSelf(ctx, o.self, benchImage); err != nil {
		return false, err
	}
	p, err := w.sandbox(ctx, benchImage, 9000)
	if err != nil {
		return false, err
	}
	ways := []*way{newWay("proxy", w.proxy, p.host), newWay("published", p.published, ""), newWay("address", p.address, "")}
	for _, kind := range []string{"relay", "reverse"} {
		at, stop, err := startHop(ctx, o.self, kind, p.address)
		if err != nil {
			return false, err
		}
		defer stop()
		ways = append(ways, newWay(kind, at, ""))
	}
	defer closeAll(ways)
	met, err = compare(ctx, out, ways, o.runs)
	if err != nil {
		return false, err
	}
	first, err := firstBytes(ctx, out, ways, o.runs)
	if err != nil {
		return false, err
	}
	if err := services(ctx, out, w, o); err != nil {
		return false, err
	}
	return met && first, nil
}

// compare races the ways and prints a line for each load. The first way is ours, the second the direct one.
func compare(ctx context.Context, out io.Writer, ways []*way, runs int) (bool, error) {
	met := true
	for _, l := range loads {
		got, err := race(ctx, ways, l.path, l.atOnce, l.n, 2*runs)
		if err != nil {
			return false, err
		}
		name := fmt.Sprintf("%s, %d at once", l.path, l.atOnce)
		if l.latency {
			met = printRatios(out, name+", p50", ways, values(got, load.p50), 0, mostLatency, "us") && met
		}
		least := 0.0
		if !l.latency {
			least = leastRate
		}
		met = printRatios(out, name+", rate", ways, values(got, load.rate), least, 0, "/s") && met
	}
	return met, nil
}

func values(all []load, of func(load) float64) []float64 {
	out := make([]float64, len(all))
	for i, l := range all {
		out[i] = of(l)
	}
	return out
}

// printRatios prints the quotient of the first two values, its bound, and all of them. A bound of 0 is none.
func printRatios(out io.Writer, name string, ways []*way, all []float64, least, most float64, unit string) bool {
	quotient := all[0] / all[1]
	met, bound, verdict := true, "", ""
	switch {
	case most > 0:
		met, bound = quotient <= most, fmt.Sprintf("<= %.2f", most)
	case least > 0:
		met, bound = quotient >= least, fmt.Sprintf(">= %.2f", least)
	}
	if bound != "" {
		verdict = "ok"
	}
	if !met {
		verdict = "MISSED"
	}
	fmt.Fprintf(out, "proxy %-42s ratio %8.2f  %-9s %-7s", name, quotient, bound, verdict)
	for i, v := range ways {
		fmt.Fprintf(out, " %s %.0f", v.name, all[i])
	}
	fmt.Fprintln(out, " "+unit)
	return met
}

// race takes turns, so that what else the machine does hits all; the first round only warms up.
func race(ctx context.Context, ways []*way, path string, atOnce, n, rounds int) ([]load, error) {
	got := make([]load, len(ways))
	for round := range rounds + 1 {
		for i, v := range ways {
			l, err := v.drive(ctx, path, atOnce, n)
			if err != nil {
				return nil, err
			}
			if round > 0 {
				got[i].add(l)
			}
		}
	}
	return got, nil
}

// firstBytes compares when the first byte of a stream comes that is then silent for a while.
func firstBytes(ctx context.Context, out io.Writer, ways []*way, runs int) (bool, error) {
	all := make([][]time.Duration, len(ways))
	for range 2 * runs {
		for i, v := range ways {
			took, err := v.firstOf(ctx, "/stream")
			if err != nil {
				return false, err
			}
			all[i] = append(all[i], took)
		}
	}
	first := make([]float64, len(ways))
	for i := range all {
		slices.Sort(all[i])
		first[i] = ms(all[i][len(all[i])/2])
	}
	later := first[0] - first[1]
	verdict := "ok"
	if later > mostFirstDelay {
		verdict = "MISSED"
	}
	fmt.Fprintf(out, "proxy %-42s ms    %8.2f  <= %-6d %-7s", "first byte of a stream, later than direct", later, mostFirstDelay, verdict)
	for i, v := range ways {
		fmt.Fprintf(out, " %s %.2f", v.name, first[i])
	}
	fmt.Fprintln(out, " ms")
	return later <= mostFirstDelay, nil
}

// services measures the services of an image that is on the Engine: the command service, and the web UI where it has one.
func services(ctx context.Context, out io.Writer, w *world, o options) error {
	if o.image == "" {
		return nil
	}
	for _, service := range []struct {
		name, path string
		port       int
	}{{"command service", "/health", 49983}, {"web UI", "/health", 9000}} {
		p, err := w.sandbox(ctx, o.image, service.port)
		if err != nil {
			fmt.Fprintf(out, "proxy %s of %s: not measured: %v\n", service.name, o.image, err)
			continue
		}
		ways := []*way{newWay("proxy", w.proxy, p.host), newWay("published", p.published, ""), newWay("address", p.address, "")}
		got, err := race(ctx, ways, service.path, 1, 300, 2*o.runs)
		closeAll(ways)
		if err != nil {
			return err
		}
		printRatios(out, fmt.Sprintf("%s, %s, p50", service.name, service.path), ways, values(got, load.p50), 0, 0, "us")
	}
	return nil
}

// startHop runs a proxy of another kind before an address, in a process of its own.
func startHop(ctx context.Context, self, kind, addr string) (at string, stop func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	cmd := exec.CommandContext(ctx, self, "-"+kind, addr)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		cancel()
		return "", nil, fmt.Errorf("starting a %s: %w", kind, err)
	}
	stop = func() { cancel(); _ = cmd.Wait() } // it was killed
	at, err = bufio.NewReader(out).ReadString('\n')
	if err != nil {
		stop()
		return "", nil, fmt.Errorf("starting a %s: %w", kind, err)
	}
	return strings.TrimSpace(at), stop, nil
}
