package sshtest

import (
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// openssh runs the ssh of this machine against a server.
func openssh(t *testing.T, s *Server, args ...string) (string, error) {
	t.Helper()
	argv := append([]string{"-F", s.ConfigFile(), "-o", "BatchMode=yes", "-p", strconv.Itoa(s.Port), "-l", s.User, s.Host}, args...)
	out, err := exec.CommandContext(t.Context(), "ssh", argv...).CombinedOutput()
	return string(out), err
}

func TestServer(t *testing.T) {
	t.Parallel()
	s := Start(t, Options{})
	for range 2 {
		out, err := openssh(t, s, "echo", "hello")
		if err != nil || out != "hello\n" {
			t.Fatalf("ssh: %q, %v", out, err)
		}
	}
	if c, e := s.Connections(), s.Execs(t); c != 2 || e != 2 {
		t.Errorf("%d connections and %d commands, want 2 and 2", c, e)
	}
}

func TestUsers(t *testing.T) {
	t.Parallel()
	s := Start(t, Options{Users: []User{{Name: "ada", Sudo: true}}})
	out, err := openssh(t, s, "id -un; sudo -n id -un")
	if err != nil || strings.Fields(out)[0] != "ada" || !strings.Contains(out, "root") {
		t.Fatalf("ssh: %q, %v", out, err)
	}
}
