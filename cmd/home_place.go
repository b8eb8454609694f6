package cmd

import (
	"context"

	"github.com/hermesbox/hermesbox/internal/node"
	"github.com/hermesbox/hermesbox/sandbox"
)

// nodeOfHome is the node that has a home, or the only one.
func (s *sandboxes) nodeOfHome(ctx context.Context, home string) (node.Node, error) {
	if len(s.client.Nodes) == 1 {
		return s.client.Nodes[0], nil
	}
	looks, errs := onNodes(s.client.Nodes, func(n node.Node) (sandbox.Found, error) {
		return sandbox.Look(ctx, n, sandbox.Place{Layout: s.client.Layout, Home: home})
	})
	if len(errs) > 0 {
		return nil, errs[0]
	}
	var names []string
	var having []node.Node
	for i, l := range looks {
		names = append(names, l.Node)
		if l.Home.State != sandbox.Absent && l.Home.State != sandbox.Empty {
			having = append(having, s.client.Nodes[i])
		}
	}
	if len(having) == 1 {
		return having[0], nil
	}
	return nil, usagef("home %s is on %d of the nodes %s", home, len(having), joined(names)).withHint("name the node with --node")
}

// heldHome tells whether a live sandbox has the home, which then is kept: one
// that is not initialised must not change under it.
func (s *sandboxes) heldHome(ctx context.Context, n node.Node, home string) (kept bool, err error) {
	holders, err := s.holders(ctx)
	if err != nil || len(holders[home]) == 0 {
		return false, err
	}
	found, err := sandbox.Look(ctx, n, sandbox.Place{Layout: s.client.Layout, Home: home})
	if err == nil && found.Home.State != sandbox.Initialised {
		err = &sandbox.HeldError{What: "home", ID: home, Holder: holders[home][0]}
	}
	if err != nil {
		return false, err
	}
	s.app.note("home %s on node %s: %s", home, n.Name(), sandbox.Kept)
	return true, nil
}
