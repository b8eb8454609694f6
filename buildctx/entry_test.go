package buildctx_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/hermesbox/hermesbox/buildctx"
)

func times(tree *buildctx.Tree) map[string]time.Time {
	all := map[string]time.Time{}
	for e := range tree.Entries() {
		all[e.Path] = e.ModTime
	}
	return all
}

// TestDerivedTimes holds what BuildKit's comparison by size and time needs.
func TestDerivedTimes(t *testing.T) {
	t.Parallel()
	root := plant(t, map[string]string{"f": "one", "same": "one", "d/x": "x", "l": "->f"})
	before := times(load(t, root, buildctx.Options{}))
	for p, at := range before {
		if at.Year() < 2001 || at.Year() > 2009 {
			t.Errorf("%s is of %v", p, at)
		}
	}
	if !before["f"].Equal(before["same"]) || before["f"].Equal(before["d/x"]) {
		t.Error("times do not follow the contents")
	}
	now := time.Now()
	touch := errors.Join(os.Chtimes(filepath.Join(root, "f"), now, now), os.Chtimes(filepath.Join(root, "d"), now, now))
	if touch != nil {
		t.Fatal(touch)
	}
	for p, at := range times(load(t, root, buildctx.Options{})) {
		if !at.Equal(before[p]) {
			t.Errorf("a touch changes the time of %s", p)
		}
	}
	info, err := os.Stat(filepath.Join(root, "f"))
	if err != nil {
		t.Fatal(err)
	}
	edit := errors.Join(os.WriteFile(filepath.Join(root, "f"), []byte("two"), 0o644),
		os.Chtimes(filepath.Join(root, "f"), info.ModTime(), info.ModTime()))
	if edit != nil {
		t.Fatal(edit)
	}
	if times(load(t, root, buildctx.Options{}))["f"].Equal(before["f"]) {
		t.Error("an edit of the same size and time keeps the time")
	}
}

func TestLookup(t *testing.T) {
	t.Parallel()
	tree := load(t, hermes(t), buildctx.Options{})
	n := 0
	for want := range tree.Entries() {
		n++
		if got, ok := tree.Lookup(want.Path); !ok || got != want {
			t.Errorf("%q: got %+v, %v", want.Path, got, ok)
		}
	}
	if n < 70 {
		t.Errorf("only %d entries", n)
	}
	for _, p := range []string{"", "nothing", "zzz", "a/", "/a"} {
		if _, ok := tree.Lookup(p); ok {
			t.Errorf("%q is found", p)
		}
	}
}

func TestEntriesStopWhereAsked(t *testing.T) {
	t.Parallel()
	n := 0
	for range load(t, hermes(t), buildctx.Options{}).Entries() {
		if n++; n == 3 {
			break
		}
	}
	if n != 3 {
		t.Errorf("%d entries", n)
	}
}

func TestSparseFile(t *testing.T) {
	t.Parallel()
	root := plant(t, map[string]string{"hole": ""})
	if err := os.Truncate(filepath.Join(root, "hole"), 100<<20); err != nil {
		t.Fatal(err)
	}
	tree := load(t, root, buildctx.Options{})
	if got := warnings(tree.Receipt()); len(got) != 1 || got[0] != "sparse hole" {
		t.Errorf("warnings: %q", got)
	}
	// printf '\0%.0s' … | sha256sum, of 104857600 zeros
	want := "20492a4d0d84f8beb1767f6616229f85d44c2827b64bdbfb260ee12fa1109e0e"
	if e, _ := tree.Lookup("hole"); e.Size != 100<<20 || hexOf(e) != want {
		t.Errorf("%d bytes with %s", e.Size, hexOf(e))
	}
}
