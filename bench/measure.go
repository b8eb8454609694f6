package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"time"
)

// sample is what one run of a command cost.
type sample struct {
	wall  time.Duration
	cpu   time.Duration // user and system, of the command and what it waited for
	peak  int64         // resident bytes at most; of a pipeline, of its largest process
	first time.Duration // until the first byte on standard error
}

// measure runs a command line of the shell once in dir.
func measure(ctx context.Context, dir, line string) (sample, error) {
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", line)
	cmd.Dir = dir
	r, w, err := os.Pipe()
	if err != nil {
		return sample{}, fmt.Errorf("making a pipe: %w", err)
	}
	cmd.Stderr = w
	begin := time.Now()
	err = cmd.Start()
	_ = w.Close() // the command has its own
	if err != nil {
		return sample{}, fmt.Errorf("starting %q: %w", line, err)
	}
	first, said := firstByte(r, begin)
	err = cmd.Wait()
	s := sample{wall: time.Since(begin), first: first}
	if err != nil {
		return s, fmt.Errorf("running %q: %w: %s", line, err, said)
	}
	s.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		s.peak = usage.Maxrss * maxrssUnit
	}
	return s, nil
}

// firstByte reads everything and says when the first of it came.
func firstByte(r io.ReadCloser, begin time.Time) (time.Duration, []byte) {
	defer func() { _ = r.Close() }() // nothing was written
	buf := make([]byte, 1)
	n, err := r.Read(buf)
	first := time.Since(begin)
	if err != nil {
		return 0, nil
	}
	rest, _ := io.ReadAll(io.LimitReader(r, 4096)) // only for an error message
	_, _ = io.Copy(io.Discard, r)
	return first, append(buf[:n], rest...)
}

// medians takes the median of each cost on its own.
func medians(all []sample) sample {
	return sample{
		wall:  median(all, func(s sample) time.Duration { return s.wall }),
		cpu:   median(all, func(s sample) time.Duration { return s.cpu }),
		peak:  median(all, func(s sample) int64 { return s.peak }),
		first: median(all, func(s sample) time.Duration { return s.first }),
	}
}

func median[T cmp.Ordered](all []sample, of func(sample) T) T {
	values := make([]T, len(all))
	for i, s := range all {
		values[i] = of(s)
	}
	slices.Sort(values)
	return values[len(values)/2]
}
