package cmd

import (
	"errors"
	"fmt"
	"testing"

	"github.com/hermesbox/hermesbox/sandbox"
)

// TestSandboxErrorsHaveANextStep: what sandboxes can fail with comes with what to do.
func TestSandboxErrorsHaveANextStep(t *testing.T) {
	t.Parallel()
	for _, err := range []error{
		sandbox.ErrSpec, sandbox.ErrNoTemplate, sandbox.ErrNoDefaultHome, sandbox.ErrForeign, sandbox.ErrUsers, sandbox.ErrNoToken,
		sandbox.ErrNoService, sandbox.ErrOtherNode, sandbox.ErrRunsAlready, sandbox.ErrBakedToken, sandbox.ErrNoWebUI, sandbox.ErrWebUI,
		sandbox.ErrSeedElsewhere, sandbox.ErrReadOnly, sandbox.ErrLocked, sandbox.ErrTaken, sandbox.ErrAnswerLost, sandbox.ErrGone,
		sandbox.ErrSecretInImage, sandbox.ErrBareHome,
		&sandbox.HeldError{What: "home"}, &sandbox.HeldError{What: "name"}, &sandbox.NotInitialisedError{}, &sandbox.PathError{},
		&sandbox.SpaceError{}, &sandbox.TwiceError{}, &sandbox.ElsewhereError{},
	} {
		var f *failure
		if got := homeFailed(fmt.Errorf("step: %w", err)); !errors.As(got, &f) || f.hint == "" || !errors.Is(got, err) {
			t.Errorf("%v: no hint, or another error: %v", err, got)
		}
	}
}
