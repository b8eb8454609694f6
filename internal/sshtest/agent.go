package sshtest

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/hermesbox/hermesbox/internal/dockertest"
)

// Agent starts an ssh-agent that holds keys, in their order, and gives its
// socket. It ends with the test.
func Agent(t testing.TB, keys ...Key) string {
	t.Helper()
	program, err := exec.LookPath("ssh-agent")
	if err != nil {
		dockertest.Missing(t, "sshd", err)
	}
	dir, err := os.MkdirTemp("", "agent") //nolint:usetesting // the name of a socket is short
	if err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(dir, "s")
	agent := exec.Command(program, "-D", "-a", socket) //nolint:noctx // ends with the test
	if err := agent.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = agent.Process.Kill()
		_ = agent.Wait()
		_ = os.RemoveAll(dir)
	})
	waitFor(t, socket)
	var files []string
	for i, key := range keys {
		file := filepath.Join(dir, fmt.Sprint(i))
		key.Write(t, file, "")
		files = append(files, file)
	}
	if len(files) == 0 {
		return socket
	}
	add := exec.CommandContext(t.Context(), "ssh-add", append([]string{"-q"}, files...)...)
	add.Env = append(os.Environ(), "SSH_AUTH_SOCK="+socket)
	if out, err := add.CombinedOutput(); err != nil {
		t.Fatalf("ssh-add: %v: %s", err, out)
	}
	return socket
}

func waitFor(t testing.TB, socket string) {
	t.Helper()
	var dialer net.Dialer
	for range 500 {
		conn, err := dialer.DialContext(t.Context(), "unix", socket)
		if err == nil {
			_ = conn.Close()
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("ssh-agent does not answer at %s", socket)
}
