package sandbox

import (
	"context"
	"errors"

	"github.com/hermesbox/hermesbox/internal/cube"
	"github.com/hermesbox/hermesbox/internal/node"
)

// Place is what a sandbox needs of a node.
type Place struct {
	Layout    Layout
	Home      string // home-id
	Workspace string // workspace-id
}

// Prepared is a node that is ready for a sandbox.
type Prepared struct {
	Node   string           `json:"node"`
	Mounts []cube.HostMount `json:"mounts"`
	// Home is what was found and done: kept, seeded.
	Home string `json:"home"`
	// NonceFile is a file under the home, as seen on the node, relative to it;
	// the sandbox must read Nonce there.
	NonceFile string `json:"-"`
	Nonce     string `json:"-"`
}

// ErrNoDefaultHome means that the home is to be seeded and there is no default
// home to seed it from.
var ErrNoDefaultHome = errors.New("no default home")

// Prepare makes the three directories on the node, seeds a first-used home, and
// leaves a nonce, all in one script.
func Prepare(ctx context.Context, n node.Node, p Place) (Prepared, error) {
	return Prepared{}, errors.New("preparing: not there yet")
}
