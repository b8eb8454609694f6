// Package node works on Cubelet nodes: the machines whose directories are
// mounted into sandboxes.
//
// A node is reached over SSH, or is the local Cube's own. Both run POSIX shell
// scripts as root and hand their output back; everything done on a node is such
// a script. The package knows directories and disks, and nothing of homes,
// sandboxes or Cube.
//
// Invariants: no script is built from what a caller passes, arguments travel as
// arguments; a command on a node follows no link out of the shared root.
package node

import (
	"context"
	"io"
)

// Node is a machine that runs sandboxes. One conformance suite runs over every
// implementation.
type Node interface {
	// Name is what the configuration calls it; "local" is the local Cube's.
	Name() string
	// Run runs a script to its end, as root, with the working directory / and
	// the POSIX tools in PATH, and returns its exit code. An error means that
	// the script did not start, or that its end is not known: it may then still
	// run. Where ctx ends, that is so too.
	Run(ctx context.Context, s Script) (code int, err error)
	// Close gives the connection up. A Node is dialled at its first Run, so
	// closing one that was not used does nothing.
	Close() error
}

// Script is a POSIX shell script and what it is given.
type Script struct {
	Text string
	// Args are $1 and following, byte for byte.
	Args []string
	// Stdin may be nil, which reads as empty.
	Stdin io.Reader
	// Stdout and Stderr may be nil, which discards.
	Stdout, Stderr io.Writer
}
