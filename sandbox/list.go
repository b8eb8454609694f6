package sandbox

import (
	"context"
	"fmt"
	"slices"
)

// List is all sandboxes of the cluster, also those that somebody else made.
// What Cube has forgotten of one is taken from the record on its node; nodes
// are asked only where that is so.
func (c *Client) List(ctx context.Context) ([]Sandbox, error) {
	all, err := c.listed(ctx)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(all, Sandbox.lost) {
		c.fill(all, c.records(ctx))
	}
	c.judge(all)
	return all, nil
}

// Find is the sandbox with an id, or the one that holds a name. The error wraps
// [ErrUnknown].
func (c *Client) Find(ctx context.Context, nameOrID string) (Sandbox, error) {
	all, err := c.List(ctx)
	if err != nil {
		return Sandbox{}, err
	}
	return Pick(all, nameOrID)
}

// Pick is Find among those listed.
func Pick(all []Sandbox, nameOrID string) (Sandbox, error) {
	for _, is := range []func(Sandbox) bool{
		func(s Sandbox) bool { return s.ID == nameOrID },
		func(s Sandbox) bool { return s.Name == nameOrID && !s.Superseded },
	} {
		if i := slices.IndexFunc(all, is); i >= 0 && nameOrID != "" {
			return all[i], nil
		}
	}
	return Sandbox{}, fmt.Errorf("finding %q: %w", nameOrID, ErrUnknown)
}

// listed is what Cube says, nothing else.
func (c *Client) listed(ctx context.Context) ([]Sandbox, error) {
	answer, err := c.Cube.ListSandboxes(ctx, nil)
	if err != nil {
		return nil, fmt.Errorf("listing sandboxes: %w", err)
	}
	all := make([]Sandbox, 0, len(answer))
	for _, s := range answer {
		all = append(all, known(s))
	}
	return all, nil
}

// judge tells what only all of them together tell.
func (c *Client) judge(all []Sandbox) {
	supersede(all)
	for i, s := range all {
		all[i].Outdated = c.Latest.outdated(s)
	}
	order(all)
}

// Refresh asks Cube for one sandbox again, and for what lists do not tell.
func (c *Client) Refresh(ctx context.Context, s Sandbox) (Sandbox, error) {
	got, err := c.Cube.GetSandbox(ctx, s.ID)
	if err != nil {
		return s, fmt.Errorf("asking for sandbox %s: %w", s.ID, err)
	}
	s.State, s.Domain = got.State, got.Domain
	return s, nil
}

// Show is a sandbox with all that is known of it: what Cube says now, and the
// record on its node.
func (c *Client) Show(ctx context.Context, s Sandbox) (Sandbox, error) {
	s, err := c.Refresh(ctx, s)
	if err != nil {
		return s, err
	}
	one := []Sandbox{s}
	c.fill(one, c.records(ctx))
	return one[0], nil
}
