package cmd

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hermesbox/hermesbox/internal/cube"
	"github.com/hermesbox/hermesbox/internal/envd"
)

// How often Cube is asked whether a sandbox runs whose log is followed, and how
// long it may take to say that one does not whose streams were cut.
const (
	runsPoll   = 3 * time.Second
	cutTimeout = 5 * time.Second
	cutPoll    = 500 * time.Millisecond
)

// whileRunning ends, for [envd.ErrAsleep], when the sandbox does not run any
// more: the streams of one that is paused stay open, and silent. Without follow
// nobody is asked. The caller calls stop.
func (t *target) whileRunning(ctx context.Context, follow bool) (running context.Context, stop func()) {
	if !follow {
		return ctx, func() {}
	}
	running, cancel := context.WithCancelCause(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for sleep(running, runsPoll) {
			if !t.runs(running) {
				cancel(envd.ErrAsleep)
			}
		}
	}()
	return running, func() {
		cancel(nil)
		<-done
	}
}

// judgeCut tells whether a stream was cut because the sandbox ended, or sleeps:
// then the error is [envd.ErrAsleep] too.
func (t *target) judgeCut(ctx context.Context, err error) error {
	if !errors.Is(err, envd.ErrCut) {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, cutTimeout)
	defer cancel()
	for {
		if !t.runs(limited) {
			return fmt.Errorf("%w: %w", envd.ErrAsleep, err)
		}
		if !sleep(limited, cutPoll) {
			return err
		}
	}
}

// runs asks Cube. Where it does not tell, the sandbox counts as running.
func (t *target) runs(ctx context.Context) bool {
	now, err := t.link.GetSandbox(ctx, t.ID)
	return err == nil && now.State == cube.Running || err != nil && !errors.Is(err, cube.ErrNotFound)
}

// sleep waits; false is that ctx ended before.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
