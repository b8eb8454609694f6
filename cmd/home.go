package cmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/spf13/cobra"

	"github.com/hermesbox/hermesbox/internal/config"
	"github.com/hermesbox/hermesbox/internal/node"
	"github.com/hermesbox/hermesbox/sandbox"
)

func newHome(app *app) *cobra.Command {
	group := newGroup("home", "Seed the homes of sandboxes, and look at them", newHomeSeed(app), newHomeLs(app), newHomeShow(app))
	group.Long = "A home is a directory on a node that a sandbox sees as /root/.hermes. It is initialised exactly when it has a config.yaml; " +
		"a first-used one is seeded from the node's default home. A HOME is a home-id."
	return group
}

// homes connects to work on homes: on the node named, or on all.
func (a *app) homes(ctx context.Context, only string) (*sandboxes, error) {
	loaded, err := a.config()
	if err != nil {
		return nil, err
	}
	if err := checkNode(loaded.Config, only); err != nil {
		return nil, err
	}
	local, err := a.pickCube(loaded.Config.Cube)
	if err == nil {
		err = checkShared(loaded.Config.SharedRoot, local)
	}
	if err != nil {
		return nil, err
	}
	s, err := a.openSandboxes(ctx, loaded.Config, local, false)
	if err != nil {
		return nil, err
	}
	if len(s.client.Nodes) == 0 {
		s.close()
		return nil, usagef("there is no node access").withHint("list the nodes under nodes: in hermesbox.yaml, each with its SSH address")
	}
	left := func(n node.Node) bool { return only != "" && n.Name() != only }
	s.others = slices.DeleteFunc(slices.Clone(s.client.Nodes), func(n node.Node) bool { return !left(n) })
	s.client.Nodes = slices.DeleteFunc(s.client.Nodes, left)
	if len(s.client.Nodes) == 0 {
		s.close()
		return nil, usagef("--node %q is no node here", only).withHint("leave it away, or name one of those under nodes in hermesbox.yaml")
	}
	return s, nil
}

// checkHome refuses what cannot be a home-id.
func checkHome(id string) error {
	if id == sandbox.DefaultHome {
		return usagef("%s", config.CheckID(id)).withHint("hermesbox home seed --from-template makes it")
	}
	if problem := config.CheckID(id); problem != "" {
		return usagef("HOME: %s", problem).withHint("choose another home-id")
	}
	return nil
}

// onNodes does something on each node at once, and returns what came of it in
// their order. A node that fails is among the errors.
func onNodes[T any](nodes []node.Node, do func(node.Node) (T, error)) (done []T, errs []error) {
	results, failures := make([]T, len(nodes)), make([]error, len(nodes))
	var wait sync.WaitGroup
	for i, n := range nodes {
		wait.Go(func() { results[i], failures[i] = do(n) })
	}
	wait.Wait()
	for i, err := range failures {
		if err != nil {
			errs = append(errs, homeFailed(err))
			continue
		}
		done = append(done, results[i])
	}
	return done, errs
}

// holders are the titles of the live sandboxes by the home that they hold, as
// Cube says now.
func (s *sandboxes) holders(ctx context.Context) (map[string][]sandbox.Sandbox, error) {
	all, err := s.client.List(ctx)
	if err != nil {
		return nil, err
	}
	out := map[string][]sandbox.Sandbox{}
	for _, one := range all {
		if one.Home != "" && one.Live() {
			out[one.Home] = append(out[one.Home], one)
		}
	}
	return out, nil
}

// titles are what people call sandboxes.
func titles(all []sandbox.Sandbox) []string {
	out := make([]string, 0, len(all))
	for _, one := range all {
		out = append(out, one.Title())
	}
	return out
}

// homeFailed gives an error about homes its exit code and the next step.
func homeFailed(err error) error {
	var f *failure
	var held *sandbox.HeldError
	hint := ""
	switch {
	case err == nil || errors.As(err, &f):
		return err
	case errors.As(err, &held):
		hint = "hermesbox sandbox stop " + printable(held.Holder.Title()) + " frees it; nothing was changed"
	case errors.Is(err, sandbox.ErrSecretInImage):
		hint = "every home would get it: take it out of the image, and set it in the homes that need it"
	case errors.Is(err, sandbox.ErrNoTemplate):
		hint = "hermesbox up makes one; --template names one by its id"
	default:
		return sandboxFailed(err)
	}
	return &failure{err: fmt.Errorf("%w", err), code: exitFailed, hint: hint}
}
