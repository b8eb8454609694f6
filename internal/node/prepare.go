package node

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/hermesbox/hermesbox/internal/answer"
)

// Dir is a directory that a node is to have.
type Dir struct {
	Path string // absolute and clean
	Mode uint32 // of one that is made
}

// Prepared is a directory after Prepare.
type Prepared struct {
	Path   string `json:"path"`
	Action string `json:"action"`
}

// The actions of a Prepared.
const (
	Made = "made"
	Kept = "kept" // it was there, and is as it was
)

// ErrRoot is a shared root that belongs to the system.
var ErrRoot = errors.New("not a directory to share")

// DirError is a directory that could not be made.
type DirError struct{ Node, Path, Problem string }

// Error names node, directory and problem.
func (e *DirError) Error() string {
	return fmt.Sprintf("making %s on node %s: %s", e.Path, e.Node, e.Problem)
}

// system are directories that the system keeps for itself, with all below; shelf are those that only hold others'.
var (
	system = []string{"/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/libx32", "/proc", "/root", "/run", "/sbin", "/sys", "/usr"}
	shelf  = []string{"/", "/home", "/media", "/mnt", "/opt", "/srv", "/tmp", "/var", "/var/lib"}
)

// CheckRoot refuses a shared root that hermesbox must not make directories in. The error wraps ErrRoot.
func CheckRoot(root string) error {
	if !path.IsAbs(root) || path.Clean(root) != root || strings.ContainsAny(root, "\x00\n\r") {
		return fmt.Errorf("%w: %q is not absolute and clean", ErrRoot, root)
	}
	first := "/" + strings.SplitN(root[1:], "/", 2)[0]
	if slices.Contains(system, first) || slices.Contains(shelf, root) {
		return fmt.Errorf("%w: %s is the system's own", ErrRoot, root)
	}
	return nil
}

//go:embed prepare.sh
var prepareScript string

// Prepare makes the directories that are not there; the first is the shared
// root, which all others are in. Existing ones are not touched, and no link is
// followed. The error wraps ErrRoot, or is a *DirError; what was made before it
// is returned too.
func Prepare(ctx context.Context, n Node, dirs []Dir) ([]Prepared, error) {
	args := make([]string, 0, 2*len(dirs))
	for _, d := range dirs {
		if d != dirs[0] && !strings.HasPrefix(d.Path, dirs[0].Path+"/") {
			return nil, fmt.Errorf("%w: %s is not below %s", ErrRoot, d.Path, dirs[0].Path)
		}
		args = append(args, d.Path, fmt.Sprintf("%04o", d.Mode))
	}
	if err := CheckRoot(dirs[0].Path); err != nil {
		return nil, err
	}
	answers, err := ask(ctx, n, prepareScript, args)
	if err != nil {
		return nil, err
	}
	return readPrepared(n.Name(), answers)
}

func readPrepared(node string, answers []answer.Pair) (done []Prepared, err error) {
	refused := DirError{Node: node}
	for _, a := range answers {
		switch a.Key {
		case Made, Kept:
			done = append(done, Prepared{a.Value, a.Key})
		case "refused":
			refused.Path = a.Value
		case "problem":
			refused.Problem = a.Value
		}
	}
	if refused.Path != "" {
		return done, &refused
	}
	return done, nil
}
