package sshdial

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"
)

// partingTime is how long a command that is let go may take to be told; a
// network that is stuck does not hold up who waits.
const partingTime = 500 * time.Millisecond

// run is a command on its way. It may outlive Conn.Run, but not the Conn.
type run struct {
	conn           *Conn
	stdout, stderr *outlet

	done chan struct{} // closed at the end, of which code and err tell
	code int
	err  error

	broken chan struct{} // closed when the command is let go
	mu     sync.Mutex
	fault  error // why
	// session is nil until it is open.
	session *ssh.Session
}

func newRun(c *Conn, cmd Command) *run {
	return &run{
		conn: c, stdout: newOutlet(cmd.Stdout), stderr: newOutlet(cmd.Stderr),
		done: make(chan struct{}), broken: make(chan struct{}),
	}
}

// run opens a session, and starts and awaits the command.
func (r *run) run(ctx context.Context, cmd Command) (int, error) {
	session, err := r.conn.session(ctx)
	if err != nil {
		return 0, fmt.Errorf("opening a session: %w", gone(err, ErrClosed))
	}
	defer r.conn.leave()
	defer func() { _ = session.Close() }() // it may be closed already
	if !r.hold(session) {
		return 0, errAbandoned
	}
	var output sync.WaitGroup
	if err := r.start(session, cmd, &output); err != nil {
		return 0, fmt.Errorf("starting a command: %w", gone(err, ErrLost))
	}
	err = session.Wait()
	output.Wait()
	return outcome(err)
}

// hold keeps the session, unless the command was let go meanwhile.
func (r *run) hold(session *ssh.Session) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.session = session
	return r.fault == nil
}

func (r *run) start(session *ssh.Session, cmd Command, output *sync.WaitGroup) error {
	stdin, err := session.StdinPipe()
	if err != nil {
		return err
	}
	stdout, err := session.StdoutPipe()
	if err != nil {
		return err
	}
	stderr, err := session.StderrPipe()
	if err != nil {
		return err
	}
	if err := session.Start(cmd.Line); err != nil {
		return err
	}
	output.Go(func() { r.copy(r.stdout, stdout) })
	output.Go(func() { r.copy(r.stderr, stderr) })
	go r.feed(stdin, cmd.Stdin)
	return nil
}

// abandon lets the command go, for the first fault that there is.
func (r *run) abandon(fault error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fault != nil {
		return
	}
	r.fault = fault
	close(r.broken)
	if r.session == nil {
		return
	}
	told := make(chan struct{})
	go func() {
		defer close(told)
		_ = r.session.Signal(ssh.SIGTERM) // servers may refuse it
		_ = r.session.Close()             // it may be closed already
	}()
	select {
	case <-told:
	case <-time.After(partingTime):
	}
}

// result is how the command ended, or why it was let go; nothing is written
// any more after it.
func (r *run) result() (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fault != nil {
		r.stdout.shut()
		r.stderr.shut()
		return 0, r.fault
	}
	return r.code, r.err
}

// errAbandoned ends what nobody waits for any more.
var errAbandoned = errors.New("abandoned")

// copy hands output on. A writer that fails ends the command, which would wait
// for ever to be read.
func (r *run) copy(to *outlet, from io.Reader) {
	_, err := io.Copy(to, from)
	if err != nil && !errors.Is(err, errAbandoned) {
		r.abandon(fmt.Errorf("writing the command's output: %w", err))
	}
}

// feed gives the command its input. A command that ends early reads none of
// the rest, which is no error.
func (r *run) feed(stdin io.WriteCloser, from io.Reader) {
	if from != nil {
		source := &source{Reader: from}
		_, _ = io.Copy(stdin, source)
		if source.err != nil {
			r.abandon(fmt.Errorf("reading the command's input: %w", source.err))
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

// outlet is a caller's writer, as long as the caller waits.
type outlet struct {
	mu sync.Mutex
	to io.Writer // nil when the caller has gone
}

func newOutlet(to io.Writer) *outlet {
	if to == nil {
		to = io.Discard
	}
	return &outlet{to: to}
}

// Write writes, unless the command was let go.
func (o *outlet) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.to == nil {
		return 0, errAbandoned
	}
	return o.to.Write(p)
}

func (o *outlet) shut() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.to = nil
}
