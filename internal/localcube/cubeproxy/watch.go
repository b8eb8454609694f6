package cubeproxy

import (
	"bufio"
	"errors"
	"net"
	"os"
	"sync/atomic"
	"time"
)

// watch notices that a client hangs up while its answer is awaited, and ends the waiting.
type watch struct {
	c    *client
	gone atomic.Bool
	done chan struct{} // nil until it started
}

// start watches, unless it does already. The connection that is waited on is closed when the client goes.
func (w *watch) start(waiting net.Conn) {
	if w.done != nil {
		return
	}
	w.done = make(chan struct{})
	go func() {
		defer close(w.done)
		_, err := w.c.in.Peek(w.c.in.Buffered() + 1)
		if err == nil || errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, bufio.ErrBufferFull) {
			return // the next request, or stop
		}
		w.gone.Store(true)
		_ = waiting.Close() // ends reading from it
	}()
}

// stop ends the watch; then the client's connection may be read again.
func (w *watch) stop() {
	if w.done == nil {
		return
	}
	_ = w.c.conn.SetReadDeadline(longAgo) // where this fails, reading does too
	<-w.done
	_ = w.c.conn.SetReadDeadline(time.Time{})
}
