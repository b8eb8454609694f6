package skills_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hermesbox/hermesbox/internal/dockertest"
	"github.com/hermesbox/hermesbox/internal/node"
	"github.com/hermesbox/hermesbox/skills"
)

// TestDeployWithBusybox: nothing is asked of the tools but what all have; also
// where there is no gzip and no flock.
func TestDeployWithBusybox(t *testing.T) {
	t.Parallel()
	box, err := exec.LookPath("busybox")
	if err != nil {
		dockertest.Missing(t, "sshd", err)
	}
	list, err := exec.CommandContext(t.Context(), box, "--list").Output()
	must(t, err)
	tools := t.TempDir()
	for _, tool := range strings.Fields(string(list)) {
		if tool != "gzip" && tool != "flock" {
			must(t, os.Symlink(box, filepath.Join(tools, tool)))
		}
	}
	w := newWorld(t)
	w.node = shell{sh: []string{box, "sh"}, path: tools}
	w.skill("one", "first")
	w.put("two/SKILL.md", head("two", "x"), 0o644)
	w.put("two/references/"+strings.Repeat("long", 30)+"/"+strings.Repeat("n", 60)+".md", "x", 0o644)
	must(t, os.Symlink("references", w.source+"/two/link"))
	for _, tool := range []string{"cksum", "comm"} { // POSIX, but not in every busybox
		path, err := exec.LookPath(tool)
		must(t, err)
		if err := os.Symlink(path, filepath.Join(tools, tool)); err != nil && !errors.Is(err, os.ErrExist) {
			t.Fatal(err)
		}
	}
	if got := w.deploy(); got != "add one, add two" {
		t.Errorf("it did %q", got)
	}
	w.same()
	w.skill("one", "second")
	write(t, w.place.Dir+"/two/SKILL.md", "mine", 0o644)
	if got := w.deploy(); got != "update one, repair two" {
		t.Errorf("it did %q", got)
	}
	w.same()
	must(t, os.RemoveAll(w.source+"/one"))
	if got := w.deploy() + w.deploy(); got != "remove one" {
		t.Errorf("it did %q", got)
	}
	w.same()
	must(t, os.Remove(filepath.Join(tools, "tar")))
	if _, err := skills.Deploy(t.Context(), w.node, w.place, w.release); !errors.Is(err, skills.ErrTool) || !strings.HasSuffix(err.Error(), "tar") {
		t.Errorf("without tar: %v", err)
	}
}

// TestDeployDiskFull: a disk that fills up leaves all as it was.
func TestDeployDiskFull(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dockertest.Tmpfs(t, "disk", w.place.Root, "size=2m,mode=755")
	w.skill("one", "first")
	w.deploy()
	random := make([]byte, 900<<10)
	for i := range random {
		random[i] = byte(rand.IntN(256)) //nolint:gosec // any will do
	}
	for i := range 4 {
		w.put(fmt.Sprintf("one/data-%d", i), string(random), 0o644)
	}
	w.skill("one", "second")
	_, err := skills.Deploy(t.Context(), w.node, w.place, w.release)
	if !errors.Is(err, skills.ErrStage) || !strings.Contains(err.Error(), "No space left") {
		t.Errorf("%v", err)
	}
	text, err := os.ReadFile(w.place.Dir + "/one/scripts/run")
	if err != nil || !strings.Contains(string(text), "first") {
		t.Errorf("%q, %v", text, err)
	}
	for i := range 4 {
		must(t, os.Remove(fmt.Sprintf("%s/one/data-%d", w.source, i)))
	}
	if got := w.deploy(); got != "update one" {
		t.Errorf("then it did %q", got)
	}
	w.settled()
}

// TestDeployMount: skills that are a file system of their own cannot be swapped.
func TestDeployMount(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	must(t, os.Mkdir(w.place.Dir, 0o755))
	dockertest.Tmpfs(t, "disk", w.place.Dir, "size=2m,mode=755")
	w.skill("one", "x")
	if _, err := skills.Deploy(t.Context(), w.node, w.place, w.release); !errors.Is(err, skills.ErrMount) {
		t.Errorf("%v", err)
	}
}

// TestDeployCut cuts the connection at random while others read.
func TestDeployCut(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server, _ := w.overSSH()
	version := 0
	next := func() {
		version++
		for _, name := range []string{"one", "two"} {
			for _, file := range []string{"SKILL.md", "a", "scripts/b", "scripts/deep/c"} {
				w.put(name+"/"+file, head(name, strings.Repeat(fmt.Sprintln(version), 5000)), 0o644)
			}
		}
	}
	next()
	w.deploy()
	next()
	began := time.Now()
	w.deploy()
	whole := time.Since(began)
	reading := w.read("one", "two")
	failed := 0
	for range 30 {
		next()
		timer := time.AfterFunc(time.Duration(rand.Int64N(int64(whole))), server.Cut) //nolint:gosec // any number will do
		if _, err := skills.Deploy(t.Context(), w.node, w.place, w.release); err != nil {
			failed++
		}
		timer.Stop()
	}
	next()
	w.deploy()
	w.settled()
	if reads := reading(); reads == 0 || failed < 5 {
		t.Errorf("%d reads, %d cut deploys", reads, failed)
	}
}

// TestDeployWrongArrival: what arrives is compared with what was sent.
func TestDeployWrongArrival(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func([]byte) []byte
	}{
		"cut":            {func(text []byte) []byte { return text[:len(text)/2] }},
		"cut at the end": {func(text []byte) []byte { return text[:len(text)-30] }},
		"nothing":        {func([]byte) []byte { return nil }},
		"garbage":        {func(text []byte) []byte { return bytes.Repeat([]byte("x"), len(text)) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.skill("one", "x")
			_, err := skills.Deploy(t.Context(), changing{w.node, test.change}, w.place, w.release)
			if !errors.Is(err, skills.ErrCut) && !errors.Is(err, skills.ErrStage) {
				t.Errorf("%v", err)
			}
			if left, err := os.ReadDir(w.place.Dir); err != nil || len(left) != 0 {
				t.Errorf("%v, %v", left, err)
			}
			w.deploy()
			w.settled()
		})
	}
}

// changing changes what goes to a script.
type changing struct {
	node.Node
	change func([]byte) []byte
}

func (c changing) Run(ctx context.Context, s node.Script) (int, error) {
	if s.Stdin != nil {
		text, err := io.ReadAll(s.Stdin)
		if err != nil {
			return 0, err
		}
		s.Stdin = bytes.NewReader(c.change(text))
	}
	return c.Node.Run(ctx, s)
}

// TestDeployChangedSource: a file that is written while it is sent is an error,
// and nothing is changed.
func TestDeployChangedSource(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(w *world){
		"other content": func(w *world) { w.put("one/scripts/run", "#!/bin/sh\necho y\n", 0o755) },
		"shorter":       func(w *world) { w.put("one/scripts/run", "", 0o755) },
		"gone":          func(w *world) { must(w, os.Remove(w.source+"/one/scripts/run")) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.skill("one", "x")
			r, err := w.release()
			must(t, err)
			change(w)
			_, err = skills.Deploy(t.Context(), w.node, w.place, func() (skills.Release, error) { return r, nil })
			if err == nil || !strings.Contains(err.Error(), "sending one/scripts/run") || name != "gone" && !errors.Is(err, skills.ErrChanged) {
				t.Errorf("%v", err)
			}
			if left, err := os.ReadDir(w.place.Dir); err != nil || len(left) != 0 {
				t.Errorf("%v, %v", left, err)
			}
		})
	}
}

// TestDeployBusy: others that deploy each time in between.
func TestDeployBusy(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.skill("one", "x")
	w.deploy()
	w.skill("one", "y")
	run := 0
	n := before{w.node, func(s node.Script) {
		if s.Args[0] == "apply" {
			run++
			w.edit(func(text string) string { return strings.Replace(text, `"run":"`, `"run":"X`, 1) })
		}
	}}
	if _, err := skills.Deploy(t.Context(), n, w.place, w.release); !errors.Is(err, skills.ErrBusy) || run != 5 {
		t.Errorf("%v after %d tries", err, run)
	}
}

// TestDeployRace: something that takes a name between the look and the swap stays.
func TestDeployRace(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.skill("one", "x")
	w.skill("two", "x")
	n := before{w.node, func(s node.Script) {
		if s.Args[0] == "apply" {
			write(t, w.place.Dir+"/one/SKILL.md", "theirs", 0o644)
		}
	}}
	d, err := skills.Deploy(t.Context(), n, w.place, w.release)
	if err != nil || actions(d) != "conflict one, add two" {
		t.Errorf("%s, %v", actions(d), err)
	}
	if text, err := os.ReadFile(w.place.Dir + "/one/SKILL.md"); err != nil || string(text) != "theirs" {
		t.Errorf("%q, %v", text, err)
	}
	if got := w.deploy(); got != "conflict one" {
		t.Errorf("then it did %q", got)
	}
}

// before does something before each script.
type before struct {
	node.Node
	do func(node.Script)
}

func (b before) Run(ctx context.Context, s node.Script) (int, error) {
	b.do(s)
	return b.Node.Run(ctx, s)
}

// TestDeployRelease: what is wrong with the release ends all, also while another
// deploy goes on.
func TestDeployRelease(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.skill("one", "x")
	w.deploy()
	held := exec.CommandContext(t.Context(), "flock", filepath.Join(w.place.State(), "lock"), "sleep", "30")
	must(t, held.Start())
	defer held.Wait()         //nolint:errcheck // it is killed
	defer held.Process.Kill() //nolint:errcheck // nor does it matter
	time.Sleep(200 * time.Millisecond)
	wrong := errors.New("wrong")
	began := time.Now()
	_, err := skills.Deploy(t.Context(), w.node, w.place, func() (skills.Release, error) { return skills.Release{}, wrong })
	if !errors.Is(err, wrong) || time.Since(began) > 20*time.Second {
		t.Errorf("%v after %v", err, time.Since(began))
	}
}

// TestDeploySetgid: directories that hand their group and mode on.
func TestDeploySetgid(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	must(t, os.Chmod(w.place.Root, 0o755|os.ModeSetgid))
	w.skill("one", "x")
	w.deploy()
	w.settled()
}
