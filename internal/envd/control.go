package envd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// selector addresses a process. Tags are not offered: see [Command].
type selector struct {
	PID int `json:"pid"`
}

func byPID(pid int) selector { return selector{pid} }

type selected struct {
	Process selector `json:"process"`
}

// Signal is one of the two that the service sends.
type Signal string

// The signals. They reach the one process, not its children.
const (
	Terminate Signal = "SIGNAL_SIGTERM"
	Kill      Signal = "SIGNAL_SIGKILL"
)

// Signal sends a signal to a process. One that has ended is [ErrNotFound].
func (c *Client) Signal(ctx context.Context, pid int, s Signal) error {
	in := struct {
		selected
		Signal Signal `json:"signal"`
	}{selected{byPID(pid)}, s}
	return c.quick(ctx, "/process.Process/SendSignal", true, in, nil)
}

// Resize gives a terminal another size.
func (c *Client) Resize(ctx context.Context, pid int, s Size) error {
	in := struct {
		selected
		PTY ptyRequest `json:"pty"`
	}{selected{byPID(pid)}, ptyRequest{s}}
	return c.quick(ctx, "/process.Process/Update", true, in, nil)
}

// quick calls a method that has a minute.
func (c *Client) quick(ctx context.Context, method string, repeatable bool, in, out any) error {
	ctx, cancel := context.WithTimeout(ctx, quick)
	defer cancel()
	return c.unary(ctx, method, repeatable, in, out)
}

// chunk is how much input goes in one message.
const chunk = 64 << 10

// Send writes to the command's input, or types into its terminal. It waits
// while the command does not read; only ctx bounds that.
func (p *Process) Send(ctx context.Context, data []byte) error {
	type input struct {
		Stdin []byte `json:"stdin,omitempty"`
		PTY   []byte `json:"pty,omitempty"`
	}
	for len(data) > 0 {
		part := data[:min(len(data), chunk)]
		data = data[len(part):]
		in := struct {
			selected
			Input input `json:"input"`
		}{selected{byPID(p.PID)}, input{Stdin: part}}
		if p.terminal {
			in.Input = input{PTY: part}
		}
		if err := p.client.unary(ctx, "/process.Process/SendInput", false, in, nil); err != nil {
			return err
		}
	}
	return nil
}

// CloseStdin ends the command's input. A terminal has none to close: type ^D.
func (p *Process) CloseStdin(ctx context.Context) error {
	return p.client.quick(ctx, "/process.Process/CloseStdin", true, selected{byPID(p.PID)}, nil)
}

// Input sends all of r and then ends the input. A command that ended before it
// read everything is no error, as with a pipe. Where r fails the input stays
// open: the command must not take a part for the whole.
func (p *Process) Input(ctx context.Context, r io.Reader) error {
	buf := make([]byte, chunk)
	for {
		n, err := r.Read(buf)
		if sending := p.Send(ctx, buf[:n]); sending != nil {
			return gone(sending)
		}
		switch {
		case errors.Is(err, io.EOF):
			return gone(p.CloseStdin(ctx))
		case err != nil:
			return fmt.Errorf("reading the input of a command: %w", err)
		}
	}
}

// gone drops the error of a command that has ended meanwhile. With its pipe
// closed and itself not yet gone, the service calls that internal.
func gone(err error) error {
	var e *Error
	if errors.Is(err, ErrNotFound) || errors.As(err, &e) && e.Code == "internal" {
		return nil
	}
	return err
}

// treeScript stops and then kills $1 and everything below it, parents first,
// so that none can start another one meanwhile.
const treeScript = `tree() {
	kill -STOP "$1" 2>/dev/null
	for stat in /proc/[0-9]*/stat; do
		{ read -r line <"$stat"; } 2>/dev/null || continue
		rest=${line##*") "} parent=
		parent=${rest#* }
		if [ "${parent%% *}" = "$1" ]; then
			child=${stat#/proc/}
			tree "${child%/stat}"
		fi
	done
	kill -KILL "$1" 2>/dev/null
}
tree "$1"
exit 0`

// KillTree kills a process and its children, down to the last. What has
// detached itself from them lives on. A process that has ended is no error.
func (c *Client) KillTree(ctx context.Context, pid int) error {
	_, err := c.Run(ctx, Command{Path: "/bin/sh", Args: []string{"-c", treeScript, "sh", strconv.Itoa(pid)}}, nil, Output{})
	if kill := c.Signal(ctx, pid, Kill); kill != nil && !errors.Is(kill, ErrNotFound) {
		return errors.Join(kill, err)
	}
	return err
}
