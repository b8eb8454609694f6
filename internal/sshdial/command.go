package sshdial

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"

	"golang.org/x/crypto/ssh"
)

// Command is a line for the user's login shell, and what it is given.
type Command struct {
	Line string
	// Stdin may be nil, which reads as empty. One that blocks is left with a
	// goroutine until it gives a byte or ends.
	Stdin io.Reader
	// Stdout and Stderr may be nil, which discards. They get the bytes as they
	// come, those of the shell's start-up files too, may be called at the same
	// time, and are not called after Run has returned.
	Stdout, Stderr io.Writer
}

// Run runs a command to its end and returns its exit code; one that was killed
// by a signal has 128 and the signal's number. No terminal is made for it and
// no variable is sent. An error means that the command did not start, or that
// its end is not known: ErrClosed, ErrLost, or the context's cause. Where the
// context ends or a reader or writer fails, Run does not wait: the command is
// sent TERM, which sshd gives to it unless the user is root, and loses its
// streams. It may still run, and may take the end of a broken input for its
// real end.
func (c *Conn) Run(ctx context.Context, cmd Command) (code int, err error) {
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	r := newRun(c, cmd)
	err = c.spawn(func() {
		defer close(r.done)
		r.code, r.err = r.run(ctx, cmd)
	})
	if err != nil {
		return 0, fmt.Errorf("opening a session: %w", err)
	}
	select {
	case <-r.done:
	case <-r.broken:
	case <-ctx.Done():
		r.abandon(context.Cause(ctx))
	}
	return r.result()
}

// gone says that the connection is lost where that is why. Who finds out first
// sees what the network says, such as a reset; all others see an end.
func gone(err, lost error) error {
	var wire *net.OpError
	if errors.As(err, &wire) {
		return lost
	}
	for _, end := range []error{io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, syscall.ECONNRESET, syscall.EPIPE, syscall.ETIMEDOUT} {
		if errors.Is(err, end) {
			return lost
		}
	}
	return err
}

// outcome reads how a session ended.
func outcome(err error) (code int, lost error) {
	var exit *ssh.ExitError
	var missing *ssh.ExitMissingError
	switch {
	case err == nil:
		return 0, nil
	case errors.As(err, &exit):
		return exit.ExitStatus(), nil
	case errors.As(err, &missing):
		return 0, ErrLost
	}
	return 0, fmt.Errorf("running a command: %w", err)
}
