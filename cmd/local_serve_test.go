package cmd_test

import (
	"bufio"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/hermesbox/hermesbox/internal/dockertest"
)

// TestServeStops: a server that is asked to stop says so, and is no failure.
func TestServeStops(t *testing.T) {
	t.Parallel()
	engine := dockertest.Default(t)
	for name, tt := range map[string]struct {
		signal os.Signal
		code   int
		words  string
	}{
		"terminated":  {syscall.SIGTERM, 0, "the local Cube has stopped; its sandboxes go on"},
		"interrupted": {syscall.SIGINT, 130, "the local Cube has stopped; its sandboxes go on"},
		"down":        {nil, 0, "the local Cube is down"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			serve := prepare(t.Context(), t, dir, engine, "local", "serve", "--state-dir", "state", "--api", "127.0.0.1:0", "--master", "127.0.0.1:0", "--proxy", "127.0.0.1:0")
			stderr, err := serve.StderrPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := serve.Start(); err != nil {
				t.Fatal(err)
			}
			down := func() { must(t, dir, engine, "local", "down", "--state-dir", "state") }
			var said strings.Builder
			for lines := bufio.NewScanner(stderr); lines.Scan(); {
				said.WriteString(lines.Text() + "\n")
				switch {
				case !strings.Contains(lines.Text(), "no security boundary"):
				case tt.signal == nil:
					down()
				default:
					if err := serve.Process.Signal(tt.signal); err != nil {
						t.Error(err)
					}
				}
			}
			err = serve.Wait()
			if code := serve.ProcessState.ExitCode(); code != tt.code || !strings.Contains(said.String(), tt.words) || strings.Contains(said.String(), "error") {
				t.Errorf("exit code %d, %v, want %d\n%s", code, err, tt.code, said.String())
			}
			down()
		})
	}
}
