package skills_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hermesbox/hermesbox/internal/dockertest"
	"github.com/hermesbox/hermesbox/skills"
)

// TestDeploy goes through the life of public skills on a node.
func TestDeploy(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.skill("one", "first")
	w.skill("two", "first")
	w.put("two/._SKILL.md", "x", 0o644)
	w.put("two/.DS_Store", "x", 0o644)
	w.put("two/scripts/__pycache__/x.pyc", "x", 0o644)
	w.put("two/references/deep/er/name with blanks.md", "x", 0o600)
	w.put("two/references/naïve 名 'x'.md", "x", 0o644)
	if err := os.Symlink("run", filepath.Join(w.source, "two/scripts/link")); err != nil {
		t.Fatal(err)
	}
	steps := []struct {
		name string
		do   func()
		want string
	}{
		{"first", func() {}, "add one, add two"},
		{"nothing", func() {}, ""},
		{"content", func() { w.skill("one", "second") }, "update one"},
		{"mode", func() { w.put("two/SKILL.md", head("two", "first"), 0o755) }, "update two"},
		{"new", func() { w.skill("three", "x") }, "add three"},
		{"changed by hand", func() { write(t, w.place.Dir+"/one/SKILL.md", "mine", 0o644) }, "repair one"},
		{"more by hand", func() { write(t, w.place.Dir+"/one/more", "mine", 0o644) }, "repair one"},
		{"mode by hand", func() { must(t, os.Chmod(w.place.Dir+"/one/scripts/run", 0o644)) }, "repair one"},
		{"closed by hand", func() { must(t, os.Chmod(w.place.Dir+"/one/scripts", 0o700)) }, "repair one"},
		{"a link by hand", func() {
			must(t, os.RemoveAll(w.place.Dir+"/one"))
			must(t, os.Symlink("/etc", w.place.Dir+"/one"))
		}, "repair one"},
		{"gone by hand", func() { must(t, os.RemoveAll(w.place.Dir+"/one")) }, "update one"},
		{"removed", func() { must(t, os.RemoveAll(w.source+"/three")) }, "remove three"},
		{"removed, and changed by hand", func() {
			write(t, w.place.Dir+"/one/more", "mine", 0o644)
			must(t, os.RemoveAll(w.source+"/one"))
		}, "drop one"},
		{"a foreign one", func() {
			write(t, w.place.Dir+"/four/SKILL.md", "theirs", 0o644)
			w.skill("four", "x")
		}, "conflict four"},
	}
	for _, s := range steps {
		s.do()
		before, err := skills.Plan(t.Context(), w.node, w.place, w.release)
		if err != nil {
			t.Fatal(err)
		}
		if got := w.deploy(); got != s.want || actions(before) != s.want {
			t.Errorf("%s: planned %q, did %q, want %q", s.name, actions(before), got, s.want)
		}
		w.same("._SKILL.md", ".DS_Store", "__pycache__", "four")
	}
	if text, err := os.ReadFile(w.place.Dir + "/four/SKILL.md"); err != nil || string(text) != "theirs" {
		t.Errorf("the foreign one: %q, %v", text, err)
	}
	kept, err := filepath.Glob(w.place.Kept() + "/one.*/one")
	if err != nil || len(kept) != 6 {
		t.Errorf("kept: %q, %v", kept, err)
	}
	text, err := os.ReadFile(w.place.Ledger())
	var ledger struct {
		skills.Ledger
		Skills map[string]string
	}
	if err := errors.Join(err, json.Unmarshal(text, &ledger)); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"two": "sha256:" + w.load().Skills[1].Digest}
	if diff := cmp.Diff(want, ledger.Skills); diff != "" || ledger.Commit != "abc" || ledger.Hermesbox != "test" {
		t.Errorf("ledger %+v\n%s", ledger, diff)
	}
	if left, err := os.ReadDir(w.place.State()); err != nil || len(left) != 4 {
		t.Errorf("what is left: %v, %v", left, err)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestDeployRefused: nothing is changed where something is wrong on the node.
func TestDeployRefused(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		spoil func(w *world)
		want  error
		words string
	}{
		"no root":         {func(w *world) { must(w, os.RemoveAll(w.place.Root)) }, skills.ErrNoRoot, "shared is not there"},
		"dir is a link":   {func(w *world) { w.link(w.place.Dir) }, skills.ErrLink, "hermes-common-skills is a link"},
		"dir is a file":   {func(w *world) { w.file(w.place.Dir) }, skills.ErrKind, "hermes-common-skills is in the way"},
		"state is a link": {func(w *world) { w.link(w.place.State()) }, skills.ErrLink, ".hermesbox-skills is a link"},
		"lock is a link":  {func(w *world) { w.link(w.place.State() + "/lock") }, skills.ErrLock, "lock is a link"},
		"root is a link":  {func(w *world) { w.link(w.place.Root) }, skills.ErrLink, "shared is a link"},
		"newer ledger":    {func(w *world) { write(w, w.place.Ledger(), `{"version":2,"skills":[]}`+"\n", 0o600) }, skills.ErrNewer, "version 2"},
		"no ledger":       {func(w *world) { write(w, w.place.Ledger(), "garbage\n", 0o600) }, skills.ErrLedger, ""},
		"empty ledger":    {func(w *world) { write(w, w.place.Ledger(), "", 0o600) }, skills.ErrLedger, ""},
		"cut ledger":      {func(w *world) { w.edit(func(s string) string { return s[:len(s)-30] }) }, skills.ErrLedger, ""},
		"ledger, a name":  {func(w *world) { w.edit(func(s string) string { return strings.Replace(s, `"one":`, `"../x":`, 1) }) }, skills.ErrLedger, ""},
		"ledger is a dir": {func(w *world) {
			must(w, os.Remove(w.place.Ledger()))
			must(w, os.Mkdir(w.place.Ledger(), 0o755))
		}, skills.ErrKind, "ledger.json is in the way"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.skill("one", "first")
			w.deploy()
			test.spoil(w)
			w.skill("one", "second")
			w.skill("two", "x")
			d, err := skills.Deploy(t.Context(), w.node, w.place, w.release)
			if !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.words) || !strings.Contains(err.Error(), "node here") {
				t.Errorf("%v, %v", actions(d), err)
			}
			if text, err := os.ReadFile(w.place.Dir + "/one/scripts/run"); err == nil && !strings.Contains(string(text), "first") {
				t.Errorf("it was changed to %q", text)
			}
		})
	}
}

// TestDeployReadOnly: where no directory can be made.
func TestDeployReadOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dockertest.Tmpfs(t, "disk", w.place.Root, "ro")
	w.skill("one", "x")
	if _, err := skills.Deploy(t.Context(), w.node, w.place, w.release); !errors.Is(err, skills.ErrMade) || !strings.Contains(err.Error(), w.place.Dir) {
		t.Errorf("%v", err)
	}
}

// link puts a link in place of a directory, to what was there.
func (w *world) link(path string) {
	w.Helper()
	must(w, os.Rename(path, path+".real"))
	must(w, os.Symlink(path+".real", path))
}

func (w *world) file(path string) {
	w.Helper()
	must(w, os.RemoveAll(path))
	write(w, path, "x", 0o644)
}

func (w *world) edit(change func(string) string) {
	w.Helper()
	text, err := os.ReadFile(w.place.Ledger())
	must(w, err)
	write(w, w.place.Ledger(), change(string(text)), 0o600)
}

// TestPlace: nothing that is not a directory of its own in a shared root.
func TestPlace(t *testing.T) {
	t.Parallel()
	for _, p := range []skills.Place{
		{},
		{"/", "/x"},
		{"/etc", "/etc/x"},
		{"relative", "relative/x"},
		{"/data/shared", ""},
		{"/data/shared", "/data/shared"},
		{"/data/shared", "/data/other"},
		{"/data/shared", "/data/shared/"},
		{"/data/shared", "/data/shared/a/b"},
		{"/data/shared", "/data/shared/.."},
		{"/data/shared", "/data/shared/.hermesbox-skills"},
		{"/data/../etc", "/data/../etc/x"},
	} {
		if _, err := skills.Look(t.Context(), shell{}, p); !errors.Is(err, skills.ErrPlace) {
			t.Errorf("%+v: %v", p, err)
		}
	}
}
