package envd

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/hermesbox/hermesbox/internal/redact"
)

const (
	// keepalive is how often the service shows that a silent command runs. 0
	// would end the whole service.
	keepalive = 50 * time.Second
	// silence is three times that, and some more.
	silence = 170 * time.Second
	// grace is how long a cancelled call may still take to clean up.
	grace = 10 * time.Second
)

// Command is what to start.
type Command struct {
	// Path is looked up in the service's PATH. One that is missing or cannot
	// be executed is no error: it exits with 127 or 126.
	Path string
	Args []string
	// Env is added to PATH, HOME, USER and LOGNAME and what the sandbox was
	// created with. There is no TERM, also on a terminal.
	Env map[string]string
	// Dir is the user's home where empty; one that is missing is an error.
	Dir string
	// Tag names the command in lists. Everything else goes by its id, since
	// the service finds tags by chance only.
	Tag string
	// Stdin opens a pipe to it; otherwise it reads /dev/null.
	Stdin bool
	// Terminal gives it a terminal of this size; nil gives pipes.
	Terminal *Size
	// KillOnCancel ends the command and its children when the context of Start
	// or Wait ends, unless that is for [ErrAsleep]. Otherwise it lives on.
	KillOnCancel bool
}

// Size is that of a terminal.
type Size struct {
	Columns int `json:"cols"`
	Rows    int `json:"rows"`
}

// Shell is a command line for bash as a login shell, as the SDKs run them.
func Shell(line string) Command {
	return Command{Path: "/bin/bash", Args: []string{"-l", "-c", line}}
}

type startRequest struct {
	Process startConfig `json:"process"`
	PTY     *ptyRequest `json:"pty,omitempty"`
	Tag     string      `json:"tag,omitempty"`
	Stdin   bool        `json:"stdin"`
}

type startConfig struct {
	Cmd  string            `json:"cmd"`
	Args []string          `json:"args,omitempty"`
	Envs map[string]string `json:"envs,omitempty"`
	Cwd  string            `json:"cwd,omitempty"`
}

type ptyRequest struct {
	Size Size `json:"size"`
}

// Process is a command that was started, or found running. Its stream must be
// read with Wait or given up with Close.
type Process struct {
	PID int

	client   *Client
	name     string // the method, for errors
	terminal bool
	kill     bool
	res      *http.Response
	cancel   context.CancelCauseFunc
	cause    func() error
}

// Start starts a command. ctx bounds the start, not the command; where it ends
// in between, the command may run, unless KillOnCancel is set.
func (c *Client) Start(ctx context.Context, cmd Command) (*Process, error) {
	for name, value := range cmd.Env {
		if redact.IsSecretName(name) {
			c.secrets.Add(value)
		}
	}
	in := startRequest{Process: startConfig{cmd.Path, cmd.Args, cmd.Env, cmd.Dir}, Tag: cmd.Tag, Stdin: cmd.Stdin}
	if cmd.Terminal != nil {
		in.PTY = &ptyRequest{*cmd.Terminal}
	}
	return c.open(ctx, "/process.Process/Start", in, &Process{terminal: cmd.Terminal != nil, kill: cmd.KillOnCancel})
}

// Connect joins a running command by its id; terminal says whether it has one.
// Its output up to now is lost. Version 0.5.13 does not know a command that
// has ended, 0.6.13 does for 30 s.
func (c *Client) Connect(ctx context.Context, pid int, terminal bool) (*Process, error) {
	return c.open(ctx, "/process.Process/Connect", selected{Process: byPID(pid)}, &Process{terminal: terminal})
}

// open begins the stream of a command and reads its start event.
func (c *Client) open(ctx context.Context, method string, in any, p *Process) (*Process, error) {
	// The stream outlives ctx; what ctx ends is this function.
	stream, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	p.client, p.name, p.cancel = c, method, cancel
	p.cause = func() error { return context.Cause(stream) }
	release := p.bind(ctx)
	defer release()
	err := p.begin(stream, method, in)
	if err == nil && ctx.Err() == nil {
		return p, nil
	}
	if ctx.Err() != nil {
		return nil, p.abandon(ctx, context.Cause(ctx))
	}
	return nil, errors.Join(err, p.Close())
}

// bind ends the stream with ctx. Where the command must not outlive ctx, it
// waits for the id of a command that is just being started.
func (p *Process) bind(ctx context.Context) (release func() bool) {
	return context.AfterFunc(ctx, func() {
		if p.kill {
			time.AfterFunc(grace, func() { p.cancel(context.Cause(ctx)) })
			return
		}
		p.cancel(context.Cause(ctx))
	})
}

// begin sends the request and reads the start event.
func (p *Process) begin(ctx context.Context, method string, in any) error {
	body, err := envelope(in)
	if err != nil {
		return err
	}
	req, err := p.client.request(ctx, http.MethodPost, method, nil, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/connect+json")
	req.Header.Set("Connect-Protocol-Version", "1")
	req.Header.Set("Keepalive-Ping-Interval", strconv.Itoa(int(keepalive/time.Second)))
	p.res, err = p.client.send(req) //nolint:bodyclose // Close does
	if err != nil {
		return err
	}
	first, err := p.next()
	if err != nil {
		return err
	}
	if first.Start == nil {
		return p.broken(errors.New("the stream does not begin with a start event"))
	}
	p.PID = first.Start.PID
	return nil
}

// next reads the next event. A stream that ends here ends too early.
func (p *Process) next() (event, error) {
	timer := time.AfterFunc(p.client.silence, func() {
		p.cancel(fmt.Errorf("no sign of life for %s", p.client.silence))
	})
	f, err := readFrame(p.res.Body)
	timer.Stop()
	switch {
	case err != nil:
		return event{}, p.broken(err)
	case f.end:
		return event{}, p.ended(f.payload)
	}
	var message struct {
		Event event `json:"event"`
	}
	if err := json.Unmarshal(f.payload, &message); err != nil {
		return event{}, p.broken(fmt.Errorf("reading an event: %w", err))
	}
	return message.Event, nil
}

// broken is a stream that cannot be read on.
func (p *Process) broken(err error) error {
	if cause := p.cause(); cause != nil {
		err = cause
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%s: %w", p.name, ErrCut)
	}
	return fmt.Errorf("%s: %w: %w", p.name, ErrCut, err)
}

// ended reads an end frame that came without an end event.
func (p *Process) ended(payload []byte) error {
	var t trailer
	if err := json.Unmarshal(payload, &t); err != nil {
		return p.broken(fmt.Errorf("reading the end frame: %w", err))
	}
	if t.Error == nil {
		return p.broken(io.EOF)
	}
	return p.client.failure(p.res, parts{code: t.Error.Code, message: t.Error.Message})
}

// Close gives the stream up. The command lives on; what it writes is lost, and
// under 0.5.13 one that is just writing much may hang for good.
func (p *Process) Close() error {
	p.cancel(errors.New("the stream was closed"))
	if p.res == nil {
		return nil
	}
	if err := p.res.Body.Close(); err != nil && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("%s: closing the stream: %w", p.name, err)
	}
	return nil
}
