package buildctx_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hermesbox/hermesbox/buildctx"
)

// TestStreamIsLeftOut writes a tar and a log into the source as a shell's redirections do, one by a second name.
func TestStreamIsLeftOut(t *testing.T) {
	t.Parallel()
	root := plant(t, map[string]string{"f": "x", "d/g": "y"})
	want := load(t, root, buildctx.Options{}).Digest()
	var files []*os.File
	for _, name := range []string{"d/ctx.tar", "log", "/dev/null"} {
		path := filepath.Join(root, name)
		if filepath.IsAbs(name) {
			path = name
		}
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = f.Close() }()
		files = append(files, f)
	}
	if err := os.Link(filepath.Join(root, "log"), filepath.Join(root, "d/log")); err != nil {
		t.Fatal(err)
	}
	opts := buildctx.Options{Streams: files}
	tree, err := buildctx.Stream(t.Context(), root, opts, files[0])
	if err != nil {
		t.Fatal(err)
	}
	left := []left{{"d/ctx.tar", "output", "file"}, {"d/log", "output", "file"}, {"log", "output", "file"}}
	if diff := cmp.Diff(left, excluded(tree)); diff != "" || tree.Digest() != want {
		t.Errorf("digest %s, %s", tree.Digest(), diff)
	}
	if diff := cmp.Diff([]string{"output d/ctx.tar", "output d/log", "output log"}, warnings(tree.Receipt())); diff != "" {
		t.Error(diff)
	}
	written, err := os.ReadFile(filepath.Join(root, "d/ctx.tar"))
	if err != nil {
		t.Fatal(err)
	}
	if got := loadTar(t, written, opts).Digest(); got != want {
		t.Errorf("the tar holds %s", got)
	}
	if d, err := buildctx.Explain(t.Context(), root, "log", opts); err != nil || d.Rule != buildctx.RuleOutput {
		t.Errorf("got %+v, %v", d, err)
	}
}

func TestClosedStream(t *testing.T) {
	t.Parallel()
	f, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	opts := buildctx.Options{Streams: []*os.File{f}}
	var out bytes.Buffer
	if _, err := buildctx.Stream(t.Context(), plant(t, map[string]string{"f": ""}), opts, &out); err == nil || !strings.Contains(err.Error(), "examining the output") {
		t.Errorf("got %v", err)
	}
}
