package sandbox

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// State is how a directory stands, seen from the node.
type State string

// The states of homes. A home is initialised exactly when it has a config.yaml
// that is a file.
const (
	Absent      State = "absent"
	Empty       State = "empty"
	Initialised State = "initialised"
	// Uninitialised: it has entries, but no config.yaml.
	Uninitialised State = "uninitialised"
	// Unusable: nothing can be done with it; Problem says why.
	Unusable State = "unusable"
	// Usable is a directory of which nothing more was asked.
	Usable State = "usable"
)

// Home is a home on a node.
type Home struct {
	ID    string `json:"id"`
	State State  `json:"state"`
	// Problem says what is wrong with an unusable one.
	Problem string `json:"problem"`
	// Entries are the first names in an uninitialised one, Count is how many
	// there are. No sandbox is trusted to have chosen plain names.
	Entries []string `json:"entries,omitempty"`
	Count   int      `json:"count,omitempty"`
	// Modified is when an entry came or went last; zero where nothing is there.
	Modified time.Time `json:"modified,omitzero"`
}

// There tells whether the home has anything in it, or is something else than a
// directory: nothing is seeded there.
func (h Home) There() bool { return h.State != Absent && h.State != Empty }

var (
	// ErrNoDefaultHome means that the home is to be seeded and there is no
	// default home to seed it from.
	ErrNoDefaultHome = errors.New("no default home")
	// ErrReadOnly means that the shared root of the node cannot be written to.
	ErrReadOnly = errors.New("the shared root is read-only")
	// ErrTaken means that something else wrote to a home while it was made.
	ErrTaken = errors.New("something else came in between")
	// ErrLocked means that another run holds the lock of the node for too long.
	ErrLocked = errors.New("another run is at work on the node")
)

// NotInitialisedError is a home that has entries but no config.yaml, and so is
// neither seeded nor used.
type NotInitialisedError struct {
	Node, Home string
	Entries    []string // the first names
	Count      int      // of all
}

func (e *NotInitialisedError) Error() string {
	more := ""
	if e.Count > len(e.Entries) {
		more = fmt.Sprintf(" and %d more", e.Count-len(e.Entries))
	}
	return fmt.Sprintf("home %s on node %s has no config.yaml, but %s%s", e.Home, e.Node, strings.Join(quoteAll(e.Entries), ", "), more)
}

func quoteAll(names []string) []string {
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = fmt.Sprintf("%q", name)
	}
	return out
}

// PathError is something on a node that is not as it must be.
type PathError struct{ Node, Path, Problem string }

func (e *PathError) Error() string {
	return fmt.Sprintf("%s on node %s: %s", e.Path, e.Node, e.Problem)
}

// SpaceError is a node without room. A number that is not known is -1.
type SpaceError struct {
	Node, Path   string
	Need, Free   int64 // bytes
	Files, Nodes int64 // to be made, and inodes that are free
}

func (e *SpaceError) Error() string {
	switch {
	case e.Need > e.Free && e.Free >= 0:
		return fmt.Sprintf("no space left in %s on node %s: %d KiB are needed, %d KiB are free", e.Path, e.Node, e.Need>>10, e.Free>>10)
	case e.Files > e.Nodes && e.Nodes >= 0:
		return fmt.Sprintf("no space left in %s on node %s: %d files are to be made, %d inodes are free", e.Path, e.Node, e.Files, e.Nodes)
	}
	return fmt.Sprintf("no space left in %s on node %s", e.Path, e.Node)
}
