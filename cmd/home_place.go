package cmd

import (
	"context"
	"errors"
	"slices"

	"github.com/hermesbox/hermesbox/internal/node"
	"github.com/hermesbox/hermesbox/sandbox"
)

// nodeOfHome is the node that has a home, or the only one.
func (s *sandboxes) nodeOfHome(ctx context.Context, home string) (node.Node, error) {
	if len(s.client.Nodes) == 1 {
		return s.client.Nodes[0], s.notElsewhere(ctx, home)
	}
	having, errs := s.nodesWith(ctx, s.client.Nodes, home)
	if len(errs) > 0 {
		return nil, errs[0]
	}
	if len(having) == 1 {
		return having[0], nil
	}
	return nil, usagef("home %s is on %d of the nodes %s", home, len(having), joined(nodeNames(s.client.Nodes))).withHint("name the node with --node")
}

// notElsewhere refuses a home that the node asked for has not, and another has:
// a second one would begin anew. Others that cannot be looked at do not count.
func (s *sandboxes) notElsewhere(ctx context.Context, home string) error {
	elsewhere, _ := s.nodesWith(ctx, s.others, home)
	if len(elsewhere) == 0 {
		return nil
	}
	if here, errs := s.nodesWith(ctx, s.client.Nodes, home); len(here) > 0 || len(errs) > 0 {
		return errors.Join(errs...)
	}
	return &sandbox.ElsewhereError{Home: home, Node: s.client.Nodes[0].Name(), Has: nodeNames(elsewhere)}
}

// nodesWith are those of the nodes that have a home, in their order.
func (s *sandboxes) nodesWith(ctx context.Context, nodes []node.Node, home string) ([]node.Node, []error) {
	having, errs := onNodes(nodes, func(n node.Node) (node.Node, error) {
		found, err := sandbox.Look(ctx, n, sandbox.Place{Layout: s.client.Layout, Home: home})
		if err != nil || !found.Home.There() {
			return nil, err
		}
		return n, nil
	})
	return slices.DeleteFunc(having, func(n node.Node) bool { return n == nil }), errs
}

func nodeNames(nodes []node.Node) []string {
	names := make([]string, 0, len(nodes))
	for _, n := range nodes {
		names = append(names, n.Name())
	}
	return names
}

// heldHome tells whether a sandbox has the home, which then is kept: one that is
// not initialised must not change under it, nor under one that lost its name
// and runs on.
func (s *sandboxes) heldHome(ctx context.Context, n node.Node, home string) (kept bool, err error) {
	holder, err := s.mounting(ctx, home)
	if err != nil || holder == nil {
		return false, err
	}
	found, err := sandbox.Look(ctx, n, sandbox.Place{Layout: s.client.Layout, Home: home})
	switch {
	case err != nil:
		return false, err
	case found.Home.State == sandbox.Absent && !holder.Live():
		return false, nil
	case found.Home.State != sandbox.Initialised:
		return false, &sandbox.HeldError{What: "home", ID: home, Holder: *holder}
	}
	s.app.note("home %s on node %s: %s", home, n.Name(), sandbox.Kept)
	return true, nil
}

// mounting is a sandbox that has the home, one that holds it first; nil for none.
func (s *sandboxes) mounting(ctx context.Context, home string) (*sandbox.Sandbox, error) {
	all, err := s.client.List(ctx)
	all = slices.DeleteFunc(all, func(one sandbox.Sandbox) bool { return one.Home != home })
	if err != nil || len(all) == 0 {
		return nil, err
	}
	if i := slices.IndexFunc(all, sandbox.Sandbox.Live); i >= 0 {
		return &all[i], nil
	}
	all[0].Name = "" // another has that
	return &all[0], nil
}
