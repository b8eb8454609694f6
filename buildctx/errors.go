package buildctx

import (
	"errors"
	"fmt"
	"slices"
)

// ErrEmpty says that no file is left in the context. It comes as an [EmptyError].
var ErrEmpty = errors.New("the context has no files")

// EmptyError is [ErrEmpty] with the account of what was left out; its receipt has no digest.
type EmptyError struct{ Receipt *Receipt }

func (e *EmptyError) Error() string { return ErrEmpty.Error() }
func (e *EmptyError) Unwrap() error { return ErrEmpty }

// Reason says why an entry cannot be carried; commands choose their hints by it.
type Reason string

// The reasons of a [PathError].
const (
	Unreadable   Reason = "unreadable"
	IsFifo       Reason = "fifo"
	IsDevice     Reason = "device"
	NotDirectory Reason = "not-a-directory"
	Missing      Reason = "missing"   // the source
	NoEntry      Reason = "no-entry"  // an entry that was asked for
	NotBelow     Reason = "not-below" // a path that was asked for, and is none of the source's
	BadName      Reason = "bad-name"
	Duplicate    Reason = "duplicate"
	Conflict     Reason = "conflict"
	BadLink      Reason = "bad-link"
	BadMember    Reason = "bad-member"
)

// PathError is an entry that cannot be carried faithfully.
type PathError struct {
	Path   string // as the user knows it: relative to the source for entries, else as given
	Reason Reason
	Detail string // what was found, for a reader
	Err    error  // the cause, may be nil
}

func (e *PathError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("%q %s: %v", e.Path, e.Detail, e.Err)
	}
	return fmt.Sprintf("%q %s", e.Path, e.Detail)
}

func (e *PathError) Unwrap() error { return e.Err }

// ChangedError is an entry that is not, or no longer, what was listed or hashed.
type ChangedError struct {
	Path string
	What string // vanished, grew, …; a phrase that follows the path
	Err  error  // the cause, may be nil
}

func (e *ChangedError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("%q %s: %v", e.Path, e.What, e.Err)
	}
	return fmt.Sprintf("%q %s", e.Path, e.What)
}

func (e *ChangedError) Unwrap() error { return e.Err }

// IgnoreError is a line of an ignore file, or a pattern of the configuration, that cannot be used.
type IgnoreError struct {
	File    string // the ignore file, or the configuration key for patterns from there
	Line    int    // from 1; 0 where the file as a whole is at fault
	Pattern string
	Err     error
}

func (e *IgnoreError) Error() string {
	file := shown(e.File)
	switch {
	case e.Line == 0 && e.Pattern == "":
		return fmt.Sprintf("%s: %v", file, e.Err)
	case e.Line == 0:
		return fmt.Sprintf("%s: pattern %q: %v", file, e.Pattern, e.Err)
	case e.Pattern == "":
		return fmt.Sprintf("%s, line %d: %v", file, e.Line, e.Err)
	}
	return fmt.Sprintf("%s, line %d: pattern %q: %v", file, e.Line, e.Pattern, e.Err)
}

func (e *IgnoreError) Unwrap() error { return e.Err }

// maxProblems bounds how many problems one error lists.
const maxProblems = 10

// problem is an error about one path of the source.
type problem struct {
	path string
	err  error
}

// joinProblems makes one error of many, one for each path, in order; nil of none.
func joinProblems(all []problem) error {
	if len(all) == 0 {
		return nil
	}
	slices.SortStableFunc(all, func(a, b problem) int { return ComparePaths(a.path, b.path) })
	all = slices.CompactFunc(all, func(a, b problem) bool { return a.path == b.path })
	var errs []error
	for _, p := range all[:min(len(all), maxProblems)] {
		errs = append(errs, p.err)
	}
	if more := len(all) - maxProblems; more > 0 {
		errs = append(errs, fmt.Errorf("and %d more", more))
	}
	return errors.Join(errs...)
}
