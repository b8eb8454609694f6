package node

import (
	"context"
	"errors"
	"fmt"

	"github.com/hermesbox/hermesbox/internal/sshdial"
)

// SSH is a node reached over SSH. All its scripts share one connection, which
// is made at the first Run and again at the next after it was lost.
type SSH struct {
	name, address, become string
	dialer                *sshdial.Dialer
	held                  chan *sshdial.Conn // holds one value: the connection, or nil
}

// NewSSH makes a node of its address, [user@]host[:port]. become is put before
// what needs root, such as "sudo -n", and is empty where the user is root; the
// login shell reads it.
func NewSSH(name, address, become string, dialer *sshdial.Dialer) *SSH {
	n := &SSH{name: name, address: address, become: become, dialer: dialer, held: make(chan *sshdial.Conn, 1)}
	n.held <- nil
	return n
}

// Name is the name in the configuration.
func (n *SSH) Name() string { return n.name }

// Run runs a script. Where ctx ends the connection to the script is cut; what
// it started on the node may go on.
func (n *SSH) Run(ctx context.Context, s Script) (int, error) {
	code, err := n.run(ctx, s)
	if err != nil {
		return 0, fmt.Errorf("running a script on node %s: %w", n.name, err)
	}
	return code, nil
}

func (n *SSH) run(ctx context.Context, s Script) (int, error) {
	c, err := newCall(s)
	if err != nil {
		return 0, err
	}
	conn, made, err := n.conn(ctx)
	if err != nil {
		return 0, err
	}
	code, err := n.send(ctx, conn, c)
	if errors.Is(err, sshdial.ErrClosed) && !made {
		// It was lost since the last script, and this one was not started.
		if conn, _, err = n.conn(ctx); err != nil {
			return 0, err
		}
		code, err = n.send(ctx, conn, c)
	}
	if ctx.Err() != nil && !c.stdout.ended {
		return 0, context.Cause(ctx) // whatever the signal made of it
	}
	return c.finish(code, err, n.become)
}

// send runs a script on a connection, and forgets one that is lost.
func (n *SSH) send(ctx context.Context, conn *sshdial.Conn, c *call) (int, error) {
	line := "exec /bin/sh -c '" + c.starter() + "'"
	if n.become != "" {
		line = "exec " + n.become + " /bin/sh -c '" + c.starter() + "'"
	}
	code, err := conn.Run(ctx, sshdial.Command{Line: line, Stdin: c.stdin(), Stdout: &c.stdout, Stderr: &c.stderr})
	if errors.Is(err, sshdial.ErrClosed) || errors.Is(err, sshdial.ErrLost) {
		n.forget(conn)
	}
	return code, err
}

// conn is the connection; made tells that it is new.
func (n *SSH) conn(ctx context.Context) (conn *sshdial.Conn, made bool, err error) {
	select {
	case conn = <-n.held:
	case <-ctx.Done():
		return nil, false, context.Cause(ctx)
	}
	if conn == nil {
		made = true
		conn, err = n.dialer.Dial(ctx, n.address)
	}
	if err != nil {
		n.held <- nil
		return nil, false, err
	}
	n.held <- conn
	return conn, made, nil
}

// forget closes a connection that is lost.
func (n *SSH) forget(lost *sshdial.Conn) {
	held := <-n.held
	if held == lost {
		held = nil
	}
	n.held <- held
	_ = lost.Close() // that it is lost is said already
}

// Close closes the connection. Scripts that run are cut off.
func (n *SSH) Close() error {
	conn := <-n.held
	n.held <- nil
	if conn == nil {
		return nil
	}
	if err := conn.Close(); err != nil {
		return fmt.Errorf("closing node %s: %w", n.name, err)
	}
	return nil
}
