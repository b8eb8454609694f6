package node_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hermesbox/hermesbox/internal/check"
	"github.com/hermesbox/hermesbox/internal/dockertest"
	"github.com/hermesbox/hermesbox/internal/node"
	"github.com/hermesbox/hermesbox/internal/sshtest"
)

// layout is a few directories below root.
func layout(root string) []node.Dir {
	return []node.Dir{{Path: root, Mode: 0o755}, {Path: root + "/homes", Mode: 0o711}, {Path: root + "/homes/.own", Mode: 0o700}, {Path: root + "/skills", Mode: 0o755}}
}

// eachKind runs a test over both kinds of nodes. root is a directory for a
// shared root as the node sees it, and dir the same from here.
func eachKind(t *testing.T, test func(t *testing.T, n node.Node, root, dir string)) {
	t.Helper()
	t.Run("local", func(t *testing.T) {
		t.Parallel()
		n, dir := local(t, dockertest.Default(t))
		test(t, n, "/data/shared", dir)
	})
	t.Run("ssh", func(t *testing.T) {
		t.Parallel()
		if os.Getuid() != 0 {
			dockertest.Missing(t, "root", "directories are root's")
		}
		n, dir := over(t, sshtest.Start(t, sshtest.Options{}), ""), t.TempDir()
		test(t, n, dir, dir)
	})
}

func TestPrepare(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, n node.Node, root, dir string) {
		root, dir = root+"/a/shared", dir+"/a/shared"
		want := []node.Prepared{
			{Path: root, Action: node.Made}, {Path: root + "/homes", Action: node.Made}, {Path: root + "/homes/.own", Action: node.Made}, {Path: root + "/skills", Action: node.Made},
		}
		for _, action := range []string{node.Made, node.Kept} {
			for i := range want {
				want[i].Action = action
			}
			got, err := node.Prepare(t.Context(), n, layout(root))
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Errorf("Prepare: %v (-want +got):\n%s", err, diff)
			}
			for name, mode := range map[string]os.FileMode{"": 0o755, "homes": 0o711, "homes/.own": 0o700, "skills": 0o755} {
				if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode().Perm() != mode {
					t.Errorf("%s: %v, %v, want %v", name, info.Mode(), err, mode)
				}
			}
		}
		if err := os.Chmod(dir+"/skills", 0o700); err != nil {
			t.Fatal(err)
		}
		if _, err := node.Prepare(t.Context(), n, layout(root)); err != nil {
			t.Error(err)
		}
		if info, err := os.Stat(dir + "/skills"); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("what was there changed: %v, %v", info.Mode(), err)
		}
	})
}

func TestPrepareRefuses(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, n node.Node, root, dir string) {
		for _, step := range []struct {
			name, want string
			make       func(path string) error
		}{
			{"homes", "it is a link", func(p string) error { return os.Symlink("/etc", p) }},
			{"homes", "it is a link", func(p string) error { return os.Symlink("/nowhere", p) }},
			{"skills", "it is no directory", func(p string) error { return os.WriteFile(p, nil, 0o600) }},
		} {
			path := filepath.Join(dir, step.name)
			if err := errors.Join(os.RemoveAll(path), step.make(path)); err != nil {
				t.Fatal(err)
			}
			_, err := node.Prepare(t.Context(), n, layout(root))
			var refused *node.DirError
			if !errors.As(err, &refused) || refused.Problem != step.want || refused.Path != root+"/"+step.name || refused.Node != n.Name() {
				t.Errorf("%s: %v", step.want, err)
			}
			if err := os.RemoveAll(path); err != nil {
				t.Fatal(err)
			}
		}
		for _, root := range []string{"", "/", "/etc", "/usr/share/x", "/home", "relative", "/data/../etc", "/data/", "/data\nx", "/dev/shm", "/var/lib"} {
			if _, err := node.Prepare(t.Context(), n, []node.Dir{{Path: root}}); !errors.Is(err, node.ErrRoot) {
				t.Errorf("shared root %q: %v", root, err)
			}
		}
		if _, err := node.Prepare(t.Context(), n, []node.Dir{{Path: root}, {Path: root + "-evil"}}); !errors.Is(err, node.ErrRoot) {
			t.Errorf("a directory elsewhere: %v", err)
		}
		if _, err := node.Prepare(t.Context(), n, []node.Dir{{Path: "/data/shared\x00"}}); err == nil {
			t.Error("a NUL byte passed")
		}
	})
}

// TestPrepareTogether has runs make the same directories at the same time.
func TestPrepareTogether(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, n node.Node, root, _ string) {
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				if got, err := node.Prepare(t.Context(), n, layout(root+"/b")); err != nil || len(got) != 4 {
					t.Errorf("Prepare: %v, %v", got, err)
				}
			})
		}
		all.Wait()
	})
}

func TestCheck(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, n node.Node, root, dir string) {
		root, dir = root+"/sha red'$x", dir+"/sha red'$x"
		spec := node.Spec{Dirs: layout(root), Probe: root + "/homes/.own", Prefixes: []string{root + "/"}}
		look := func() map[string]check.Check {
			t.Helper()
			checks, err := node.Check(t.Context(), n, spec)
			if err != nil || len(checks) != 8 {
				t.Fatalf("Check: %v, %v", checks, err)
			}
			found := map[string]check.Check{}
			for _, c := range checks {
				found[c.ID] = c
				if (c.Status == check.Fail || c.Status == check.Warn) == (c.Remedy == "") || c.Title == "" || c.Evidence == "" {
					t.Errorf("%+v", c)
				}
			}
			return found
		}
		expect := func(found map[string]check.Check, id string, status check.Status, evidence string) {
			t.Helper()
			if c := found[id]; c.Status != status || !strings.Contains(c.Evidence, evidence) {
				t.Errorf("%s: %+v, want %s and %q", id, c, status, evidence)
			}
		}
		found := look()
		expect(found, "root", check.Fail, "is not there")
		for _, id := range []string{"directories", "filesystem", "space"} {
			expect(found, id, check.Skip, "because root")
		}
		if _, err := node.Prepare(t.Context(), n, layout(root)); err != nil {
			t.Fatal(err)
		}
		found = look()
		for _, id := range []string{"tools", "clock", "root", "prefix", "directories", "probe", "space"} {
			expect(found, id, check.Pass, "")
		}
		expect(found, "probe", check.Pass, "locking files")
		if left, err := os.ReadDir(dir + "/homes/.own"); err != nil || len(left) != 0 {
			t.Errorf("the probe left %v, %v", left, err)
		}
		for _, step := range []struct {
			change func() error
			id     string
			want   string
		}{
			{func() error { return os.Chmod(dir+"/skills", 0o777) }, "directories", "mode 0777"},
			{func() error { return os.Chown(dir+"/skills", 1234, 0) }, "directories", "user 1234"},
			{func() error { return os.RemoveAll(dir + "/skills") }, "directories", "not there"},
			{func() error { return os.WriteFile(dir+"/skills", nil, 0o600) }, "directories", "no directory"},
			{func() error { return errors.Join(os.Remove(dir+"/skills"), os.Symlink("/etc", dir+"/skills")) }, "directories", "a link"},
		} {
			if os.Getuid() != 0 {
				break
			}
			if err := step.change(); err != nil {
				t.Fatal(err)
			}
			expect(look(), step.id, check.Fail, step.want)
		}
		// Homes that are a link: nothing is tried where it leads to.
		outside := dir + "-outside"
		old := time.Unix(1e9, 0)
		err := errors.Join(os.Rename(dir+"/homes", outside), os.Symlink(outside, dir+"/homes"), os.Chtimes(outside+"/.own", old, old))
		if err != nil {
			t.Fatal(err)
		}
		look()
		if info, err := os.Stat(outside + "/.own"); err != nil || !info.ModTime().Equal(old) {
			t.Errorf("behind the link something was made: %v, %v", info, err)
		}
	})
}
