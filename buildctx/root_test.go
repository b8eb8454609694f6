package buildctx_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hermesbox/hermesbox/buildctx"
)

func TestRoots(t *testing.T) {
	t.Parallel()
	root := plant(t, map[string]string{"src/f": "x", "link": "->src", "loop": "->loop", "file": "", "empty/": "", "dirs/a/b/": "", "litter/.DS_Store": ""})
	var pathErr *buildctx.PathError
	tests := []struct {
		dir    string
		reason buildctx.Reason
	}{{"nowhere", buildctx.Missing}, {"file", buildctx.NotDirectory}, {"loop", buildctx.Unreadable}}
	for _, tt := range tests {
		_, err := buildctx.Load(t.Context(), filepath.Join(root, tt.dir), buildctx.Options{})
		if !errors.As(err, &pathErr) || pathErr.Reason != tt.reason || !strings.HasSuffix(pathErr.Path, tt.dir) {
			t.Errorf("%s: %v", tt.dir, err)
		}
	}
	for _, dir := range []string{"empty", "dirs", "litter"} {
		if _, err := buildctx.Load(t.Context(), filepath.Join(root, dir), buildctx.Options{}); !errors.Is(err, buildctx.ErrEmpty) {
			t.Errorf("%s: %v", dir, err)
		}
	}
	tree := load(t, filepath.Join(root, "link"), buildctx.Options{})
	if want := filepath.Join(root, "src"); tree.Root() != want {
		t.Errorf("root %s, want %s", tree.Root(), want)
	}
	if readAll(t, tree, "f") != "x" {
		t.Error("the file behind the link is another")
	}
}

func TestOutputsUnderALinkedRoot(t *testing.T) {
	t.Parallel()
	root := plant(t, map[string]string{"src/f": "x", "src/out.json": "", "link": "->src"})
	tree := load(t, filepath.Join(root, "link"), buildctx.Options{Outputs: []string{filepath.Join(root, "link", "out.json")}})
	if diff := cmp.Diff([]left{{"out.json", "output", "file"}}, excluded(tree)); diff != "" {
		t.Error(diff)
	}
}

func TestDeepTree(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	name := strings.Repeat("n", 200)
	dir, err := os.OpenRoot(root)
	if err != nil {
		t.Fatal(err)
	}
	for range 30 { // 6000 bytes, more than a path may have
		if err := dir.Mkdir(name, 0o755); err != nil {
			t.Fatal(err)
		}
		next, err := dir.OpenRoot(name)
		if err := errors.Join(err, dir.Close()); err != nil {
			t.Fatal(err)
		}
		dir = next
	}
	if err := errors.Join(dir.WriteFile("f", []byte("deep"), 0o644), dir.Close()); err != nil {
		t.Fatal(err)
	}
	tree := load(t, root, buildctx.Options{})
	if got := readAll(t, tree, strings.Repeat(name+"/", 30)+"f"); got != "deep" {
		t.Errorf("got %q", got)
	}
}

func TestLoadEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	root := plant(t, map[string]string{"f": ""})
	if _, err := buildctx.Load(ctx, root, buildctx.Options{}); !errors.Is(err, ctx.Err()) {
		t.Errorf("Load: %v", err)
	}
	if _, err := buildctx.Stream(ctx, root, buildctx.Options{}, io.Discard); !errors.Is(err, ctx.Err()) {
		t.Errorf("Stream: %v", err)
	}
	if _, err := buildctx.Explain(ctx, root, "f", buildctx.Options{}); !errors.Is(err, ctx.Err()) {
		t.Errorf("Explain: %v", err)
	}
	tree := load(t, root, buildctx.Options{})
	if err := tree.WriteTar(ctx, io.Discard); !errors.Is(err, ctx.Err()) {
		t.Errorf("WriteTar: %v", err)
	}
}
