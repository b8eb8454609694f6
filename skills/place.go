package skills

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/hermesbox/hermesbox/internal/node"
)

// Place is where the public skills are on a node.
type Place struct {
	Root string // the shared root
	Dir  string // of the skills, directly in it
}

// State is hermesbox's own directory beside them; no sandbox mounts it.
func (p Place) State() string { return path.Join(p.Root, ".hermesbox-skills") }

// Ledger is the file that tells what was deployed.
func (p Place) Ledger() string { return path.Join(p.State(), "ledger.json") }

// Kept holds what was changed on the node and then replaced.
func (p Place) Kept() string { return path.Join(p.State(), "kept") }

// ErrPlace is a Place that nothing may be deployed to.
var ErrPlace = errors.New("no place for skills")

// check refuses what is empty, the system's, outside the root or the state itself.
func (p Place) check() error {
	if err := node.CheckRoot(p.Root); err != nil {
		return fmt.Errorf("%w: %w", ErrPlace, err)
	}
	name := strings.TrimPrefix(p.Dir, p.Root+"/")
	if name == p.Dir || name == "" || strings.Contains(name, "/") || path.Clean(p.Dir) != p.Dir || p.Dir == p.State() {
		return fmt.Errorf("%w: %q is not a directory of its own in %s", ErrPlace, p.Dir, p.Root)
	}
	return nil
}
