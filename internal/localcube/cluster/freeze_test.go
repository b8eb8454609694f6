package cluster

import (
	"errors"
	"testing"
	"testing/synctest"
)

// TestInsist: only what could go away is tried again, and not for ever.
func TestInsist(t *testing.T) {
	t.Parallel()
	busy, other := errors.New("OCI runtime pause failed: unable to freeze: unknown"), errors.New("no such container")
	for name, test := range map[string]struct {
		answers []error // the last one again and again
		want    error
		tries   int
	}{
		"at once":    {[]error{nil}, nil, 1},
		"the third":  {[]error{busy, busy, nil}, nil, 3},
		"never":      {[]error{busy}, busy, freezeTries},
		"other":      {[]error{other}, other, 1},
		"then other": {[]error{busy, other}, other, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				tries := 0
				err := insist(t.Context(), func() error {
					tries++
					return test.answers[min(tries, len(test.answers))-1]
				})
				if !errors.Is(err, test.want) || tries != test.tries {
					t.Errorf("%v after %d tries", err, tries)
				}
			})
		})
	}
}
