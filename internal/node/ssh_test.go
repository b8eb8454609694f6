package node_test

import (
	"os/exec"
	"testing"

	"github.com/hermesbox/hermesbox/internal/dockertest"
	"github.com/hermesbox/hermesbox/internal/node"
	"github.com/hermesbox/hermesbox/internal/sshdial"
	"github.com/hermesbox/hermesbox/internal/sshtest"
)

// over is a node behind a server.
func over(t testing.TB, s *sshtest.Server, become string) *node.SSH {
	t.Helper()
	n := node.NewSSH("node-1", s.Target(), become, &sshdial.Dialer{Getenv: s.Getenv, ConfigFile: s.ConfigFile()})
	t.Cleanup(func() {
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	})
	return n
}

// TestSSH is the conformance suite with every login shell there is, as a user
// who becomes root, and as root.
func TestSSH(t *testing.T) {
	t.Parallel()
	for _, shell := range []string{"dash", "bash", "zsh", "fish", "tcsh"} {
		t.Run(shell, func(t *testing.T) {
			t.Parallel()
			conform(t, over(t, sshtest.Start(t, sshtest.Options{Users: []sshtest.User{{Name: "deploy", Shell: program(t, shell), Sudo: true}}}), "sudo -n"))
		})
	}
	t.Run("root", func(t *testing.T) {
		t.Parallel()
		n := over(t, sshtest.Start(t, sshtest.Options{}), "")
		conform(t, n)
		if code, err := n.Run(t.Context(), node.Script{Text: "kill -9 $$; sleep 9"}); err == nil {
			t.Errorf("a shell that is killed: code %d and no error", code)
		}
		if n.Name() != "node-1" {
			t.Errorf("Name: %q", n.Name())
		}
	})
}

// program finds a shell or tool, which the machine that must have sshd has too.
func program(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		dockertest.Missing(t, "sshd", err)
	}
	return path
}
