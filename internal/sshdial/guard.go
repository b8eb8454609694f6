package sshdial

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"
)

// errSlow is a server that was too slow to answer.
var errSlow = errors.New("connection timed out")

// guard closes connections when a time is over or a context ends: a handshake
// knows no context. Connections through a jump host know no deadline either.
type guard struct {
	ctx  context.Context //nolint:containedctx // lives as long as the handshake that it guards
	stop context.CancelCauseFunc
	time time.Duration

	mu      sync.Mutex
	timer   *time.Timer
	watched []func() bool
}

// newGuard starts the clock.
func newGuard(ctx context.Context, limit time.Duration) *guard {
	g := &guard{time: limit}
	g.ctx, g.stop = context.WithCancelCause(ctx)
	g.timer = time.AfterFunc(limit, func() { g.stop(errSlow) })
	return g
}

// watch closes c when the time is over.
func (g *guard) watch(c io.Closer) {
	undo := context.AfterFunc(g.ctx, func() { _ = c.Close() }) // what waits for it says why
	g.mu.Lock()
	defer g.mu.Unlock()
	g.watched = append(g.watched, undo)
}

// pause stops the clock, resume starts it anew.
func (g *guard) pause()  { g.timer.Stop() }
func (g *guard) resume() { g.timer.Reset(g.time) }

// done lets the connections live, and gives why they were closed where they were.
func (g *guard) done() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	err := context.Cause(g.ctx)
	for _, undo := range g.watched {
		undo()
	}
	g.timer.Stop()
	g.stop(nil)
	return err
}
