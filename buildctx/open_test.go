package buildctx_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hermesbox/hermesbox/buildctx"
)

func readAll(t *testing.T, tree *buildctx.Tree, path string) string {
	t.Helper()
	f, err := tree.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	all, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	return string(all)
}

func TestOpenVerifies(t *testing.T) {
	t.Parallel()
	content := strings.Repeat("content ", 1000)
	tests := []struct {
		name   string
		change func(path string) error
		want   string // of the error; empty: none
	}{
		{"nothing", func(string) error { return nil }, ""},
		{"touched", func(p string) error { return os.Chtimes(p, time.Now(), time.Now()) }, ""},
		{"vanished", os.Remove, `"d/f" vanished after it was hashed`},
		{"grown", func(p string) error { return os.WriteFile(p, []byte(content+"x"), 0o644) }, `"d/f" had 8000 bytes when it was hashed and has 8001 now`},
		{"shrunk", func(p string) error { return os.Truncate(p, 10) }, `"d/f" had 8000 bytes when it was hashed and has 10 now`},
		{"same size and time", sameSizeSameTime, `"d/f" was changed after it was hashed`},
		{"a link", func(p string) error { return errors.Join(os.Remove(p), os.Symlink("other", p)) }, `"d/f" cannot be read any more: too many levels of symbolic links`},
		{"a directory", func(p string) error { return errors.Join(os.Remove(p), os.Mkdir(p, 0o755)) }, `"d/f" is no longer a file`},
		{"a pipe", func(p string) error { return errors.Join(os.Remove(p), syscall.Mkfifo(p, 0o644)) }, `"d/f" is no longer a file`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			root := plant(t, map[string]string{"d/f": content, "d/other": "x"})
			tree := load(t, root, buildctx.Options{})
			if err := tt.change(filepath.Join(root, "d/f")); err != nil {
				t.Fatal(err)
			}
			got, err := openAndRead(tree, "d/f")
			if tt.want == "" {
				if err != nil || string(got) != content {
					t.Errorf("got %d bytes, %v", len(got), err)
				}
				return
			}
			var changed *buildctx.ChangedError
			if !errors.As(err, &changed) || err.Error() != tt.want {
				t.Errorf("got %v, want %s", err, tt.want)
			}
			if err := tree.WriteTar(t.Context(), io.Discard); !errors.As(err, &changed) {
				t.Errorf("WriteTar: %v", err)
			}
		})
	}
}

func sameSizeSameTime(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return errors.Join(os.WriteFile(path, bytes.ToUpper(b), 0o644), os.Chtimes(path, info.ModTime(), info.ModTime()))
}

func openAndRead(tree *buildctx.Tree, path string) ([]byte, error) {
	f, err := tree.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return io.ReadAll(f)
}

// TestOpenWhileChanging changes a file between two reads of it.
func TestOpenWhileChanging(t *testing.T) {
	t.Parallel()
	size := 1 << 20
	tests := []struct {
		name   string
		change func(path string) error
		want   string
	}{
		{"grown", func(p string) error { return os.Truncate(p, int64(size+1)) }, `"f" grew after it was hashed`},
		{"shrunk", func(p string) error { return os.Truncate(p, int64(size/2)) }, `"f" shrank after it was hashed`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			root := plant(t, map[string]string{"f": strings.Repeat("x", size)})
			f, err := load(t, root, buildctx.Options{}).Open("f")
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = f.Close() }()
			if _, err := io.ReadFull(f, make([]byte, 10)); err != nil {
				t.Fatal(err)
			}
			if err := tt.change(filepath.Join(root, "f")); err != nil {
				t.Fatal(err)
			}
			rest, err := io.ReadAll(f)
			if err == nil || err.Error() != tt.want || len(rest)+10 > size {
				t.Errorf("%d bytes, %v", len(rest)+10, err)
			}
			if _, again := f.Read(make([]byte, 1)); !errors.Is(again, err) {
				t.Errorf("another Read says %v", again)
			}
		})
	}
}

func TestOpenKnowsFilesOnly(t *testing.T) {
	t.Parallel()
	tree := load(t, plant(t, map[string]string{"d/f": "", "l": "->d/f", ".DS_Store": ""}), buildctx.Options{})
	for _, p := range []string{"d", "l", ".DS_Store", "nothing", "", "d/f/", "/d/f"} {
		if _, err := tree.Open(p); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%q: %v", p, err)
		}
	}
}
