package procs

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"connectrpc.com/connect"

	"github.com/hermesbox/hermesbox/scripts/standin/envd/spec/process"
)

// DefaultKeepalive is the pause after which a silent stream gets a keepalive.
const DefaultKeepalive = 90 * time.Second

// Keepalive reads the interval that a request asks for, in whole seconds.
func Keepalive(h http.Header) time.Duration {
	seconds, err := strconv.Atoi(h.Get("Keepalive-Ping-Interval"))
	if err != nil {
		return DefaultKeepalive
	}
	return time.Duration(seconds) * time.Second
}

// errDies stands for the real service's death by an interval that is not positive.
var errDies = errors.New("keepalive interval is not positive")

// relay sends the start event and then what the listener gets, until the end event or the end of ctx.
func relay(ctx context.Context, l *listener, every time.Duration, start *process.ProcessEvent, send func(*process.ProcessEvent) error) error {
	defer l.leave()
	if err := send(start); err != nil {
		return err
	}
	if every <= 0 {
		return errDies
	}
	silence := time.NewTicker(every)
	defer silence.Stop()
	for {
		e, err := next(ctx, l, silence.C)
		if err != nil {
			return err
		}
		if e.GetData() != nil {
			silence.Reset(every)
		}
		if err := send(e); err != nil || e.GetEnd() != nil {
			return err
		}
	}
}

// next prefers the end of ctx: a stream that ran out of time has no end event.
func next(ctx context.Context, l *listener, silence <-chan time.Time) (*process.ProcessEvent, error) {
	select {
	case <-ctx.Done():
	case e := <-l.events:
		if !expired(ctx) {
			return e, nil
		}
		<-ctx.Done()
	case <-silence:
		return &process.ProcessEvent{Event: &process.ProcessEvent_Keepalive{Keepalive: &process.ProcessEvent_KeepAlive{}}}, nil
	}
	return nil, contextError(ctx)
}

// expired looks at the clock too: the timer that kills the process may come before that of ctx.
func expired(ctx context.Context) bool {
	limit, ok := ctx.Deadline()
	return ctx.Err() != nil || ok && !time.Now().Before(limit)
}

func contextError(ctx context.Context) error {
	code := connect.CodeCanceled
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		code = connect.CodeDeadlineExceeded
	}
	return connect.NewError(code, ctx.Err())
}
