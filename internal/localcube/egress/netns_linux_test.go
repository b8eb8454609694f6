package egress

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

// space is a network namespace of the test's own. It has no name on the
// machine and ends with the test.
type space struct {
	file *os.File
}

// newSpace makes one; the test is Missing "root" where the machine forbids it.
func newSpace(t testing.TB) space {
	t.Helper()
	if err := Supported(); err != nil {
		dockertest.Missing(t, "root", err)
	}
	if _, err := exec.LookPath("ip"); err != nil {
		dockertest.Missing(t, "root", err)
	}
	file, err := scratchNetNS()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := file.Close(); err != nil {
			t.Errorf("closing a namespace: %v", err)
		}
	})
	s := space{file}
	s.ip(t, "link set lo up")
	return s
}

// path names the namespace for this process.
func (s space) path() string { return "/proc/self/fd/" + strconv.Itoa(int(s.file.Fd())) }

// do runs f on a thread inside the namespace; sockets that f makes stay there.
func (s space) do(t testing.TB, f func() error) {
	t.Helper()
	if err := s.try(f); err != nil {
		t.Fatal(err)
	}
}

func (s space) try(f func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread is not fit for others
		if err := unix.Setns(int(s.file.Fd()), unix.CLONE_NEWNET); err != nil {
			done <- err
			return
		}
		done <- f()
	}()
	return <-done
}

// run runs a program inside and returns what it says.
func (s space) run(t testing.TB, program string, args ...string) string {
	t.Helper()
	var out []byte
	err := s.try(func() (err error) {
		out, err = exec.CommandContext(t.Context(), program, args...).CombinedOutput()
		return err
	})
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", program, args, err, out)
	}
	return string(out)
}

// ip runs the program ip inside, once a line.
func (s space) ip(t testing.TB, lines string) {
	t.Helper()
	for line := range strings.Lines(lines) {
		if args := strings.Fields(line); len(args) > 0 {
			s.run(t, "ip", args...)
		}
	}
}

// sysctl sets a variable of the namespace.
func (s space) sysctl(t testing.TB, name, value string) {
	t.Helper()
	s.do(t, func() error {
		return os.WriteFile("/proc/sys/net/"+name, []byte(value), 0o600)
	})
}

// move gives a link of s to another namespace.
func (s space) move(t testing.TB, link string, to space) {
	t.Helper()
	s.do(t, func() error {
		cmd := exec.CommandContext(t.Context(), "ip", "link", "set", link, "netns", "/proc/self/fd/3")
		cmd.ExtraFiles = []*os.File{to.file}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Logf("%s", out)
		}
		return err
	})
}
