package dockertest

import (
	"net"
	"os"
	"strings"
	"testing"
	"time"
)

// BuildkitdVar names the environment variable that holds the address of a buildkitd without an Engine.
const BuildkitdVar = "HERMESBOX_TEST_BUILDKITD"

// Buildkitd returns the address of a buildkitd, unix:///path or tcp://host:port,
// that reaches the registries of this package. Where none answers the test is
// Missing "buildkitd".
func Buildkitd(t testing.TB) string {
	t.Helper()
	address := os.Getenv(BuildkitdVar)
	network, where, ok := strings.Cut(address, "://")
	if !ok {
		Missing(t, "buildkitd", BuildkitdVar+" names none")
	}
	dialer := net.Dialer{Timeout: 10 * time.Second}
	conn, err := dialer.DialContext(t.Context(), network, where)
	if err != nil {
		Missing(t, "buildkitd", err)
	}
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	return address
}
