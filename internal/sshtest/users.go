package sshtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hermesbox/hermesbox/internal/dockertest"
)

// User is a user of one server only.
type User struct {
	Name string
	// Shell is a program of the machine; /bin/sh by default. Without it the test
	// is skipped, as without sudo.
	Shell string
	// Sudo: may do all as root, without a password.
	Sudo bool
}

// firstID is the uid and gid of the first user.
const firstID = 61000

// users writes the account files of a server that has users of its own.
func (s *Server) users(t testing.TB) {
	t.Helper()
	if len(s.options.Users) == 0 {
		return
	}
	passwd, shadow := readFile(t, "/etc/passwd"), readFile(t, "/etc/shadow")
	sudoers := "root ALL=(ALL:ALL) ALL\n"
	for i, u := range s.options.Users {
		shell := u.Shell
		if shell == "" {
			shell = "/bin/sh"
		}
		if _, err := os.Stat(shell); err != nil {
			dockertest.Missing(t, "sshd", err)
		}
		if _, err := exec.LookPath("sudo"); u.Sudo && err != nil {
			dockertest.Missing(t, "sshd", err)
		}
		home := filepath.Join(s.dir, "home-"+u.Name)
		id := firstID + i
		if err := os.Mkdir(home, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(home, id, id); err != nil {
			t.Fatal(err)
		}
		passwd += fmt.Sprintf("%s:x:%d:%d::%s:%s\n", u.Name, id, id, home, shell)
		shadow += u.Name + ":*:19000:0:99999:7:::\n"
		if u.Sudo {
			sudoers += u.Name + " ALL=(ALL:ALL) NOPASSWD: ALL\n"
		}
	}
	writeFile(t, filepath.Join(s.dir, "passwd"), passwd, 0o644)
	writeFile(t, filepath.Join(s.dir, "shadow"), shadow, 0o600)
	writeFile(t, filepath.Join(s.dir, "sudoers"), sudoers, 0o440)
	s.open(t)
}

// open lets other users reach what lies in the test's directory.
func (s *Server) open(t testing.TB) {
	t.Helper()
	for dir := s.dir; strings.HasPrefix(dir, os.TempDir()+"/"); dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

// command is sshd for one connection.
func (s *Server) command() *exec.Cmd {
	argv := []string{s.program, "-i", "-f", s.config(), "-E", s.log}
	if len(s.options.Users) == 0 {
		return exec.Command(argv[0], argv[1:]...) //nolint:noctx // ends with its connection
	}
	script := `for f in passwd shadow sudoers; do [ ! -e "/etc/$f" ] || mount --bind "$0/$f" "/etc/$f" || exit 1; done; exec "$@"`
	return exec.Command("unshare", append([]string{"--mount", "sh", "-c", script, s.dir}, argv...)...) //nolint:noctx // ends with its connection
}

func readFile(t testing.TB, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
