package egress

import (
	"testing"

	"github.com/hermesbox/hermesbox/internal/dockertest"
	"github.com/hermesbox/hermesbox/internal/nettest"
)

// newSpace is a network namespace for a test of rules.
func newSpace(t testing.TB) nettest.Space {
	t.Helper()
	if err := Supported(); err != nil {
		dockertest.Missing(t, "root", err)
	}
	return nettest.New(t)
}
