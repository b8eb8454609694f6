package sshdial

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"

	"golang.org/x/crypto/ssh"
)

// Command is a line for the user's login shell, and what it is given.
type Command struct {
	Line string
	// Stdin may be nil, which reads as empty. One that blocks is left with a
	// goroutine until it gives a byte or ends.
	Stdin io.Reader
	// Stdout and Stderr may be nil, which discards. They get the bytes as they
	// come, those of the shell's start-up files too, and may be called at the
	// same time.
	Stdout, Stderr io.Writer
}

// Run runs a command to its end and returns its exit code; one that was killed
// by a signal has 128 and the signal's number. No terminal is made for it and
// no variable is sent. An error means that the command did not start, or that
// its end is not known: ErrClosed, ErrLost, or the context's cause. Where the
// context ends or a reader or writer fails, the command is sent TERM and left;
// it may still run, and may take the end of a broken input for its real end.
func (c *Conn) Run(ctx context.Context, cmd Command) (code int, err error) {
	if err := ctx.Err(); err != nil {
		return 0, context.Cause(ctx)
	}
	session, err := c.session(ctx)
	if err != nil {
		return 0, fmt.Errorf("opening a session: %w", gone(err, ErrClosed))
	}
	defer c.ended()
	r := run{session: session}
	defer r.close()
	if err := r.start(cmd); err != nil {
		return 0, fmt.Errorf("starting a command: %w", gone(err, ErrLost))
	}
	end := context.AfterFunc(ctx, r.terminate)
	code, err = r.wait()
	switch {
	case !end() && ctx.Err() != nil && err != nil:
		return 0, context.Cause(ctx)
	case r.failed() != nil:
		return 0, r.failed()
	case err != nil:
		return 0, fmt.Errorf("running a command: %w", err)
	}
	return code, nil
}

// gone says that the connection is lost where that is why.
func gone(err, lost error) error {
	if isGone(err) {
		return lost
	}
	return err
}

func isGone(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed)
}

// run is a command on its way.
type run struct {
	session *ssh.Session
	output  sync.WaitGroup

	mu  sync.Mutex
	err error // of a caller's reader or writer
}

func (r *run) start(cmd Command) error {
	stdin, err := r.session.StdinPipe()
	if err != nil {
		return err
	}
	stdout, err := r.session.StdoutPipe()
	if err != nil {
		return err
	}
	stderr, err := r.session.StderrPipe()
	if err != nil {
		return err
	}
	if err := r.session.Start(cmd.Line); err != nil {
		return err
	}
	r.output.Go(func() { r.copy(cmd.Stdout, stdout) })
	r.output.Go(func() { r.copy(cmd.Stderr, stderr) })
	go r.feed(stdin, cmd.Stdin)
	return nil
}

// feed gives the command its input. A command that ends early reads none of
// the rest, which is no error.
func (r *run) feed(stdin io.WriteCloser, from io.Reader) {
	if from != nil {
		source := &source{Reader: from}
		_, _ = io.Copy(stdin, source)
		if source.err != nil {
			r.fail(fmt.Errorf("reading the command's input: %w", source.err))
			return
		}
	}
	_ = stdin.Close()
}

// source keeps the error of a reader apart from those of what it is copied to.
type source struct {
	io.Reader
	err error
}

// Read reads, and keeps what went wrong.
func (s *source) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}

// copy hands output on. A writer that fails ends the command, which would wait
// for ever to be read.
func (r *run) copy(to io.Writer, from io.Reader) {
	if to == nil {
		to = io.Discard
	}
	if _, err := io.Copy(to, from); err != nil {
		r.fail(fmt.Errorf("writing the command's output: %w", err))
	}
}

// fail ends the command for a fault of the caller's side.
func (r *run) fail(err error) {
	r.mu.Lock()
	if r.err == nil {
		r.err = err
	}
	r.mu.Unlock()
	r.terminate()
}

func (r *run) failed() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

func (r *run) terminate() {
	_ = r.session.Signal(ssh.SIGTERM) // servers may refuse it
	r.close()
}

func (r *run) close() { _ = r.session.Close() } // it may be closed already

// wait waits for the end of the command and of its output.
func (r *run) wait() (int, error) {
	err := r.session.Wait()
	r.output.Wait()
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
	return 0, err
}
