package cluster

import (
	"errors"
	"fmt"
)

// Codes of CubeMaster and its nodes.
const (
	CodeUnknown       = -1
	CodeParams        = 130400
	CodeNotFound      = 130404
	CodeConflict      = 130409
	CodeBusy          = 130490
	CodeNode          = 130566
	CodeResume        = 130589
	CodeInternal      = 130593
	CodeNoResource    = 130597
	CodeNotConfigured = 501 // ours: what the local Cube lacks
)

// Error is a refusal, as CubeMaster gives it.
type Error struct {
	Code int
	Msg  string
}

func (e *Error) Error() string { return fmt.Sprintf("%d: %s", e.Code, e.Msg) }

// fault makes an Error.
func fault(code int, format string, args ...any) *Error {
	return &Error{Code: code, Msg: fmt.Sprintf(format, args...)}
}

// AsError is err as CubeMaster would give it: what is no Error is an internal one.
func AsError(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return &Error{Code: CodeInternal, Msg: err.Error()}
}

// errNoSandbox is the node's text for an id it does not have.
func errNoSandbox() *Error { return fault(CodeNotFound, "sandbox not found") }
