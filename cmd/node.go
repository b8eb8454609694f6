package cmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/hermesbox/hermesbox/internal/config"
	"github.com/hermesbox/hermesbox/internal/node"
	"github.com/hermesbox/hermesbox/sandbox"
)

func newNode(app *app) *cobra.Command {
	group := newGroup("node", "Make and check the directories on the machines that run sandboxes", newNodePrepare(app), newNodeCheck(app))
	group.Long = "A node is a machine that runs sandboxes and whose directories they mount. Nodes are listed under nodes in hermesbox.yaml, " +
		"each with its SSH address; the local Cube has one of its own, named local. Without NODE a command is about all."
	return group
}

// fleet are the nodes that a command is about.
type fleet struct {
	cfg   config.Config
	local bool
	nodes []node.Node
}

func (f *fleet) close() error { return closeNodes(f.nodes) }

// layout is where things are on each.
func (f *fleet) layout() sandbox.Layout { return sandbox.Layout{Root: f.cfg.SharedRoot} }

// fleet opens the nodes of the given names, or all. Nothing is asked before all
// names are known to be right. The caller closes it.
func (a *app) fleet(ctx context.Context, names []string) (*fleet, error) {
	loaded, err := a.config()
	if err != nil {
		return nil, err
	}
	f := &fleet{cfg: loaded.Config}
	if f.local, err = a.localNodes(f.cfg); err != nil {
		return nil, err
	}
	if !f.local {
		f.cfg.Nodes, err = pickNodes(f.cfg.Nodes, names)
	} else {
		_, err = pickNodes([]config.Node{{Name: node.LocalName}}, names)
	}
	if err != nil {
		return nil, err
	}
	if err := checkShared(f.cfg.SharedRoot, f.local); err != nil {
		return nil, err
	}
	var link *connected
	if f.local {
		if link, err = a.openCube(ctx, f.cfg.Cube, true, false); err != nil {
			return nil, err
		}
		defer link.Close()
	}
	f.nodes, err = a.openNodes(ctx, f.cfg, link, "")
	return f, err
}

// cubePrefix is what Cube allows to be mounted, from 0.5.1 on, unless it is
// configured otherwise. The local Cube has nothing else.
const cubePrefix = "/data/shared/"

// checkShared refuses a shared root that nothing should be made in.
func checkShared(root string, local bool) error {
	if err := node.CheckRoot(root); err != nil {
		return usagef("shared_root: %w", err).withHint("name a directory of its own, such as /data/shared")
	}
	if local && !strings.HasPrefix(root+"/", cubePrefix) {
		return usagef("shared_root: %s is not under %s, which is all that the local Cube mounts", root, cubePrefix).
			withHint("leave shared_root away for the local Cube; hermesbox local serve --shared-root names the directory behind it")
	}
	return nil
}

// localNodes tells whether the local Cube's node is meant. Nodes can be worked
// on where no Cube is configured.
func (a *app) localNodes(cfg config.Config) (bool, error) {
	if cfg.Cube.Engine != "local" && len(cfg.Nodes) > 0 {
		return false, nil
	}
	local, err := a.pickCube(cfg.Cube)
	if err != nil || !local {
		return false, usagef("no nodes are configured").withHint("list them under nodes in hermesbox.yaml, each with its SSH address, or use --cube local")
	}
	return true, nil
}

// pickNodes are those of the names, in the order of the configuration; all
// where there are no names.
func pickNodes(all []config.Node, names []string) ([]config.Node, error) {
	known := func(name string) bool {
		return slices.ContainsFunc(all, func(n config.Node) bool { return n.Name == name })
	}
	for _, name := range names {
		if !known(name) {
			var have []string
			for _, n := range all {
				have = append(have, n.Name)
			}
			return nil, usagef("%q is no node of this configuration", name).withHint("it has %s", strings.Join(have, ", "))
		}
	}
	return slices.DeleteFunc(slices.Clone(all), func(n config.Node) bool {
		return len(names) > 0 && !slices.Contains(names, n.Name)
	}), nil
}

// maxNodes is how many nodes are worked on at once.
const maxNodes = 32

// each does something with every node at once, and waits for all.
func (f *fleet) each(do func(i int, n node.Node)) {
	var wait sync.WaitGroup
	free := make(chan struct{}, maxNodes)
	for i, n := range f.nodes {
		free <- struct{}{}
		wait.Go(func() {
			defer func() { <-free }()
			do(i, n)
		})
	}
	wait.Wait()
}

// nodesFailed joins what went wrong on some of the nodes, nil for nothing. Done
// tells that others worked.
func nodesFailed(errs []error, done bool) error {
	errs = slices.DeleteFunc(errs, func(err error) bool { return err == nil })
	if len(errs) == 0 {
		return nil
	}
	first := failed(nodeFailed(errs[0]))
	code := first.code
	for _, err := range errs {
		if failed(nodeFailed(err)).code != code {
			code = exitFailed
		}
	}
	if done {
		code = exitPartly
	}
	hint := first.hint
	if len(errs) > 1 && hint != "" {
		hint = fmt.Sprintf("of the first: %s", hint)
	}
	return &failure{err: errors.Join(errs...), code: code, hint: hint}
}

// nodeDirs are the directories that every node has, the shared root first.
func nodeDirs(l sandbox.Layout) []node.Dir {
	return []node.Dir{
		{Path: l.Root, Mode: 0o755},
		{Path: l.Homes(), Mode: 0o711}, // homes are named by whoever may, and listed by root
		{Path: l.State(), Mode: 0o700},
		{Path: l.Workspaces(), Mode: 0o711},
		{Path: l.Skills(), Mode: 0o755},
	}
}
