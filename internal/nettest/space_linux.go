package nettest

import (
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/hermesbox/hermesbox/internal/dockertest"
)

// Space is a network namespace.
type Space struct {
	File *os.File // open on it
}

// New makes one with its loopback up. The test is Missing "root" where the
// machine forbids it or has no program ip.
func New(t testing.TB) Space {
	t.Helper()
	if _, err := exec.LookPath("ip"); err != nil {
		dockertest.Missing(t, "root", err)
	}
	file, err := unshared()
	if err != nil {
		dockertest.Missing(t, "root", err)
	}
	s := own(t, file)
	s.IP(t, "link set lo up")
	return s
}

// Open opens the one at a path.
func Open(t testing.TB, path string) Space {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatalf("opening a network namespace: %v", err)
	}
	return own(t, file)
}

// own closes the file when the test ends.
func own(t testing.TB, file *os.File) Space {
	t.Helper()
	t.Cleanup(func() {
		if err := file.Close(); err != nil {
			t.Errorf("closing a network namespace: %v", err)
		}
	})
	return Space{file}
}

// unshared makes a namespace that lasts until the file is closed.
func unshared() (*os.File, error) {
	var file *os.File
	err := apart(func() error { return unix.Unshare(unix.CLONE_NEWNET) }, func() (err error) {
		file, err = os.Open("/proc/thread-self/ns/net")
		return err
	})
	return file, err
}

// apart runs both on a thread that ends with them: it is not fit for others.
func apart(enter, f func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked
		if err := enter(); err != nil {
			done <- err
			return
		}
		done <- f()
	}()
	return <-done
}

// Path names the namespace for this process.
func (s Space) Path() string { return "/proc/self/fd/" + strconv.Itoa(int(s.File.Fd())) }

// Try runs f inside, on a thread of its own. Sockets that f makes stay there.
func (s Space) Try(f func() error) error {
	return apart(func() error { return unix.Setns(int(s.File.Fd()), unix.CLONE_NEWNET) }, f)
}

// Do is Try for what must not fail.
func (s Space) Do(t testing.TB, f func() error) {
	t.Helper()
	if err := s.Try(f); err != nil {
		t.Fatal(err)
	}
}

// Run runs a program inside and returns what it says.
func (s Space) Run(t testing.TB, program string, args ...string) string {
	t.Helper()
	var out []byte
	err := s.Try(func() (err error) {
		out, err = exec.CommandContext(t.Context(), program, args...).CombinedOutput()
		return err
	})
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", program, args, err, out)
	}
	return string(out)
}

// IP runs the program ip inside, once a line.
func (s Space) IP(t testing.TB, lines string) {
	t.Helper()
	for line := range strings.Lines(lines) {
		if args := strings.Fields(line); len(args) > 0 {
			s.Run(t, "ip", args...)
		}
	}
}

// Sysctl sets a variable of the namespace, named by its path below net.
func (s Space) Sysctl(t testing.TB, name, value string) {
	t.Helper()
	s.Do(t, func() error {
		return os.WriteFile("/proc/sys/net/"+name, []byte(value), 0o600)
	})
}

// Move gives a link of s to another namespace.
func (s Space) Move(t testing.TB, link string, to Space) {
	t.Helper()
	s.Do(t, func() error {
		cmd := exec.CommandContext(t.Context(), "ip", "link", "set", link, "netns", "/proc/self/fd/3")
		cmd.ExtraFiles = []*os.File{to.File}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Logf("%s", out)
		}
		return err
	})
}
