package buildctx_test

import (
	"archive/tar"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hermesbox/hermesbox/buildctx"
)

// oddFiles make what is no file at a path. Opening some would wait for ever.
var oddFiles = map[string]func(t *testing.T, path string) error{
	"it is a fifo": func(_ *testing.T, path string) error { return mkfifo(path) },
	"it is a dir":  func(_ *testing.T, path string) error { return os.Mkdir(path, 0o755) },
	"it is a socket": func(t *testing.T, path string) error {
		l, err := net.Listen("unix", path)
		if err == nil {
			t.Cleanup(func() { _ = l.Close() })
		}
		return err
	},
}

func TestIgnoreFileThatIsNone(t *testing.T) {
	t.Parallel()
	for want, plantOdd := range oddFiles {
		for _, name := range []string{".dockerignore", "D.dockerignore"} {
			t.Run(want+" "+name, func(t *testing.T) {
				t.Parallel()
				root := plant(t, map[string]string{"f": ""})
				if err := plantOdd(t, filepath.Join(root, name)); err != nil {
					t.Fatal(err)
				}
				_, err := buildctx.Load(t.Context(), root, buildctx.Options{Dockerfile: filepath.Join(root, "D")})
				checkIgnoreError(t, err, name, want)
			})
		}
	}
	root := plant(t, map[string]string{"f": ""})
	if err := os.Symlink("/dev/null", filepath.Join(root, "D.dockerignore")); err != nil {
		t.Fatal(err)
	}
	_, err := buildctx.Load(t.Context(), root, buildctx.Options{Dockerfile: filepath.Join(root, "D")})
	checkIgnoreError(t, err, "D.dockerignore", "it is a device")
	_, err = buildctx.Load(t.Context(), root, buildctx.Options{Dockerfile: filepath.Join(root, "f/D")})
	checkIgnoreError(t, err, "f/D.dockerignore", "not a directory")
}

func TestNamesOfIgnoreFilesAreQuoted(t *testing.T) {
	t.Parallel()
	root := plant(t, map[string]string{"f": "", "D\x1bc.dockerignore": "[a"})
	_, err := buildctx.Load(t.Context(), root, buildctx.Options{Dockerfile: filepath.Join(root, "D\x1bc")})
	if err == nil || !strings.Contains(err.Error(), `D\x1bc.dockerignore", line 1: pattern "[a"`) {
		t.Errorf("got %q", err)
	}
}

func checkIgnoreError(t *testing.T, err error, file, want string) {
	t.Helper()
	var ignoreErr *buildctx.IgnoreError
	if !errors.As(err, &ignoreErr) || !strings.HasSuffix(ignoreErr.File, file) || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v", err)
	}
}

// TestIgnoreFileBehindLinks has the ignore file elsewhere in the source, on disk and in a tar.
func TestIgnoreFileBehindLinks(t *testing.T) {
	t.Parallel()
	outside := plant(t, map[string]string{"i": "x"})
	tests := []struct {
		name  string
		files map[string]string
		gone  bool
		warn  bool
	}{
		{"beside it", map[string]string{".dockerignore": "->./d/i"}, true, false},
		{"through a link", map[string]string{".dockerignore": "->l/i", "l": "->d"}, true, false},
		{"upwards inside", map[string]string{".dockerignore": "->d/../d/i"}, true, false},
		{"upwards behind a link", map[string]string{".dockerignore": "->l/../i", "l": "->d/e", "d/e/": ""}, true, false},
		{"the root is the top", map[string]string{".dockerignore": "->../../d/i"}, true, false},
		{"the root is that of an absolute target", map[string]string{".dockerignore": "->/d/i"}, true, false},
		{"a chain", map[string]string{".dockerignore": "->a", "a": "->b", "b": "->d/i"}, true, false},
		{"outside", map[string]string{".dockerignore": "->" + outside + "/i"}, false, true},
		{"outside through a link", map[string]string{".dockerignore": "->l/i", "l": "->" + outside}, false, true},
		{"nowhere", map[string]string{".dockerignore": "->i"}, false, true},
		{"below a file", map[string]string{".dockerignore": "->x/i"}, false, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			root := plant(t, map[string]string{"d/i": "x", "x": "", "f": ""})
			plantIn(t, root, tt.files)
			checkIgnored(t, load(t, root, buildctx.Options{}), tt.gone, tt.warn)
			members := []member{file("d/i", "x"), file("x", ""), file("f", "")}
			for name, content := range tt.files {
				m := of(tar.TypeDir, name)
				if target, ok := strings.CutPrefix(content, "->"); ok {
					m = member{tar.Header{Name: name, Typeflag: tar.TypeSymlink, Linkname: target}, ""}
				}
				members = append(members, m)
			}
			checkIgnored(t, loadTar(t, forge(t, members...), buildctx.Options{}), tt.gone, tt.warn)
		})
	}
}

func checkIgnored(t *testing.T, tree *buildctx.Tree, gone, warn bool) {
	t.Helper()
	if got := slices.Contains(excluded(tree), left{"x", "x", "file"}); got != gone {
		t.Errorf("x is left out: %v", got)
	}
	if got := slices.Contains(warnings(tree.Receipt()), "ignore-file .dockerignore"); got != warn {
		t.Errorf("there is a warning: %v", got)
	}
}

func TestIgnoreFileBehindLinksInACircle(t *testing.T) {
	t.Parallel()
	root := plant(t, map[string]string{".dockerignore": "->a", "a": "->.dockerignore", "f": ""})
	_, err := buildctx.Load(t.Context(), root, buildctx.Options{})
	checkIgnoreError(t, err, ".dockerignore", "its links lead in a circle")
}

// TestDockerfileIgnoreBehindALink is read from where its user put it.
func TestDockerfileIgnoreBehindALink(t *testing.T) {
	t.Parallel()
	root := plant(t, map[string]string{"a": "", "b": ""})
	other := plant(t, map[string]string{"shared": "a", "x/My.dockerignore": "->../shared"})
	got := paths(load(t, root, buildctx.Options{Dockerfile: other + "/x/My"}))
	if diff := cmp.Diff([]string{"f b"}, got); diff != "" {
		t.Error(diff)
	}
}
