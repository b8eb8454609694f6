package main

import (
	"bytes"
	"context"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// tree returns every file of a directory with its content.
func tree(t *testing.T, root string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := fs.WalkDir(os.DirFS(root), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(filepath.Join(root, path))
		all[path] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func planted(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	if err := plant(root, shape{"test", 450, 64}); err != nil {
		t.Fatal(err)
	}
	return root
}

func TestPlant(t *testing.T) {
	t.Parallel()
	first := tree(t, planted(t))
	if diff := cmp.Diff(first, tree(t, planted(t))); diff != "" {
		t.Error(diff)
	}
	files, litter := 0, 0
	for path, content := range first {
		switch {
		case isLitter(path):
			litter++
		case len(content) == 64:
			files++
		}
	}
	if files != 450 || litter != 26 {
		t.Errorf("%d files and %d of litter", files, litter)
	}
}

func isLitter(path string) bool {
	name := filepath.Base(path)
	return strings.HasPrefix(name, "._") || name == ".DS_Store"
}

func TestPlantFails(t *testing.T) {
	t.Parallel()
	root := filepath.Join(planted(t), "top000/dir00/file00.py")
	if err := plant(root, shape{"test", 1, 1}); err == nil {
		t.Error("a tree is planted in a file")
	}
}

func TestSyncTrees(t *testing.T) {
	t.Parallel()
	src, dest := planted(t), t.TempDir()
	want := tree(t, src)
	maps.DeleteFunc(want, func(path, _ string) bool { return isLitter(path) })
	for range 2 {
		if err := syncTrees(t.Context(), src, dest); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, tree(t, dest)); diff != "" {
			t.Error(diff)
		}
	}
	if err := syncTrees(t.Context(), filepath.Join(src, "nowhere"), dest); err == nil {
		t.Error("nothing is synced")
	}
}

func TestMeasure(t *testing.T) {
	t.Parallel()
	s, err := measure(t.Context(), t.TempDir(), "sleep 0.05; echo now >&2; sleep 0.5")
	if err != nil {
		t.Fatal(err)
	}
	if s.first < 50*time.Millisecond || s.wall < 550*time.Millisecond || s.wall < s.first+100*time.Millisecond || s.cpu <= 0 || s.peak < 1<<16 {
		t.Errorf("got %+v", s)
	}
	if _, err := measure(t.Context(), t.TempDir(), "echo reason >&2; exit 3"); err == nil || !strings.Contains(err.Error(), "reason") {
		t.Errorf("got %v", err)
	}
}

func TestMedians(t *testing.T) {
	t.Parallel()
	got := medians([]sample{{1, 50, 7, 0}, {30, 2, 9, 0}, {20, 3, 8, 0}})
	if want := (sample{20, 3, 8, 0}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestPrintTarget(t *testing.T) {
	t.Parallel()
	ours, rival := sample{wall: 80 * time.Millisecond, cpu: 3, peak: 70 << 20}, sample{wall: 100 * time.Millisecond, cpu: 2, peak: 10 << 20}
	for _, tt := range []struct {
		target target
		met    bool
		text   string
	}{
		{target{"wall", wall, 0.8}, true, "0.80  <= 0.80   ok"},
		{target{"wall", wall, 0.7}, false, "0.80  <= 0.70   MISSED"},
		{target{"cpu", cpu, 0}, true, "1.50 "},
		{target{"MiB", mebibytesAbove, 64}, true, "60.00  <= 64.00  ok"},
	} {
		var out bytes.Buffer
		met, err := printTarget(&out, shape{name: "t"}, contest{}, tt.target, ours, rival)
		if err != nil || met != tt.met || !strings.Contains(out.String(), tt.text) {
			t.Errorf("%v, %v: %q lacks %q", met, err, out.String(), tt.text)
		}
	}
}

func TestWrongUsage(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{nil, {"-sync", "a"}, {"-plant", "none", t.TempDir()}, {"-plant", "22k"}, {"-hermesbox", "x", "y"}, {"-nothing"}, {"-relay", "a", "b"}, {"-list", "a", "b"}, {"-answer", ":0", "b"}} {
		if err := bench(context.Background(), &bytes.Buffer{}, args); err == nil {
			t.Errorf("%q is taken", args)
		}
	}
}
