package cmd

import (
	"errors"
	"strings"
	"testing"

	"github.com/hermesbox/hermesbox/internal/cube"
)

// TestAdvise: each stage that fails has a next step; the local Cube has no
// address that could be wrong.
func TestAdvise(t *testing.T) {
	t.Parallel()
	gone := &failure{err: cube.ErrUnreachable, code: exitFailed, hint: "check cube.api_url"}
	for name, test := range map[string]struct {
		local bool
		err   error
		hint  string
	}{
		"local":   {true, gone, "which starts it"},
		"cluster": {false, gone, "check cube.api_url"},
		"other":   {true, &failure{err: errors.New("other"), code: exitFailed, hint: "its own"}, "its own"},
		"no hint": {false, errors.New("other"), "run the same command again"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &pipeline{local: test.local}
			if got := failed(p.advise(test.err)); !strings.Contains(got.hint, test.hint) || got.code != exitFailed {
				t.Errorf("%+v", got)
			}
		})
	}
}

func TestThrowaway(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"smoke-boxp45qylpu2fqdq": true, "verify-gj4f5jiku3utuzk2": true, "verify-gj4f5jiku3utuzk_": true,
		"smoke": false, "smoke-test": false, "my-smoke-boxp45qylpu2fqdq": false, "smoke-boxp45qylpu2fqd1": false, "": false,
	} {
		if throwaway(name) != want {
			t.Errorf("%q is taken for the other", name)
		}
	}
}
