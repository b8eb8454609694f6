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
	"errors"
	"io"
)

// Node is a machine that runs sandboxes. One conformance suite runs over every
// implementation.
type Node interface {
	// Name is what the configuration calls it; "local" is the local Cube's.
	Name() string
	// Run runs a script to its end, as root, with the working directory /, umask
	// 022, the locale C and the POSIX tools in PATH, and returns its exit code,
	// at most 128. An error means that the script did not start (ErrNotStarted,
	// ErrBecome, ErrNotRoot), that a signal ended it (ErrSignal), or that its end
	// is not known (ErrUnfinished and others): it may then still run. Where ctx
	// ends, that is so too. Any number of Runs may go on at once.
	Run(ctx context.Context, s Script) (code int, err error)
	// Close gives the connection up. A Node is dialled at its first Run, so
	// closing one that was not used does nothing.
	Close() error
}

// Script is a POSIX shell script and what it is given. Neither Text nor Args
// have a limit in length; neither can hold a NUL byte. A script that leaves
// processes behind redirects their streams, or Run waits for them.
type Script struct {
	Text string
	// Args are $1 and following, byte for byte.
	Args []string
	// Stdin may be nil, which reads as empty. A Read that blocks at the end of
	// the script may keep Run, or outlive it. To the script a lost connection
	// looks as the end of Stdin does: what must be whole carries its own length
	// or digest.
	Stdin io.Reader
	// Stdout and Stderr may be nil, which discards. They may be written to at the
	// same time; where that fails, the script is ended.
	Stdout, Stderr io.Writer
}

var (
	// ErrNotStarted means that something in front of the script, such as the
	// login shell, did not run it.
	ErrNotStarted = errors.New("the node did not start the script")
	// ErrBecome means that the command that makes root, such as sudo, refused.
	ErrBecome = errors.New("not allowed to become root")
	// ErrNotRoot means that the script would have run as another user.
	ErrNotRoot = errors.New("not root on the node")
	// ErrSignal means that a signal ended the script, or that it ended with a
	// code above 128, which says so.
	ErrSignal = errors.New("a signal ended the script")
	// ErrUnfinished means that the script started and its end is not known.
	ErrUnfinished = errors.New("the end of the script is not known")
)
