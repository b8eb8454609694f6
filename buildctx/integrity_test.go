package buildctx_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hermesbox/hermesbox/buildctx"
)

// childEnv makes the test binary load the directory it names and print what came of it.
const childEnv = "HERMESBOX_BUILDCTX_LOAD"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childEnv); dir != "" {
		os.Exit(loadAndPrint(os.Stdout, dir)) //nolint:forbidigo // the test binary is the process here
	}
	m.Run()
}

func loadAndPrint(out io.Writer, dir string) int {
	tree, err := buildctx.Load(context.Background(), dir, buildctx.Options{})
	if err != nil {
		_, _ = fmt.Fprintln(out, "error:", err)
		return 1
	}
	for _, p := range paths(tree) {
		_, _ = fmt.Fprintln(out, p)
	}
	for _, w := range tree.Receipt().Warnings {
		_, _ = fmt.Fprintln(out, "warning:", w.Kind, w.Path)
	}
	return 0
}

// loadAsNobody loads a directory as a user without privileges.
func loadAsNobody(t *testing.T, root string) (string, bool) {
	t.Helper()
	dir := t.TempDir()
	for _, p := range []string{root, filepath.Dir(root), dir, filepath.Dir(dir)} {
		if err := os.Chmod(p, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	self, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "test")
	if err := os.WriteFile(program, self, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program)
	cmd.Env, cmd.Dir = []string{childEnv + "=" + root}, "/"
	if os.Getuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	out, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return string(out), err == nil
}

func chmod(t *testing.T, mode os.FileMode, path ...string) {
	t.Helper()
	p := filepath.Join(path...)
	if err := os.Chmod(p, mode); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(p, 0o755) })
}

func TestUnreadable(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, ignore string
		lock         []string
		ok           bool
		want         string
	}{
		{"a file fails", "", []string{"d/secret"}, false, `error: reading ROOT: "d/secret" cannot be read: permission denied` + "\n"},
		{"a directory fails", "", []string{"d"}, false, `error: reading ROOT: "d" cannot be read: permission denied` + "\n"},
		{
			"all are named", "",
			[]string{"d/secret", "f"},
			false,
			`error: reading ROOT: "d/secret" cannot be read: permission denied` + "\n" + `"f" cannot be read: permission denied` + "\n",
		},
		{"an excluded file does not", "d/secret", []string{"d/secret"}, true, "f .dockerignore\nd d\nf d/other\nf f\n"},
		{"an excluded directory does not", "d", []string{"d"}, true, "f .dockerignore\nf f\n"},
		{
			"nor where a pattern might bring something back", "d\n!**/other",
			[]string{"d"},
			true,
			"f .dockerignore\nf f\nwarning: unreadable d\n",
		},
		{"nor a look-alike", "", []string{"._x"}, true, "f .dockerignore\nd d\nf d/other\nf d/secret\nf f\nwarning: look-alike ._x\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			root := plant(t, map[string]string{"d/secret": "s", "d/other": "o", "f": "f", ".dockerignore": tt.ignore})
			for _, name := range tt.lock {
				plantMissing(t, root, name)
				chmod(t, 0, root, name)
			}
			got, ok := loadAsNobody(t, root)
			if ok != tt.ok {
				t.Errorf("success is %v", ok)
			}
			if diff := cmp.Diff(tt.want, strings.ReplaceAll(got, root, "ROOT")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func plantMissing(t *testing.T, root, name string) {
	t.Helper()
	if _, err := os.Lstat(filepath.Join(root, name)); errors.Is(err, os.ErrNotExist) {
		plantIn(t, root, map[string]string{name: "x"})
	}
}

func TestFifoAndDeviceFailUnlessExcluded(t *testing.T) {
	t.Parallel()
	root := plant(t, map[string]string{"f": ""})
	if err := syscall.Mkfifo(filepath.Join(root, "pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := buildctx.Load(t.Context(), root, buildctx.Options{})
	var pathErr *buildctx.PathError
	if !errors.As(err, &pathErr) || pathErr.Path != "pipe" || pathErr.Reason != buildctx.IsFifo {
		t.Errorf("got %v", err)
	}
	tree := load(t, root, buildctx.Options{Exclude: []string{"pipe"}})
	if diff := cmp.Diff([]left{{"pipe", "pipe", "fifo"}}, excluded(tree)); diff != "" {
		t.Error(diff)
	}
	if os.Getuid() != 0 {
		return
	}
	if err := syscall.Mknod(filepath.Join(root, "null"), syscall.S_IFCHR|0o666, 1<<8|3); err != nil {
		t.Skipf("no device can be made here: %v", err)
	}
	_, err = buildctx.Load(t.Context(), root, buildctx.Options{Exclude: []string{"pipe"}})
	if !errors.As(err, &pathErr) || pathErr.Path != "null" || pathErr.Reason != buildctx.IsDevice {
		t.Errorf("got %v", err)
	}
}

// TestFileChangesWhileRead changes a large sparse file again and again while it is read.
func TestFileChangesWhileRead(t *testing.T) {
	t.Parallel()
	const size = 256 << 20
	tests := []struct {
		name   string
		change func(f *os.File, i int64) error
		want   []string
	}{
		{"grows", func(f *os.File, i int64) error { return f.Truncate(size + i) }, []string{"grew", "was written to"}},
		{"shrinks", func(f *os.File, i int64) error { return f.Truncate(size - i*4096) }, []string{"shrank", "was written to"}},
		{
			"is written to", func(f *os.File, i int64) error { _, err := f.WriteAt([]byte("x"), i); return err },
			[]string{"was written to"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			root := plant(t, map[string]string{"big": ""})
			f, err := os.OpenFile(filepath.Join(root, "big"), os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = f.Close() }()
			if err := f.Truncate(size); err != nil {
				t.Fatal(err)
			}
			stop, stopped := make(chan struct{}), make(chan error)
			go func() {
				for i := int64(1); ; i++ {
					select {
					case <-stop:
						stopped <- nil
						return
					case <-time.After(5 * time.Millisecond):
						if err := tt.change(f, i); err != nil {
							stopped <- err
							return
						}
					}
				}
			}()
			_, err = buildctx.Load(t.Context(), root, buildctx.Options{})
			close(stop)
			if err := <-stopped; err != nil {
				t.Fatal(err)
			}
			var changed *buildctx.ChangedError
			if !errors.As(err, &changed) || changed.Path != "big" || !containsAny(changed.What, tt.want) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func containsAny(s string, parts []string) bool {
	for _, p := range parts {
		if strings.Contains(s, p) {
			return true
		}
	}
	return false
}

// TestEqualInodesOnTwoMounts has two files with one inode number, which BuildKit's sender takes for one file.
func TestEqualInodesOnTwoMounts(t *testing.T) {
	t.Parallel()
	root := plant(t, map[string]string{"m1/": "", "m2/": ""})
	for _, m := range []string{"m1", "m2"} {
		dir := filepath.Join(root, m)
		if err := mountTmpfs(dir); err != nil {
			t.Skipf("no tmpfs can be mounted: %v", err)
		}
		t.Cleanup(func() { _ = syscall.Unmount(dir, 0) })
		plantIn(t, root, map[string]string{m + "/f": "content of " + m})
		if err := os.Link(filepath.Join(dir, "f"), filepath.Join(dir, "g")); err != nil {
			t.Fatal(err)
		}
	}
	if a, b := inode(t, root, "m1/f"), inode(t, root, "m2/f"); a != b {
		t.Skipf("the inode numbers are %d and %d", a, b)
	}
	tree := load(t, root, buildctx.Options{})
	for _, p := range []string{"m1/f", "m1/g", "m2/f", "m2/g"} {
		if got, want := readAll(t, tree, p), "content of "+p[:2]; got != want {
			t.Errorf("%s holds %q", p, got)
		}
	}
}

func inode(t *testing.T, path ...string) uint64 {
	t.Helper()
	var st syscall.Stat_t
	if err := syscall.Stat(filepath.Join(path...), &st); err != nil {
		t.Fatal(err)
	}
	return st.Ino
}

func TestHardLinksAreFilesOfTheirOwn(t *testing.T) {
	t.Parallel()
	root := plant(t, map[string]string{"a": "same", "d/": ""})
	for _, name := range []string{"b", "d/c"} {
		if err := os.Link(filepath.Join(root, "a"), filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	want := load(t, plant(t, map[string]string{"a": "same", "b": "same", "d/c": "same"}), buildctx.Options{})
	got := load(t, root, buildctx.Options{})
	if got.Digest() != want.Digest() || got.Receipt().Bytes != 12 {
		t.Errorf("%s with %d bytes, want %s", got.Digest(), got.Receipt().Bytes, want.Digest())
	}
}

func mkfifo(path string) error { return syscall.Mkfifo(path, 0o644) }
