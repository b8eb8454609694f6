package sandbox

import (
	"context"
	"crypto/rand"
	"fmt"

	"github.com/hermesbox/hermesbox/internal/config"
	"github.com/hermesbox/hermesbox/internal/cube"
	"github.com/hermesbox/hermesbox/internal/node"
)

// Place is what a sandbox needs of a node.
type Place struct {
	Layout    Layout
	Home      string // home-id
	Workspace string // workspace-id
}

// check refuses ids that cannot be. The error wraps ErrSpec.
func (p Place) check() error {
	if problem := config.CheckID(p.Home); problem != "" {
		return fmt.Errorf("%w: home: %s", ErrSpec, problem)
	}
	if problem := config.CheckID(p.Workspace); problem != "" {
		return fmt.Errorf("%w: workspace: %s", ErrSpec, problem)
	}
	return nil
}

// What Prepare and SeedHome did with a home.
const (
	Kept   = "kept"   // it was initialised, and is untouched
	Seeded = "seeded" // it is a copy of the default home
	Added  = "added"  // it got what it lacked
)

// Prepared is a node that is ready for a sandbox.
type Prepared struct {
	Node   string           `json:"node"`
	Mounts []cube.HostMount `json:"mounts"`
	// Home is what was found and done: kept, seeded.
	Home string `json:"home"`
	// NonceFile is the name of a file both in the home and in the workspace. The
	// sandbox must read Nonce there, with a line end. Whoever read it removes
	// both; Prepare removes those that are older than an hour.
	NonceFile string `json:"-"`
	Nonce     string `json:"-"`
}

// Prepare makes the three directories on the node, seeds a first-used home, and
// leaves a nonce, all in one script. It waits for others that seed on the node,
// and removes what a killed one left. It never overwrites a file, and does not
// touch an initialised home but for the nonce.
//
// Its errors are ErrSpec, ErrNoDefaultHome, ErrReadOnly, ErrTaken, ErrLocked,
// *NotInitialisedError, *PathError and *SpaceError, and those of the node.
func Prepare(ctx context.Context, n node.Node, p Place) (Prepared, error) {
	if err := p.check(); err != nil {
		return Prepared{}, err
	}
	suffix := random()
	out := Prepared{
		Node: n.Name(), Mounts: p.Layout.Mounts(p.Home, p.Workspace),
		NonceFile: ".hermesbox-nonce-" + suffix, Nonce: rand.Text(),
	}
	args := []string{p.Layout.Root, p.Home, suffix, p.Workspace, out.NonceFile, out.Nonce}
	err := ask(ctx, n, nodeScript{name: "prepare.sh", args: args, place: p}, takeWord("home", &out.Home))
	if err != nil {
		return Prepared{}, fmt.Errorf("preparing node %s: %w", n.Name(), err)
	}
	return out, nil
}
