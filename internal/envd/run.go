package envd

import (
	"context"
	"errors"
	"io"
)

// Run starts a command, feeds it stdin, copies its output and waits. A nil
// stdin is /dev/null. Where stdin cannot be read or sent to its end, the command
// is killed. Run returns when the command has ended and stdin has; a reader
// that never ends is for Start and Input.
func (c *Client) Run(ctx context.Context, cmd Command, stdin io.Reader, out Output) (Exit, error) {
	cmd.Stdin = stdin != nil
	p, err := c.Start(ctx, cmd)
	if err != nil {
		return Exit{}, err
	}
	if stdin == nil {
		return p.Wait(ctx, out)
	}
	feeding, stop := context.WithCancel(ctx)
	defer stop()
	fed := make(chan error, 1)
	go func() { fed <- c.feed(feeding, p, stdin) }()
	exit, err := p.Wait(ctx, out)
	stop() // the command does not read any more
	if feed := <-fed; err == nil && feed != nil {
		return exit, feed
	}
	return exit, err
}

// feed sends the input, and kills the command that would wait for the rest of
// it for ever.
func (c *Client) feed(ctx context.Context, p *Process, stdin io.Reader) error {
	err := p.Input(ctx, stdin)
	if err == nil || ctx.Err() != nil { // Wait has the say
		return nil
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	return errors.Join(err, c.KillTree(last, p.PID))
}

// ProcessInfo is a running command. Its environment is left out, since it may
// hold secrets.
type ProcessInfo struct {
	PID  int
	Tag  string
	Path string
	Args []string
	Dir  string
}

// List lists the commands that were started through the service and still run.
func (c *Client) List(ctx context.Context) ([]ProcessInfo, error) {
	var answer struct {
		Processes []struct {
			Config startConfig `json:"config"`
			PID    int         `json:"pid"`
			Tag    string      `json:"tag"`
		} `json:"processes"`
	}
	err := c.quick(ctx, "/process.Process/List", true, struct{}{}, &answer)
	var out []ProcessInfo
	for _, p := range answer.Processes {
		out = append(out, ProcessInfo{p.PID, p.Tag, p.Config.Cmd, p.Config.Args, p.Config.Cwd})
	}
	return out, err
}
