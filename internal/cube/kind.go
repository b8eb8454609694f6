package cube

import (
	"errors"
	"net/http"
	"slices"
	"strings"
)

// What callers branch on. The versions of Cube say the same thing with
// different statuses, codes and words; [Error] answers errors.Is for all.
var (
	// ErrUnreachable: no answer came, from nobody.
	ErrUnreachable = errors.New("no answer")
	// ErrForeign: an answer came that Cube does not give; another program listens there.
	ErrForeign = errors.New("no answer of Cube's")
	// ErrUnauthorized: the key is missing or not accepted.
	ErrUnauthorized = errors.New("not authenticated")
	// ErrNotFound: there is no such sandbox, template, job or node.
	ErrNotFound = errors.New("not found")
	// ErrConflict: it is already so, or its state does not allow it.
	ErrConflict = errors.New("conflict")
	// ErrInProgress: a job for this template is still running.
	ErrInProgress = errors.New("already in progress")
	// ErrInUse: sandboxes still need the template.
	ErrInUse = errors.New("still in use")
	// ErrNoNode: no healthy node can take it.
	ErrNoNode = errors.New("no node")
	// ErrHostPath: a directory to mount is missing on the node.
	ErrHostPath = errors.New("host path missing on the node")
	// ErrBusy: the network device of a paused sandbox is taken; Cube before
	// 0.7.0 then neither resumes nor deletes it.
	ErrBusy = errors.New("device or resource busy")
	// ErrUnsupported: this version of Cube has no such route.
	ErrUnsupported = errors.New("not supported by this version of Cube")
)

// Is matches the sentinels of this package.
func (e *Error) Is(target error) bool {
	switch target {
	case ErrForeign:
		return e.foreign
	case ErrUnauthorized:
		return e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden || e.Code == 130401
	case ErrUnsupported:
		return e.unsupported()
	case ErrNotFound:
		return !e.unsupported() && e.notFound()
	case ErrConflict:
		return e.Status == http.StatusConflict || e.code(130409, 130490) ||
			e.says("is already paused", "is not paused", "is already running", "already exists")
	case ErrInProgress:
		return e.says("already in progress")
	case ErrInUse:
		return e.says("still in use")
	case ErrNoNode:
		return e.code(130597, 130598) || e.says("no healthy node", "no more resource", "on any healthy node", "not healthy or not found")
	case ErrHostPath:
		return e.says("prepareHostDirVolume")
	case ErrBusy:
		return e.says("ResourceBusy", "Device or resource busy")
	}
	return false
}

// unsupported: CubeAPI's framework answers an unknown route without a body,
// CubeMaster's with a text, which CubeAPI may quote.
func (e *Error) unsupported() bool {
	switch {
	case e.Status == http.StatusMethodNotAllowed, e.Status == http.StatusNotImplemented, e.Code == http.StatusNotFound:
		return true
	default:
		return e.Status == http.StatusNotFound && (e.Message == "" || e.Message == "404 page not found")
	}
}

// notFound goes by words too: the May version gives missing sandboxes the code
// of bad parameters, and missing jobs that of an internal error.
func (e *Error) notFound() bool {
	return e.Status == http.StatusNotFound || e.Status == http.StatusGone || e.code(130404, 130406, 130483) ||
		strings.HasSuffix(e.Message, " not found")
}

func (e *Error) code(any ...int) bool { return slices.Contains(any, e.Code) }

func (e *Error) says(any ...string) bool {
	return slices.ContainsFunc(any, func(words string) bool { return strings.Contains(e.Message, words) })
}
