package skills

import (
	"errors"
	"fmt"

	"github.com/hermesbox/hermesbox/internal/answer"
)

// What callers branch on.
var (
	// ErrLink is a link where a directory is to be; nothing was followed.
	ErrLink = errors.New("is a link")
	// ErrKind is something else where a directory or the ledger is to be.
	ErrKind = errors.New("is in the way")
	// ErrNoRoot means that the node has no shared root.
	ErrNoRoot = errors.New("is not there")
	// ErrMade means that a directory cannot be made.
	ErrMade = errors.New("cannot be made")
	// ErrTool means that a node lacks a tool.
	ErrTool = errors.New("a tool is missing on the node")
	// ErrLocked means that another deploy did not end in time.
	ErrLocked = errors.New("another deploy goes on")
	// ErrLock means that the lock is no file of hermesbox, or cannot be written.
	ErrLock = errors.New("the lock cannot be used")
	// ErrMount means that the skills are a file system of their own.
	ErrMount = errors.New("is a mount of its own: nothing can be swapped into it at once")
	// ErrStage means that the skills could not be laid down; nothing was changed.
	ErrStage = errors.New("nothing was changed: the skills could not be staged")
	// ErrCut means that the connection was lost before all was there; nothing was changed.
	ErrCut = errors.New("nothing was changed: the skills did not arrive in whole")
	// ErrLedger means that the ledger cannot be read.
	ErrLedger = errors.New("the ledger is broken")
	// ErrNewer means that a newer hermesbox deployed here.
	ErrNewer = errors.New("the ledger is of a newer hermesbox")
	// ErrBusy means that other deploys came in between again and again.
	ErrBusy = errors.New("other deploys came in between")
	// ErrStuck means that what a deploy began, this one or an earlier one, cannot
	// be done to its end.
	ErrStuck = errors.New("the deploy that was begun cannot be finished")

	errMoved = errors.New("another deploy came in between")
)

// refusal is why a script did nothing, nil where it did.
func refusal(answers map[string]string) error {
	why, refused := answers["refused"]
	if !refused {
		return nil
	}
	about := answers["problem"]
	for key, err := range map[string]error{"link": ErrLink, "file": ErrKind, "absent": ErrNoRoot, "mount": ErrMount, "made": ErrMade} {
		if key == why {
			return fmt.Errorf("%s %w", about, err)
		}
	}
	for key, err := range map[string]error{
		"tool": ErrTool, "locked": ErrLocked, "lock": ErrLock, "stage": ErrStage, "cut": ErrCut, "moved": errMoved, "stuck": ErrStuck,
	} {
		if key == why {
			return fmt.Errorf("%w: %s", err, about)
		}
	}
	return answer.Err
}
