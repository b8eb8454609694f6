package envd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// event is a message of a command's stream; one field is set.
type event struct {
	Start *struct {
		PID int `json:"pid"`
	} `json:"start"`
	Data *struct {
		Stdout []byte `json:"stdout"`
		Stderr []byte `json:"stderr"`
		PTY    []byte `json:"pty"`
	} `json:"data"`
	End *endEvent `json:"end"`
}

type endEvent struct {
	ExitCode *int   `json:"exitCode"`
	OldCode  *int   `json:"exit_code"`
	Exited   bool   `json:"exited"`
	Status   string `json:"status"`
	Error    string `json:"error"`
}

// Exit is how a command ended.
type Exit struct {
	// Code is -1 where a signal ended it.
	Code int
	// Signal is such as killed or terminated; empty where it exited.
	Signal string
}

// OK tells that the command succeeded.
func (e Exit) OK() bool { return e == Exit{} }

func (e Exit) String() string {
	if e.Signal != "" {
		return "signal: " + e.Signal
	}
	return "exit status " + strconv.Itoa(e.Code)
}

// exit reads the end event: a code of 0 is left out, and so is whether a
// command exited that was killed.
func (e endEvent) exit() Exit {
	signal, killed := strings.CutPrefix(e.Status, "signal: ")
	switch {
	case killed:
		return Exit{Code: -1, Signal: signal}
	case e.ExitCode != nil:
		return Exit{Code: *e.ExitCode}
	case e.OldCode != nil:
		return Exit{Code: *e.OldCode}
	}
	if text, ok := strings.CutPrefix(e.Status, "exit status "); ok {
		if code, err := strconv.Atoi(text); err == nil {
			return Exit{Code: code}
		}
	}
	if e.Exited {
		return Exit{}
	}
	return Exit{Code: -1, Signal: "unknown"}
}

// Output is where a command writes; a nil writer discards. What a terminal
// shows goes to Stdout.
type Output struct {
	Stdout, Stderr io.Writer
}

// Wait copies the output until the command has ended, and closes the stream.
// It ends when everyone has closed the output who inherited it: a background
// job of a shell keeps it waiting. A writer that fails ends the waiting, not
// the command. When ctx ends, the command is killed where Start was told so.
func (p *Process) Wait(ctx context.Context, out Output) (Exit, error) {
	release := context.AfterFunc(ctx, func() { p.cancel(context.Cause(ctx)) })
	defer release()
	exit, err := p.copy(out)
	if err != nil && ctx.Err() != nil {
		return Exit{}, p.abandon(ctx, context.Cause(ctx))
	}
	return exit, errors.Join(err, p.Close())
}

func (p *Process) copy(out Output) (Exit, error) {
	for {
		e, err := p.next()
		switch {
		case err != nil:
			return Exit{}, err
		case e.End != nil:
			return e.End.exit(), nil
		case e.Data != nil:
			err = errors.Join(write(out.Stdout, e.Data.Stdout), write(out.Stdout, e.Data.PTY), write(out.Stderr, e.Data.Stderr))
		}
		if err != nil {
			return Exit{}, fmt.Errorf("writing the output of a command: %w", err)
		}
	}
}

func write(w io.Writer, data []byte) error {
	if w == nil || len(data) == 0 {
		return nil
	}
	_, err := w.Write(data)
	return err
}

// abandon gives up a command because a context ended, and kills it where that
// was asked. ctx has ended; what it carries is still of use.
func (p *Process) abandon(ctx context.Context, cause error) error {
	err := fmt.Errorf("%s: %w", p.name, cause)
	if p.kill && p.PID != 0 && !errors.Is(cause, ErrAsleep) {
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
		defer cancel()
		if failed := p.client.KillTree(last, p.PID); failed != nil {
			err = fmt.Errorf("%w; the command may still be running: %w", err, failed)
		}
	}
	return errors.Join(err, p.Close())
}
