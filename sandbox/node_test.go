package sandbox_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/hermesbox/hermesbox/internal/node"
	"github.com/hermesbox/hermesbox/sandbox"
)

// shNode is this machine as a node, with its shared root in a directory of the
// test. It lets a test kill scripts.
type shNode struct {
	// dieAt is the point in a script at which the shell is killed; each is a
	// comment "# point: NAME" there.
	dieAt string
	shell string // sh by default
	// insert is put in at that point in place of the end.
	insert string
	// started is told of each process group; may be nil.
	started func(pid int)
}

func (n shNode) Name() string { return "here" }
func (n shNode) Close() error { return nil }

func (n shNode) Run(ctx context.Context, s node.Script) (int, error) {
	text := s.Text
	if n.dieAt != "" {
		point := "# point: " + n.dieAt + "\n"
		if !strings.Contains(text, point) {
			return 0, fmt.Errorf("no point %q", n.dieAt)
		}
		do := n.insert
		if do == "" {
			do = "kill -KILL $$"
		}
		text = strings.ReplaceAll(text, point, do+"\n")
	}
	cmd := exec.CommandContext(ctx, cmp.Or(n.shell, "sh"), append([]string{"-c", text, "sh"}, s.Args...)...)
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = "/", s.Stdin, s.Stdout, s.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	if n.started != nil {
		n.started(cmd.Process.Pid)
	}
	var exit *exec.ExitError
	switch err := cmd.Wait(); {
	case errors.As(err, &exit) && exit.Exited():
		return exit.ExitCode(), nil
	case err != nil:
		return 0, fmt.Errorf("running sh: %w", err)
	}
	return 0, nil
}

// world is a shared root of a test, with a default home.
type world struct {
	*testing.T
	layout sandbox.Layout
}

func newWorld(t *testing.T) world {
	t.Helper()
	w := world{t, sandbox.Layout{Root: t.TempDir()}}
	w.write("hermes-homes/default/config.yaml", "skills:\n  external_dirs: [/opt/hermes-common-skills]\n")
	w.write("hermes-homes/default/SOUL.md", "be kind\n")
	w.write("hermes-homes/default/skills/one/SKILL.md", "---\nname: one\n---\n")
	w.write("hermes-homes/default/skills/two/SKILL.md", "---\nname: two\n---\n")
	return w
}

// bareWorld has no default home.
func bareWorld(t *testing.T) world {
	t.Helper()
	return world{t, sandbox.Layout{Root: t.TempDir()}}
}

func (w world) path(name string) string { return filepath.Join(w.layout.Root, name) }

func (w world) write(name, text string) {
	w.Helper()
	w.do(os.MkdirAll(filepath.Dir(w.path(name)), 0o755))
	w.do(os.WriteFile(w.path(name), []byte(text), 0o600))
}

func (w world) read(name string) string {
	w.Helper()
	text, err := os.ReadFile(w.path(name))
	w.do(err)
	return string(text)
}

func (w world) do(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// sh runs a shell line in the shared root.
func (w world) sh(line string) string {
	w.Helper()
	cmd := exec.CommandContext(w.Context(), "sh", "-euc", line)
	cmd.Dir = w.layout.Root
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.Fatalf("%s: %v\n%s", line, err, out)
	}
	return string(out)
}

// tree lists a directory: kind, mode, owner, time, attributes and content of all in it.
func (w world) tree(name string) string {
	w.Helper()
	return w.sh(`cd "` + name + `" && find . -printf '%y %m %U:%G %T@ %l %p\n' | sort -k6 && find . -type f -exec sha256sum {} + | sort`)
}

// staged are the names that are still staged.
func (w world) staged() []string {
	w.Helper()
	entries, err := os.ReadDir(w.layout.Stage())
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		w.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func (w world) place(home string) sandbox.Place {
	return sandbox.Place{Layout: w.layout, Home: home, Workspace: "w"}
}

func (w world) stat(name string) (os.FileInfo, error) { return os.Lstat(w.path(name)) }

// slowNode takes its time before it copies.
type slowNode struct{ node.Node }

func (n slowNode) Run(ctx context.Context, s node.Script) (int, error) {
	s.Text = strings.ReplaceAll(s.Text, "# point: before-copy\n", `touch "$stage/slow"; sleep 1; rm -f "$stage/slow"`+"\n")
	return n.Node.Run(ctx, s)
}

// all runs f n times at once.
func all(n int, f func(i int)) {
	var wait sync.WaitGroup
	for i := range n {
		wait.Go(func() { f(i) })
	}
	wait.Wait()
}
