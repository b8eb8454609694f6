package sshdial

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"
)

// Conn is one connection. Commands on it run side by side, as many as the
// server allows (MaxSessions); the others wait their turn.
type Conn struct {
	// clients are the jump hosts and, last, the server.
	clients []*ssh.Client
	// work are the goroutines that end with the connection.
	work sync.WaitGroup
	stop chan struct{}

	mu    sync.Mutex
	over  bool // Close was called
	open  int
	ended chan struct{} // replaced and closed whenever a session ends
}

func (c *Conn) last() *ssh.Client { return c.clients[len(c.clients)-1] }

func (c *Conn) start(s *settings) {
	c.stop = make(chan struct{})
	c.ended = make(chan struct{})
	if s.aliveInterval > 0 && s.aliveCount > 0 {
		c.work.Go(func() { c.keepAlive(s.aliveInterval, s.aliveCount) })
	}
}

// spawn runs what Close waits for, unless the connection is closed.
func (c *Conn) spawn(do func()) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		return ErrClosed
	}
	c.work.Go(do)
	return nil
}

// Close ends the connection and what runs on it; commands that were started
// may go on. Closing twice does nothing.
func (c *Conn) Close() error {
	c.mu.Lock()
	over := c.over
	c.over = true
	c.mu.Unlock()
	if over {
		return nil
	}
	if c.stop != nil {
		close(c.stop)
	}
	err := c.hangUp()
	c.work.Wait()
	return err
}

// keepAlive asks the server now and then whether it is there, and hangs up
// where no answer came for count intervals.
func (c *Conn) keepAlive(interval time.Duration, count int) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-c.stop:
			return
		case <-ticker.C:
		}
		lost := time.AfterFunc(interval*time.Duration(count), func() { _ = c.hangUp() }) // who waits is told that it is lost
		// Any answer will do: OpenSSH refuses the request, which is one.
		_, _, err := c.last().SendRequest("keepalive@openssh.com", true, nil)
		lost.Stop()
		if err != nil {
			return
		}
	}
}

// hangUp closes the wires, the one to the first jump host first: those within
// it then wait for nobody. A connection that is gone is closed already.
func (c *Conn) hangUp() error {
	var first error
	for _, client := range c.clients {
		if err := client.Close(); err != nil && first == nil && gone(err, nil) != nil {
			first = fmt.Errorf("closing the connection: %w", err)
		}
	}
	return first
}

// session opens a session, or waits for one of this connection to end where
// the server allows no more. A server that does not answer is waited for until
// the connection ends.
func (c *Conn) session(ctx context.Context) (*ssh.Session, error) {
	for tries := 0; ; tries++ {
		c.mu.Lock()
		open, ended := c.open, c.ended
		c.mu.Unlock()
		session, err := c.last().NewSession()
		if err == nil {
			c.mu.Lock()
			c.open++
			c.mu.Unlock()
			return session, nil
		}
		var refused *ssh.OpenChannelError
		if !errors.As(err, &refused) || open == 0 && tries >= maxTries {
			return nil, err
		}
		if err := waitTurn(ctx, open, ended); err != nil {
			return nil, err
		}
	}
}

// A server counts a session for a moment after its end, so the first refusal
// is not the last word.
const (
	maxTries  = 20
	turnPause = 50 * time.Millisecond
)

func waitTurn(ctx context.Context, open int, ended <-chan struct{}) error {
	var pause <-chan time.Time
	if open == 0 {
		pause = time.After(turnPause)
	}
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-ended:
	case <-pause:
	}
	return nil
}

// leave lets a command that waits have its turn.
func (c *Conn) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open--
	close(c.ended)
	c.ended = make(chan struct{})
}
