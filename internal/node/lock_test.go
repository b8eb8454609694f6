package node_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hermesbox/hermesbox/internal/node"
)

// eachLock runs a test with shells, with flock and without.
func eachLock(t *testing.T, shells []string, test func(*testing.T, locker)) {
	t.Helper()
	for _, shell := range shells {
		for _, tools := range []string{"flock", "no flock"} {
			t.Run(shell+" "+tools, func(t *testing.T) {
				t.Parallel()
				path := program(t, shell)
				l := locker{shell: []string{path}, path: toolbox(t, path, tools == "flock"), file: filepath.Join(t.TempDir(), "lock")}
				switch shell {
				case "zsh":
					l.shell = append(l.shell, "--emulate", "sh")
				case "busybox":
					l.shell = append(l.shell, "sh")
				}
				test(t, l)
			})
		}
	}
}

// toolbox is a PATH with what lock.sh needs. That of busybox is busybox's own.
func toolbox(t *testing.T, shell string, flock bool) string {
	t.Helper()
	dir := t.TempDir()
	tools := []string{"cat", "date", "head", "ln", "ls", "mkdir", "rm", "sleep", "uname"}
	if flock {
		tools = append(tools, "flock")
	}
	for _, tool := range tools {
		from := shell
		if filepath.Base(shell) != "busybox" || tool == "flock" {
			from = program(t, tool) // Debian's busybox has no flock
		}
		if err := os.Symlink(from, filepath.Join(dir, tool)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// locker runs scripts that lock one file.
type locker struct {
	shell      []string
	path, file string
}

func (l locker) command(ctx context.Context, script string, args ...string) *exec.Cmd {
	argv := append(append(l.shell[1:len(l.shell):len(l.shell)], "-c", "set -eu\n"+node.LockFunc+"\n"+script, "sh", l.file), args...)
	cmd := exec.CommandContext(ctx, l.shell[0], argv...)
	cmd.Env = []string{"PATH=" + l.path}
	return cmd
}

// try runs a script to its end and gives its exit code and what it said.
func (l locker) try(t *testing.T, script string, args ...string) (code int, said string) {
	t.Helper()
	cmd := l.command(t.Context(), script, args...)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

// hold starts a process that takes the lock, then does something that says so, and is killed.
func (l locker) hold(t *testing.T, then string) *exec.Cmd {
	t.Helper()
	cmd := l.command(t.Context(), "lock \"$1\"; "+then)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if n, err := out.Read(make([]byte, 16)); n == 0 {
		t.Fatalf("taking the lock: %v", err)
	}
	return cmd
}

// kill ends a process at once, and what it left running not.
func kill(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
}

func TestLockExcludes(t *testing.T) {
	t.Parallel()
	eachLock(t, []string{"dash", "bash", "zsh", "busybox"}, func(t *testing.T, l locker) {
		holder := l.hold(t, "echo held; while :; do sleep 0.1 9>&-; done")
		code, said := l.try(t, `lock "$1" 1 || { code=$?; echo "by $lock_holder"; exit $code; }`)
		name := fmt.Sprintf("process %d on", holder.Process.Pid)
		if code != 1 || strings.Count(said, name) < 2 {
			t.Errorf("a lock that is held: code %d, %q, want 1 and %q", code, said, name)
		}
		kill(t, holder)
		if code, said := l.try(t, `lock "$1" 1; echo got it`); code != 0 || said != "got it\n" {
			t.Errorf("a lock whose owner was killed: code %d, %q", code, said)
		}
		if code, said := l.try(t, `lock "$1" 1; echo got it`); code != 0 || said != "got it\n" {
			t.Errorf("a lock whose owner ended: code %d, %q", code, said)
		}
	})
}

// TestLockOfWhatIsLeftRunning needs flock: a killed script's children hold on.
func TestLockOfWhatIsLeftRunning(t *testing.T) {
	t.Parallel()
	l := locker{shell: []string{program(t, "sh")}, path: os.Getenv("PATH"), file: filepath.Join(t.TempDir(), "lock")}
	kill(t, l.hold(t, "sleep 3 >/dev/null & echo held; wait"))
	if code, said := l.try(t, `lock "$1" 1`); code != 1 || !strings.Contains(said, "left running") {
		t.Errorf("while a child runs: code %d, %q", code, said)
	}
	if code, said := l.try(t, `lock "$1" 60; echo got it`); code != 0 || !strings.Contains(said, "got it") {
		t.Errorf("after its end: code %d, %q", code, said)
	}
}

// TestLockUnderFire has many processes count up under the lock while some are killed.
func TestLockUnderFire(t *testing.T) {
	t.Parallel()
	eachLock(t, []string{"dash", "busybox"}, func(t *testing.T, l locker) {
		counter, done := l.file+".count", l.file+".done"
		for _, file := range []string{counter, done} {
			if err := os.WriteFile(file, []byte("0\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		// A reader that was overtaken would write a count that was written before.
		const script = `lock "$1" 120; n=$(cat "$1.count"); sleep 0.01 9>&-; echo $((n + 1)) >>"$1.done"; echo $((n + 1)) >"$1.count"`
		var all sync.WaitGroup
		for i := range 24 {
			all.Go(func() {
				var said bytes.Buffer
				cmd := l.command(t.Context(), script)
				cmd.Stderr = &said
				if err := cmd.Start(); err != nil {
					t.Error(err)
					return
				}
				if i%3 == 0 {
					time.Sleep(time.Duration(20*i) * time.Millisecond)
					_ = cmd.Process.Kill() // it may have ended
					_ = cmd.Wait()
					return
				}
				if err := cmd.Wait(); err != nil {
					t.Errorf("process %d: %v\n%s", i, err, said.String())
				}
			})
		}
		all.Wait()
		checkCounts(t, done)
	})
}

// checkCounts wants each number at most twice in a row: once of a process that
// was killed between its two writes.
func checkCounts(t *testing.T, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	last := 0
	for _, line := range strings.Fields(string(text))[1:] {
		n, err := strconv.Atoi(line)
		if err != nil || n != last && n != last+1 {
			t.Fatalf("%q after %d, in %q", line, last, text)
		}
		last = n
	}
	if last < 16 {
		t.Errorf("counted to %d", last)
	}
}

func TestLockRefuses(t *testing.T) {
	t.Parallel()
	eachLock(t, []string{"dash", "bash", "zsh", "busybox"}, func(t *testing.T, l locker) {
		dir := filepath.Dir(l.file)
		for _, step := range []struct {
			script, want string
		}{
			{`ln -s elsewhere "$1"`, "is a link"},
			{`mkdir "$1"`, "is no file"},
			{`mkfifo "$1"`, "is no file"},
			{`ln -s "$1" "$1.d"`, "is a link"},
			{`ln -s . "${1%/*}/there"`, ""},
		} {
			if _, said := (locker{shell: l.shell, path: os.Getenv("PATH"), file: l.file}).try(t, step.script); said != "" {
				t.Fatal(said)
			}
			if step.want == "" {
				l.file = filepath.Join(dir, "there", "lock")
				step.want = "is a link"
			}
			code, said := l.try(t, `lock "$1" 1 || { code=$?; echo "problem: $lock_problem"; exit $code; }`)
			if code != 2 || strings.Count(said, step.want) != 2 {
				t.Errorf("after %s: code %d, %q", step.script, code, said)
			}
			for _, file := range []string{l.file, l.file + ".d"} {
				if err := os.RemoveAll(file); err != nil {
					t.Fatal(err)
				}
			}
		}
		for _, file := range []string{"lock", "/lock", filepath.Join(dir, "none", "lock"), "/proc/none"} {
			l.file = file
			if code, said := l.try(t, `lock "$1" 1`); code != 2 || !strings.Contains(said, "cannot lock: ") {
				t.Errorf("%s: code %d, %q", file, code, said)
			}
		}
	})
}

// TestLockWithBrokenFlock wants no other way of locking than the others have.
func TestLockWithBrokenFlock(t *testing.T) {
	t.Parallel()
	l := locker{shell: []string{program(t, "dash")}, path: toolbox(t, program(t, "dash"), false), file: filepath.Join(t.TempDir(), "lock")}
	if err := os.WriteFile(filepath.Join(l.path, "flock"), []byte("#!/bin/sh\nexit 69\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if code, said := l.try(t, `lock "$1" 1`); code != 2 || !strings.Contains(said, "code 69") {
		t.Errorf("code %d, %q", code, said)
	}
}
