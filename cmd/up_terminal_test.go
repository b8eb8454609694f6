package cmd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/creack/pty"
)

// TestUpSaysLocalFirst: where the local Cube is taken unasked, that is the first
// thing that is said, before what is odd about a Dockerfile.
func TestUpSaysLocalFirst(t *testing.T) {
	t.Parallel()
	keyboard, terminal, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = terminal.Close()
		_ = keyboard.Close()
	})
	dir := t.TempDir()
	for name, text := range map[string]string{"Dockerfile": "FROM scratch\nCOPY file /\n", "file": "text\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	getenv := func(name string) string {
		return map[string]string{"HOME": dir, "DOCKER_HOST": "unix://" + filepath.Join(dir, "no.sock")}[name]
	}
	for _, command := range []string{"plan", "up"} {
		var out, said strings.Builder
		code := Run(t.Context(), System{In: terminal, Out: &out, Err: &said, Getenv: getenv}, []string{command, "-f", filepath.Join(dir, "Dockerfile"), dir})
		first, rest, _ := strings.Cut(said.String(), "\n")
		if code != exitFailed || first != "hermesbox: no Cube is configured: using the local Cube on this machine" || !strings.Contains(rest, "does not copy .hermesbox/manifest") {
			t.Errorf("%s: exit code %d\n%s", command, code, said.String())
		}
	}
}
