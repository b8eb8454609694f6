package sandbox

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// ErrForeign means that a sandbox is not hermesbox's, or that its home and
// workspace are not known any more.
var ErrForeign = errors.New("its home and workspace are not known")

// Rebuild makes a sandbox anew with the name, home and workspace of an old one,
// which it stops first. Where Cube cannot stop it, it is left over, a warning
// says so, and the new one takes the name. Spec gives all else; its name, home
// and workspace are those of the old one, and so is what was chosen for that one
// and is not chosen anew. Nothing is stopped before what can be checked was.
func (c *Client) Rebuild(ctx context.Context, old Sandbox, s Spec) (Created, error) {
	if old.Home == "" || old.Workspace == "" {
		return Created{}, fmt.Errorf("rebuilding %s: %w", old.Title(), ErrForeign)
	}
	s.Name, s.Home, s.Workspace = old.Name, old.Home, old.Workspace
	s.keep(old.Chosen)
	if s.Template == "" {
		s.Template = c.successor(old)
	}
	if err := s.Check(); err != nil {
		return Created{}, err
	}
	m := &making{Client: c, spec: s, replaces: &old}
	m.spec.ShareHome = s.ShareHome || c.sharing(ctx, old)
	if err := m.resolve(ctx); err != nil {
		return m.made, err
	}
	if err := c.stopWhole(ctx, old); err != nil {
		if !Unstoppable(err) {
			return m.made, err
		}
		c.warn("%v; it is left over, and its name goes to the new one", err)
	} else {
		c.note("stopped %s; its home and workspace stay", old.ID)
	}
	return m.run(ctx)
}

// stopTimeout is how long an end may take that is waited for in any case.
const stopTimeout = time.Minute

// stopWhole is Stop, and waits for its end also where ctx ends meanwhile: Cube
// ends the sandbox all the same, and the caller must be told.
func (c *Client) stopWhole(ctx context.Context, s Sandbox) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	whole, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	return c.Stop(whole, s)
}

// successor is the template for a sandbox that is made anew: the newest of the
// configured name, unless it was made from another.
func (c *Client) successor(old Sandbox) string {
	if old.Outdated || !c.Latest.Known[old.Template] {
		return c.Latest.ID
	}
	return old.Template
}

// sharing tells whether another sandbox holds the same home by now, which
// somebody then wanted.
func (c *Client) sharing(ctx context.Context, old Sandbox) bool {
	all, err := c.List(ctx)
	if err != nil {
		return false // resolve will say it
	}
	for _, s := range all {
		if s.ID != old.ID && s.Home == old.Home && s.Name != old.Name && !s.Superseded {
			c.warn("home %s is shared with sandbox %s", old.Home, s.Title())
			return true
		}
	}
	return false
}

// Outdated are those of all that a rebuild would bring to a newer template.
func Outdated(all []Sandbox) []Sandbox {
	var out []Sandbox
	for _, s := range all {
		if s.Outdated && !s.Superseded && s.Home != "" {
			out = append(out, s)
		}
	}
	return out
}
