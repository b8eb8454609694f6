package dockertest

import (
	"net"
	"path/filepath"
	"strings"
	"testing"
)

func TestBuildkitd(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	var config net.ListenConfig
	listener, err := config.Listen(t.Context(), "unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	for _, test := range []struct {
		name, address, require string
		skipped, failed        string
	}{
		{"answers", "unix://" + socket, "buildkitd", "", ""},
		{"unset", "", "docker", "names none", ""},
		{"required", "", "docker,buildkitd", "", "buildkitd is required"},
		{"gone", "unix:///nonexistent", "", "nonexistent", ""},
		{"gone and required", "tcp://127.0.0.1:1", "buildkitd", "", "127.0.0.1:1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv(BuildkitdVar, test.address)
			t.Setenv(RequireVar, test.require)
			got := ""
			v := judge(t, func(tb testing.TB) { got = Buildkitd(tb) })
			if (v.skipped == "") != (test.skipped == "") || !strings.Contains(v.skipped, test.skipped) {
				t.Errorf("skipped: %q, want %q", v.skipped, test.skipped)
			}
			if (v.failed == "") != (test.failed == "") || !strings.Contains(v.failed, test.failed) {
				t.Errorf("failed: %q, want %q", v.failed, test.failed)
			}
			if ended := v.skipped+v.failed != ""; !ended && got != test.address {
				t.Errorf("Buildkitd: %q", got)
			}
		})
	}
}
