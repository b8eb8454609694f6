package skills_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hermesbox/hermesbox/internal/node"
	"github.com/hermesbox/hermesbox/skills"
)

// shell is a node that is this machine. Its conformance is that of what it runs.
type shell struct {
	sh   []string // the shell; empty for /bin/sh
	path string   // of PATH; empty for the caller's
	// group gives each script a process group of its own.
	group bool
	// started is told of each script that runs, and then of its end; may be nil.
	started func(*os.Process) (ended func() bool)
}

func (shell) Name() string { return "here" }

func (shell) Close() error { return nil }

func (n shell) Run(ctx context.Context, s node.Script) (int, error) {
	args := append(append([]string{}, n.sh...), "-c", s.Text, "sh")
	if len(n.sh) == 0 {
		args = append([]string{"/bin/sh"}, args...)
	}
	args = append(args, s.Args...)
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	if n.path != "" {
		cmd.Env = append(cmd.Env, "PATH="+n.path)
	}
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = "/", s.Stdin, s.Stdout, s.Stderr
	cmd.WaitDelay = 2 * time.Second // what a killed script left holds the pipes
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: n.group}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	if n.started != nil {
		defer n.started(cmd.Process)()
	}
	err := cmd.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() >= 0 {
		return exit.ExitCode(), nil
	}
	return 0, err
}

// world is a source of skills, and a shared root.
type world struct {
	*testing.T
	source string
	place  skills.Place
	node   node.Node
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{T: t, source: t.TempDir(), node: shell{}}
	root := filepath.Join(t.TempDir(), "shared")
	if err := os.Mkdir(root, 0o755); err != nil {
		t.Fatal(err)
	}
	w.place = skills.Place{Root: root, Dir: filepath.Join(root, "hermes-common-skills")}
	return w
}

// head is a SKILL.md that Hermes takes.
func head(name, body string) string {
	return "---\nname: " + name + "\ndescription: For tests.\n---\n" + body + "\n"
}

// put writes a file of the source, with the directories that it is in.
func (w *world) put(name, text string, mode os.FileMode) {
	w.Helper()
	write(w.T, filepath.Join(w.source, name), text, mode)
}

func write(t testing.TB, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

// skill writes a skill of two files.
func (w *world) skill(name, body string) {
	w.Helper()
	w.put(name+"/SKILL.md", head(name, body), 0o644)
	w.put(name+"/scripts/run", "#!/bin/sh\necho "+body+"\n", 0o755)
}

func (w *world) load() *skills.Set {
	w.Helper()
	s, err := skills.Load(w.source)
	if err != nil {
		w.Fatal(err)
	}
	return s
}

func (w *world) release() (skills.Release, error) {
	s, err := skills.Load(w.source)
	return skills.Release{Set: s, Revision: skills.Revision{Commit: "abc"}, Hermesbox: "test"}, err
}

// deploy deploys, and returns the actions as words.
func (w *world) deploy() string {
	w.Helper()
	d, err := skills.Deploy(w.Context(), w.node, w.place, w.release)
	if err != nil {
		w.Fatal(err)
	}
	return actions(d)
}

func actions(d skills.Deployed) string {
	var out []string
	for _, a := range d.Actions {
		out = append(out, a.Action+" "+a.Skill)
	}
	return strings.Join(out, ", ")
}

// want compares the shared directory with the source, apart from names.
func (w *world) same(apart ...string) {
	w.Helper()
	args := []string{"-r", "--no-dereference"}
	for _, name := range apart {
		args = append(args, "-x", name)
	}
	if out, err := exec.CommandContext(w.Context(), "diff", append(args, w.source, w.place.Dir)...).CombinedOutput(); err != nil {
		w.Errorf("%v\n%s", err, out)
	}
}
