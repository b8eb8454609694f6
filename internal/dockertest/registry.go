package dockertest

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"golang.org/x/crypto/bcrypt"
)

// Registry starts Debian's docker-registry on a loopback port and returns its
// address, host:port. It speaks plain HTTP, keeps its data in a directory of
// the test and ends with the test. Where the program is not installed the test
// is Missing "registry".
func Registry(t testing.TB) string {
	t.Helper()
	return registry(t, "")
}

// PrivateRegistry is a Registry that wants this user and password.
func PrivateRegistry(t testing.TB, user, password string) string {
	t.Helper()
	hash, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	users := filepath.Join(t.TempDir(), "htpasswd")
	if err := os.WriteFile(users, []byte(user+":"+string(hash)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return registry(t, "auth: {htpasswd: {realm: test, path: "+users+"}}\n")
}

func registry(t testing.TB, more string) string {
	t.Helper()
	program, err := exec.LookPath("docker-registry")
	if err != nil {
		Missing(t, "registry", err)
	}
	dir := t.TempDir()
	address := freeAddress(t)
	config := filepath.Join(dir, "config.yml")
	text := "version: 0.1\nlog: {level: error}\nstorage: {filesystem: {rootdirectory: " + dir + "/data}, delete: {enabled: true}}\nhttp: {addr: " + address + "}\n" + more
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), program, "serve", config)
	if err := cmd.Start(); err != nil {
		t.Fatalf("starting %s: %v", program, err)
	}
	t.Cleanup(func() {
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Errorf("ending the registry: %v", err)
		}
		_ = cmd.Wait() // it ends by the signal
	})
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", address); err == nil {
			_ = conn.Close() // only that it listens matters
			return address
		}
	}
	t.Fatal("the registry does not answer")
	return ""
}

// freeAddress is a loopback address that nothing listens on.
func freeAddress(t testing.TB) string {
	t.Helper()
	var config net.ListenConfig
	listener, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	return address
}
