package sandbox

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hermesbox/hermesbox/internal/cube"
	"github.com/hermesbox/hermesbox/internal/node"
)

// How long a sandbox may take to do what it was told, and how often it is looked at.
const (
	settleTimeout = 60 * time.Second
	settlePoll    = 500 * time.Millisecond
)

// Pause pauses a sandbox and waits until it is paused. One that is already is
// left so, and false returned.
func (c *Client) Pause(ctx context.Context, s Sandbox) (bool, error) {
	if state, err := c.state(ctx, s); err == nil && state == cube.Paused {
		return false, nil
	}
	err := c.Cube.PauseSandbox(ctx, s.ID)
	if err != nil && !errors.Is(err, cube.ErrConflict) {
		return false, fmt.Errorf("pausing sandbox %s: %w", s.Title(), err)
	}
	// A conflict may be a pause of somebody else's that is under way.
	if waiting := c.settle(ctx, s, cube.Paused); waiting != nil {
		return false, fmt.Errorf("pausing sandbox %s: %w", s.Title(), errors.Join(err, waiting))
	}
	return err == nil, nil
}

// Resume resumes a paused sandbox, with an idle window of at least timeout, and
// waits until it runs. One that was listed as pausing is waited for: asked for by
// itself it seems to run. One that runs is left so, and false returned. On Cube
// before 0.7.0 it may be [cube.ErrBusy]; then only a rebuild helps.
func (c *Client) Resume(ctx context.Context, s Sandbox, timeout time.Duration) (bool, error) {
	if s.State == cube.Pausing {
		if err := c.settle(ctx, s, cube.Paused); err != nil {
			return false, fmt.Errorf("resuming sandbox %s, which is being paused: %w", s.Title(), err)
		}
	}
	state, err := c.state(ctx, s)
	if err == nil && state == cube.Running {
		return false, nil
	}
	if _, err := c.Cube.ConnectSandbox(ctx, s.ID, timeout); err != nil {
		return false, fmt.Errorf("resuming sandbox %s: %w", s.Title(), err)
	}
	if err := c.settle(ctx, s, cube.Running); err != nil {
		return false, fmt.Errorf("resuming sandbox %s: %w", s.Title(), err)
	}
	return true, nil
}

// Stop ends a sandbox and forgets its record. Home and workspace stay.
func (c *Client) Stop(ctx context.Context, s Sandbox) error {
	if err := c.Cube.DeleteSandbox(ctx, s.ID); err != nil {
		return fmt.Errorf("stopping sandbox %s: %w", s.Title(), err)
	}
	if !s.lost() {
		c.forget(ctx, s.ID)
	}
	return nil
}

// Unstoppable tells that Cube can neither end the sandbox nor bring it back,
// as versions before 0.7.0 with one whose network device is taken.
func Unstoppable(err error) bool {
	var failed *cube.Error
	return errors.Is(err, cube.ErrBusy) ||
		errors.As(err, &failed) && (failed.Code == 130589 || strings.Contains(failed.Message, "not in normal state") ||
			strings.Contains(failed.Message, "resume-before-delete"))
}

// state is what Cube says now. Version 0.7.0 can list a paused sandbox that it
// does not find by its id.
func (c *Client) state(ctx context.Context, s Sandbox) (string, error) {
	got, err := c.Cube.GetSandbox(ctx, s.ID)
	if !errors.Is(err, cube.ErrNotFound) {
		return got.State, err
	}
	all, listing := c.Cube.ListSandboxes(ctx, nil)
	if i := slices.IndexFunc(all, func(one cube.Sandbox) bool { return one.ID == s.ID }); listing == nil && i >= 0 {
		return all[i].State, nil
	}
	return "", err
}

// settle waits until Cube says that the sandbox has a state: the answer to a
// pause comes before it.
func (c *Client) settle(ctx context.Context, s Sandbox, want string) error {
	limited, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	for {
		state, err := c.state(limited, s)
		switch {
		case err == nil && state == want:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case limited.Err() != nil:
			return fmt.Errorf("it is not %s after %s", want, settleTimeout)
		case err != nil:
			return err
		}
		select {
		case <-time.After(settlePoll):
		case <-limited.Done():
		}
	}
}

// forget removes the record of a sandbox from the nodes. One that stays does
// no harm: it is believed only while Cube lists the id.
func (c *Client) forget(ctx context.Context, id string) {
	c.everywhere(func(n node.Node) {
		s := node.Script{Text: removeRecordScript, Args: []string{c.Layout.Records(), id + ".json"}}
		if code, err := n.Run(ctx, s); err != nil || code != 0 {
			c.note("the record of %s stays on node %s, which does no harm: %v", id, n.Name(), errors.Join(err, exitError(code)))
		}
	})
}

func exitError(code int) error {
	if code == 0 {
		return nil
	}
	return fmt.Errorf("exit code %d", code)
}
