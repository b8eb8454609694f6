package dockertest

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// RequireVar names the environment variable that lists the backends a run must have.
const RequireVar = "HERMESBOX_TEST_REQUIRE"

// Required reports whether the environment says that backend must be there.
func Required(backend string) bool {
	return lists(os.Getenv(RequireVar), backend)
}

// Missing ends the test because backend is not there: as failed where the
// environment requires it, else as skipped.
func Missing(t testing.TB, backend string, reason any) {
	t.Helper()
	if Required(backend) {
		t.Fatalf("%s is required by %s but missing: %v", backend, RequireVar, reason)
	}
	t.Skipf("%s is missing (scripts/test-env.sh up starts it): %v", backend, reason)
}

// lists reports whether the comma-separated list holds name.
func lists(list, name string) bool {
	return slices.ContainsFunc(strings.Split(list, ","), func(s string) bool {
		return strings.TrimSpace(s) == name
	})
}
