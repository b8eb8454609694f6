package buildctx_test

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hermesbox/hermesbox/buildctx"
)

func TestWrittenTar(t *testing.T) {
	t.Parallel()
	root := hermes(t)
	tree := load(t, root, buildctx.Options{})
	var first, second, third bytes.Buffer
	if err := tree.WriteTar(t.Context(), &first); err != nil {
		t.Fatal(err)
	}
	streamed, err := buildctx.Stream(t.Context(), root, buildctx.Options{}, &second)
	if err != nil {
		t.Fatal(err)
	}
	again := loadTar(t, first.Bytes(), buildctx.Options{})
	if err := again.WriteTar(t.Context(), &third); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(first.Bytes(), second.Bytes()) || !bytes.Equal(first.Bytes(), third.Bytes()) {
		t.Errorf("three ways give tars of %d, %d and %d bytes that differ", first.Len(), second.Len(), third.Len())
	}
	if diff := cmp.Diff(tree.Receipt(), streamed.Receipt()); diff != "" {
		t.Error(diff)
	}
	if again.Digest() != tree.Digest() {
		t.Error("the tar has another digest")
	}
	checkHeaders(t, first.Bytes())
	extracted := t.TempDir()
	cmd := exec.CommandContext(t.Context(), "tar", "-C", extracted, "-xf", "-")
	cmd.Stdin = &first
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("tar: %v: %s", err, out)
	}
	if got := load(t, extracted, buildctx.Options{}); got.Digest() != tree.Digest() {
		t.Errorf("extracted by tar it is %q, not %q", paths(got), paths(tree))
	}
}

func checkHeaders(t *testing.T, data []byte) {
	t.Helper()
	r := tar.NewReader(bytes.NewReader(data))
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Uid != 0 || h.Gid != 0 || h.Uname != "" || h.Gname != "" {
			t.Errorf("%q has an owner: %+v", h.Name, h)
		}
		if y := h.ModTime.UTC().Year(); y < 2001 || y > 2009 || h.ModTime.Nanosecond() != 0 {
			t.Errorf("%q has time %v", h.Name, h.ModTime)
		}
		for key := range h.PAXRecords {
			if key != "path" && key != "linkpath" {
				t.Errorf("%q has record %q", h.Name, key)
			}
		}
	}
}

func TestStreamOfPartsBroughtBack(t *testing.T) {
	t.Parallel()
	root := plant(t, map[string]string{
		".dockerignore": "d\n!**/keep", "d/a/x": "", "d/b/keep": "k", "d/b/y": "", "d/c/e/x": "", "big": strings.Repeat("x", 1<<20),
	})
	var out bytes.Buffer
	tree, err := buildctx.Stream(t.Context(), root, buildctx.Options{}, &out)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"f .dockerignore", "f big", "d d", "d d/b", "f d/b/keep"}
	if diff := cmp.Diff(want, paths(tree)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(want, paths(loadTar(t, out.Bytes(), buildctx.Options{Exclude: []string{"!d"}}))); diff != "" {
		t.Error(diff)
	}
}

type failingWriter struct{ left int }

var errFull = errors.New("no room")

func (w *failingWriter) Write(p []byte) (int, error) {
	if w.left -= len(p); w.left < 0 {
		return 0, errFull
	}
	return len(p), nil
}

func TestWritersErrorsAreKept(t *testing.T) {
	t.Parallel()
	root := plant(t, map[string]string{"a": strings.Repeat("x", 1<<20), "b": strings.Repeat("y", 1<<20)})
	tree := load(t, root, buildctx.Options{})
	for _, room := range []int{0, 1000, 1 << 20, 2<<20 + 1024} {
		if err := tree.WriteTar(t.Context(), &failingWriter{room}); !errors.Is(err, errFull) {
			t.Errorf("WriteTar with room for %d: %v", room, err)
		}
		if _, err := buildctx.Stream(t.Context(), root, buildctx.Options{}, &failingWriter{room}); !errors.Is(err, errFull) {
			t.Errorf("Stream with room for %d: %v", room, err)
		}
	}
	if err := tree.WriteManifest(&failingWriter{10}); !errors.Is(err, errFull) {
		t.Errorf("WriteManifest: %v", err)
	}
	data := forge(t, file("a", strings.Repeat("x", 1<<20)))
	if _, err := buildctx.CleanTar(t.Context(), bytes.NewReader(data), &failingWriter{1000}); !errors.Is(err, errFull) {
		t.Errorf("CleanTar: %v", err)
	}
}

func TestStreamThatFailsHasNoEnd(t *testing.T) {
	t.Parallel()
	root := plant(t, map[string]string{"a": "x", "z": "y"})
	if err := mkfifo(filepath.Join(root, "m")); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if _, err := buildctx.Stream(t.Context(), root, buildctx.Options{}, &out); err == nil {
		t.Error("a fifo is streamed")
	}
	if _, err := buildctx.LoadTar(t.Context(), &out, buildctx.Options{}); err == nil {
		t.Error("what was written passes for a whole tar")
	}
}
