package buildctx

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// step walks a directory of two files and one subdirectory by hand, with a change between listing and hashing.
func step(t *testing.T, ignore string, change func(root string) error) error {
	t.Helper()
	root := t.TempDir()
	for _, name := range []string{"a", "b"} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(root, "d"), 0o755); err != nil {
		t.Fatal(err)
	}
	r, _, err := makeRules(Options{Exclude: []string{ignore}}, onDisk(root))
	if err != nil {
		t.Fatal(err)
	}
	w := &walker{rules: r, nodes: &store{}, folds: newFolder()}
	pool := startHashers(t.Context(), &w.problems)
	src := &disk{do: func(j hashJob) { pool.do(t.Context(), j) }}
	top, err := src.open(unix.AT_FDCWD, root, "")
	if err != nil {
		t.Fatal(err)
	}
	changing := &changingDir{diskDir: top, change: func() error { return change(root) }}
	err = w.dir(t.Context(), changing, place{node: -1})
	top.close()
	pool.wait()
	if err := errors.Join(err, w.checkChanged(src.changed, root)); err != nil {
		t.Fatal(err)
	}
	return w.problems.join()
}

// changingDir changes after it was listed.
type changingDir struct {
	*diskDir
	change func() error
}

func (d *changingDir) list() ([]child, error) {
	all, err := d.diskDir.list()
	return all, errors.Join(err, d.change())
}

func TestChangesDuringTheWalk(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, ignore string
		change       func(root string) error
		want         string
	}{
		{"nothing", "", func(string) error { return nil }, ""},
		{
			"a file vanishes", "", func(root string) error { return os.Remove(filepath.Join(root, "a")) },
			`"a" vanished while the context was read: no such file or directory`,
		},
		{"an excluded file vanishes", "a", func(root string) error { return os.Remove(filepath.Join(root, "a")) }, ""},
		{
			"a directory vanishes", "", func(root string) error { return os.Remove(filepath.Join(root, "d")) },
			`"d" vanished while the context was read: no such file or directory`,
		},
		{"a file appears", "", func(root string) error { return os.WriteFile(filepath.Join(root, "new"), nil, 0o644) }, `"new" appeared while the context was read`},
		{"an excluded file appears", "new", func(root string) error { return os.WriteFile(filepath.Join(root, "new"), nil, 0o644) }, ""},
		{"litter appears", "", func(root string) error { return os.WriteFile(filepath.Join(root, ".DS_Store"), nil, 0o644) }, ""},
		{
			"a file becomes a link", "", func(root string) error {
				return errors.Join(os.Remove(filepath.Join(root, "a")), os.Symlink("b", filepath.Join(root, "a")))
			},
			`"a" became something else while the context was read: too many levels of symbolic links`,
		},
		{
			"a file becomes a directory", "", func(root string) error {
				return errors.Join(os.Remove(filepath.Join(root, "a")), os.Mkdir(filepath.Join(root, "a"), 0o755))
			},
			`"a" is no longer a file`,
		},
		{
			"a file becomes a pipe", "", func(root string) error {
				return errors.Join(os.Remove(filepath.Join(root, "a")), unix.Mkfifo(filepath.Join(root, "a"), 0o644))
			},
			`"a" is no longer a file`,
		},
		{
			"a directory becomes a link out of the tree", "", func(root string) error {
				return errors.Join(os.Remove(filepath.Join(root, "d")), os.Symlink("/etc", filepath.Join(root, "d")))
			},
			`"d" became something else while the context was read: not a directory`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := ""
			if err := step(t, tt.ignore, tt.change); err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestJoinProblemsIsBounded(t *testing.T) {
	t.Parallel()
	var all problems
	for i := range 25 {
		name := string(rune('z' - i))
		all.add(name, &PathError{Path: name, Reason: IsFifo, Detail: "is a named pipe"})
	}
	err := all.join()
	var first *PathError
	if !errors.As(err, &first) || first.Path != "b" {
		t.Errorf("the first is %v", first)
	}
	lines := len(err.(interface{ Unwrap() []error }).Unwrap())
	if lines != maxProblems+1 {
		t.Errorf("%d lines", lines)
	}
}

func TestAppleDouble(t *testing.T) {
	t.Parallel()
	good := "\x00\x05\x16\x07\x00\x02\x00\x00Mac OS X        \x00\x01\x00\x00\x00\x09\x00\x00\x00\x26\x00\x00\x00\x04data"
	tests := []struct {
		name          string
		head          string
		double, whole bool
	}{
		{"whole", good, true, true},
		{"empty", "", false, false},
		{"magic alone", good[:4], true, false},
		{"half the magic", good[:3], false, false},
		{"magic and version", good[:8], true, true},
		{"AppleSingle", "\x00\x05\x16\x00" + good[4:], false, false},
		{"version 1", good[:4] + "\x00\x01\x00\x00" + good[8:], true, false},
		{"no entries", good[:24] + "\x00\x00" + good[26:], true, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if double, whole := isAppleDouble([]byte(tt.head)), hasAppleHeader([]byte(tt.head)); double != tt.double || whole != tt.whole {
				t.Errorf("got %v and %v", double, whole)
			}
		})
	}
}

func TestComparePaths(t *testing.T) {
	t.Parallel()
	sorted := []string{"", "a", "a/-", "a/b", "a/b/c", "a-b", "a.b", "a0", "ab", "b"}
	for i, a := range sorted {
		for j, b := range sorted {
			if got := ComparePaths(a, b); (got < 0) != (i < j) || (got > 0) != (i > j) {
				t.Errorf("%q to %q is %d", a, b, got)
			}
		}
	}
}
