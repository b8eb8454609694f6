package cmd

import (
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"github.com/hermesbox/hermesbox/buildctx"
)

// TestContextErrorsHaveANextStep wraps each error as a stage does.
func TestContextErrorsHaveANextStep(t *testing.T) {
	t.Parallel()
	unreadable := &fs.PathError{Op: "open", Path: "x", Err: syscall.EACCES}
	tests := []struct {
		name string
		err  error
		code int
		hint string // a part of it
	}{
		{"a bad line", &buildctx.IgnoreError{File: ".dockerignore", Line: 2, Pattern: "[a", Err: fs.ErrInvalid}, exitUsage, "mend that line"},
		{"a bad pattern", &buildctx.IgnoreError{File: "context.keep", Pattern: "[a", Err: fs.ErrInvalid}, exitUsage, "mend that pattern"},
		{"an ignore file that is none", &buildctx.IgnoreError{File: ".dockerignore", Err: fs.ErrInvalid}, exitUsage, "make it a file"},
		{"an unreadable ignore file", &buildctx.IgnoreError{File: ".dockerignore", Err: unreadable}, exitFailed, "make it readable, or remove it"},
		{"an unreadable file", &buildctx.PathError{Reason: buildctx.Unreadable, Err: unreadable}, exitFailed, "make it readable, or exclude it"},
		{"a fifo", &buildctx.PathError{Reason: buildctx.IsFifo}, exitFailed, "remove it, or exclude it"},
		{"no source", &buildctx.PathError{Reason: buildctx.Missing}, exitUsage, "name the directory of a Hermes Agent checkout"},
		{"no entry", &buildctx.PathError{Reason: buildctx.NoEntry}, exitUsage, "as it is below the source"},
		{"not below", &buildctx.PathError{Reason: buildctx.NotBelow}, exitUsage, "inside the source"},
		{"an empty context", &buildctx.EmptyError{}, exitFailed, "hermesbox context check says what was left out"},
		{"a bad member", &buildctx.PathError{Reason: buildctx.BadName}, exitFailed, "make the tar anew"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			code, hint := explain(fmt.Errorf("reading src: %w", tt.err))
			if code != tt.code || !strings.Contains(hint, tt.hint) {
				t.Errorf("exit code %d, hint %q", code, hint)
			}
		})
	}
}
