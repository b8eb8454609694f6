package skills_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hermesbox/hermesbox/internal/node"
	"github.com/hermesbox/hermesbox/skills"
)

// fake puts a tool before the others of the node; REAL in it is the real one.
func (w *world) fake(tool, script string) node.Node {
	w.Helper()
	real, err := exec.LookPath(tool)
	must(w, err)
	dir := w.TempDir()
	write(w, filepath.Join(dir, tool), "#!/bin/sh\n"+strings.ReplaceAll(script, "REAL", real)+"\n", 0o755)
	return shell{path: dir + ":" + os.Getenv("PATH")}
}

// keeps wants a file of that text, and no other, among what was kept.
func (w *world) keeps(path, text string) {
	w.Helper()
	found, err := filepath.Glob(filepath.Join(w.place.Kept(), filepath.Dir(path)+".*", path))
	if err != nil || len(found) != 1 {
		w.Fatalf("%q, %v", found, err)
	}
	if got, err := os.ReadFile(found[0]); err != nil || string(got) != text {
		w.Errorf("%q, %v", got, err)
	}
}

// TestDeployChangedMeanwhile: what somebody changes on the node between the look
// and the swap is kept.
func TestDeployChangedMeanwhile(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, name := range []string{"gone", "one", "same", "two"} {
		w.skill(name, "first")
	}
	w.deploy()
	must(t, os.RemoveAll(w.source+"/gone"))
	w.skill("one", "second")
	w.skill("two", "second")
	n := before{w.node, func(s node.Script) {
		if s.Args[0] == "apply" {
			write(t, w.place.Dir+"/one/SKILL.md", "theirs", 0o644)
			write(t, w.place.Dir+"/gone/notes", "theirs", 0o644)
		}
	}}
	d, err := skills.Deploy(t.Context(), n, w.place, w.release)
	if err != nil || actions(d) != "drop gone, repair one, update two" || d.Kept != w.place.Kept() {
		t.Errorf("%s, %q, %v", actions(d), d.Kept, err)
	}
	w.same()
	w.keeps("one/SKILL.md", "theirs")
	w.keeps("gone/notes", "theirs")
	if left, err := os.ReadDir(w.place.Kept()); err != nil || len(left) != 2 {
		t.Errorf("%v, %v", left, err)
	}
}

// TestDeployChangedBeforeFinish: the same between a deploy that was cut short and
// the next, which says so.
func TestDeployChangedBeforeFinish(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.skill("one", "first")
	w.deploy()
	w.skill("one", "second")
	broken := w.fake("mv", `case $2 in old/) echo broken >&2; exit 1 ;; esac; exec REAL "$@"`)
	if _, err := skills.Deploy(t.Context(), broken, w.place, w.release); !errors.Is(err, skills.ErrStuck) || !strings.Contains(err.Error(), "broken") {
		t.Errorf("%v", err)
	}
	write(t, w.place.Dir+"/one/SKILL.md", "theirs", 0o644)
	d, err := skills.Deploy(t.Context(), w.node, w.place, w.release)
	if err != nil || !d.Finished || d.Kept != w.place.Kept() || len(d.Actions) != 0 {
		t.Errorf("%+v, %v", d, err)
	}
	w.same()
	w.keeps("one/SKILL.md", "theirs")
}

// TestDeployCannotKeep: where there is no place for what was changed, it stays
// where it is known.
func TestDeployCannotKeep(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const name = "a-skill-that-no-directory-is-named-after"
	w.skill(name, "first")
	w.deploy()
	write(t, w.place.Dir+"/"+name+"/SKILL.md", "theirs", 0o644)
	if _, err := skills.Deploy(t.Context(), w.fake("mktemp", "echo full >&2; exit 1"), w.place, w.release); !errors.Is(err, skills.ErrStuck) {
		t.Errorf("%v", err)
	}
	if _, err := os.Lstat("/" + name); err == nil {
		t.Error("it is in the root of the node")
		must(t, os.RemoveAll("/"+name))
	}
	w.deploy()
	w.same()
	w.keeps(name+"/SKILL.md", "theirs")
}

// TestDeployLedgerCut: a ledger that cannot be written is no ledger.
func TestDeployLedgerCut(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"sort", "awk"} {
		t.Run(tool, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.skill("one", "first")
			w.deploy()
			w.skill("one", "second")
			n := w.fake(tool, `case $PWD in */stage) echo No space left >&2; exit 1 ;; esac; exec REAL "$@"`)
			if _, err := skills.Deploy(t.Context(), n, w.place, w.release); !errors.Is(err, skills.ErrStage) {
				t.Errorf("%v", err)
			}
			if got := w.deploy(); got != "update one" {
				t.Errorf("then it did %q", got)
			}
			w.settled()
		})
	}
}

// TestDeployTime: Hermes knows a file that it has read by its time and size.
func TestDeployTime(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.skill("one", "x")
	w.deploy()
	info, err := os.Stat(w.place.Dir + "/one/SKILL.md")
	must(t, err)
	if age := time.Since(info.ModTime()); age < 0 || age > time.Hour {
		t.Errorf("it is of %v", info.ModTime())
	}
}
