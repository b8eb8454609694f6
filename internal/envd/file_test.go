package envd_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hermesbox/hermesbox/internal/envd"
)

func TestFiles(t *testing.T) {
	t.Parallel()
	c := service(t)
	dir := t.TempDir()
	content := strings.Repeat("\x00é\n", 100000)
	writers := map[string]func(name string) error{
		"form": func(name string) error { return c.Write(t.Context(), name, strings.NewReader(content)) },
		"raw":  func(name string) error { return c.WriteRaw(t.Context(), name, strings.NewReader(content)) },
		"put":  func(name string) error { return c.Put(t.Context(), name, 0o640, strings.NewReader(content)) },
	}
	for name, write := range writers {
		path := filepath.Join(dir, name, `sub dir"é`, "f ile")
		for range 2 { // the second overwrites
			if err := write(path); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		got, err := c.ReadFile(t.Context(), path, 1<<20)
		if err != nil || string(got) != content {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
		if _, err := c.ReadFile(t.Context(), path, 10); err == nil || !strings.Contains(err.Error(), "longer than 10 bytes") {
			t.Errorf("%s: %v", name, err)
		}
	}
	info, err := os.Stat(filepath.Join(dir, "put", `sub dir"é`, "f ile"))
	if err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("the mode is %v, %v", info.Mode(), err)
	}
}

func TestEmptyFile(t *testing.T) {
	t.Parallel()
	c := service(t)
	name := filepath.Join(t.TempDir(), "empty")
	for i, write := range []func() error{
		func() error { return c.Write(t.Context(), name, strings.NewReader("")) },
		func() error { return c.WriteRaw(t.Context(), name, strings.NewReader("")) },
		func() error { return c.Put(t.Context(), name, 0o600, strings.NewReader("")) },
	} {
		if err := write(); err != nil {
			t.Errorf("%d: %v", i, err)
		}
		if got, err := os.ReadFile(name); err != nil || len(got) != 0 {
			t.Errorf("%d: %q, %v", i, got, err)
		}
		if err := os.Remove(name); err != nil {
			t.Error(err)
		}
	}
}

func TestFileErrors(t *testing.T) {
	t.Parallel()
	c := service(t)
	dir := t.TempDir()
	if _, err := c.Open(t.Context(), dir+"/no"); !errors.Is(err, envd.ErrNotFound) {
		t.Errorf("missing: %v", err)
	}
	_, err := c.Open(t.Context(), dir)
	if err == nil || !strings.Contains(err.Error(), "is a directory") || !strings.Contains(err.Error(), "/files: HTTP 400: ") {
		t.Errorf("a directory: %v", err)
	}
	if strings.Contains(err.Error(), "username") {
		t.Errorf("the query is shown: %v", err)
	}
	if err := c.Put(t.Context(), dir, 0o600, strings.NewReader("x")); err != nil {
		t.Errorf("into a directory, as mv does: %v", err)
	}
	if err := c.Put(t.Context(), "/proc/no/such", 0o600, strings.NewReader("x")); err == nil || !strings.Contains(err.Error(), "writing /proc/no/such in the sandbox: exit status ") {
		t.Errorf("into /proc: %v", err)
	}
}

func TestFilesystem(t *testing.T) {
	t.Parallel()
	for _, version := range []string{newest, oldest} {
		c := connect(t, envd.Direct(startService(t, version).Listener.Addr().String()))
		ctx, dir := t.Context(), t.TempDir()
		made, err := c.MakeDir(ctx, dir+"/a/b")
		if err != nil || made.Type != envd.Directory || made.Name != "b" || made.Path != dir+"/a/b" {
			t.Errorf("made %+v, %v", made, err)
		}
		if _, err := c.MakeDir(ctx, dir+"/a"); !errors.Is(err, envd.ErrExists) {
			t.Errorf("made again: %v", err)
		}
		if err := os.WriteFile(dir+"/a/f", []byte("hello"), 0o640); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink("f", dir+"/a/link"); err != nil {
			t.Fatal(err)
		}
		stat, err := c.Stat(ctx, dir+"/a/f")
		want := envd.Entry{Name: "f", Path: dir + "/a/f", Type: envd.File, Size: 5, Mode: 0o640}
		if diff := cmp.Diff(want, stat, cmpopts.IgnoreFields(envd.Entry{}, "Permissions", "Owner", "Group", "ModTime")); diff != "" || err != nil {
			t.Errorf("%v %s", err, diff)
		}
		if stat.Owner != me(t) || stat.ModTime.IsZero() || stat.Permissions != "-rw-r-----" {
			t.Errorf("stat %+v", stat)
		}
		if link, err := c.Stat(ctx, dir+"/a/link"); err != nil || link.LinkTarget != dir+"/a/f" || link.Type != envd.File {
			t.Errorf("link %+v, %v", link, err)
		}
		var names []string
		list, err := c.ListDir(ctx, dir, 2)
		for _, e := range list {
			names = append(names, strings.TrimPrefix(e.Path, dir+"/"))
		}
		if diff := cmp.Diff([]string{"a", "a/b", "a/f", "a/link"}, names); diff != "" || err != nil {
			t.Errorf("%v %s", err, diff)
		}
		moved, err := c.Move(ctx, dir+"/a/f", dir+"/g")
		if err != nil || moved.Path != dir+"/g" {
			t.Errorf("moved %+v, %v", moved, err)
		}
		for range 2 { // a missing path is no error
			if err := c.Remove(ctx, dir+"/a"); err != nil {
				t.Error(err)
			}
		}
		if _, err := c.Stat(ctx, dir+"/a"); !errors.Is(err, envd.ErrNotFound) {
			t.Errorf("removed: %v", err)
		}
		if _, err := c.ListDir(ctx, dir+"/g", 1); err == nil || !strings.Contains(err.Error(), "invalid_argument") {
			t.Errorf("list of a file: %v", err)
		}
	}
}

func TestOpenStreams(t *testing.T) {
	t.Parallel()
	c := service(t)
	name := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(name, []byte("0123456789"), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := c.Open(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	part := make([]byte, 4)
	if _, err := io.ReadFull(r, part); err != nil || string(part) != "0123" {
		t.Errorf("%q, %v", part, err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}
