package buildctx_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hermesbox/hermesbox/buildctx"
)

// plant makes a tree of files: a path that ends in a slash is a directory, a content that begins with -> a link.
func plant(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	plantIn(t, root, files)
	return root
}

func plantIn(t *testing.T, root string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		switch {
		case name[len(name)-1] == '/':
			err = os.MkdirAll(path, 0o755)
		case len(content) > 2 && content[:2] == "->":
			err = os.Symlink(content[2:], path)
		default:
			err = os.WriteFile(path, []byte(content), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func load(t *testing.T, dir string, opts buildctx.Options) *buildctx.Tree {
	t.Helper()
	tree, err := buildctx.Load(t.Context(), dir, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := tree.Close(); err != nil {
			t.Error(err)
		}
	})
	return tree
}

func paths(tree *buildctx.Tree) []string {
	all := []string{}
	for e := range tree.Entries() {
		all = append(all, string(e.Kind)+" "+e.Path)
	}
	return all
}

func TestLoadOrdersByPathComponent(t *testing.T) {
	t.Parallel()
	root := plant(t, map[string]string{"a/b": "1", "a-b": "2", "a.b": "3", "a/-": "4", "empty/": "", "z": "->a/b"})
	want := []string{"d a", "f a/-", "f a/b", "f a-b", "f a.b", "d empty", "l z"}
	if diff := cmp.Diff(want, paths(load(t, root, buildctx.Options{}))); diff != "" {
		t.Error(diff)
	}
}

// digestScript computes the digest, version 1, from its description alone.
const digestScript = `
import hashlib, os, sys
root = os.fsencode(sys.argv[1])
def entries(rel):
    for name in os.listdir(os.path.join(root, rel)):
        path = os.path.join(rel, name)
        yield path
        full = os.path.join(root, path)
        if os.path.isdir(full) and not os.path.islink(full):
            yield from entries(path)
h = hashlib.sha256()
for path in sorted(entries(b""), key=lambda p: p.split(b"/")):
    full = os.path.join(root, path)
    if os.path.islink(full):
        head = b"l 0777 " + os.readlink(full)
    elif os.path.isdir(full):
        head = b"d 0755 -"
    else:
        mode = b"0755" if os.stat(full).st_mode & 0o100 else b"0644"
        head = b"f " + mode + b" " + hashlib.sha256(open(full, "rb").read()).hexdigest().encode()
    h.update(head + b"\0" + path + b"\0")
print("sha256:" + h.hexdigest(), end="")
`

func TestDigestIsWhatPythonComputes(t *testing.T) {
	t.Parallel()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is missing")
	}
	root := plant(t, map[string]string{
		"a/b": "1", "a-b": "22", "a/c/d": "", "empty/": "", "link": "->a/b", "bad\xff": "x", "new\nline": "y", "ü/é": "z",
	})
	if err := os.Chmod(filepath.Join(root, "a-b"), 0o700); err != nil {
		t.Fatal(err)
	}
	want, err := exec.CommandContext(t.Context(), python, "-c", digestScript, root).Output()
	if err != nil {
		t.Fatal(err)
	}
	if got := load(t, root, buildctx.Options{}).Digest(); got != string(want) {
		t.Errorf("digest %s, python says %s", got, want)
	}
}

func TestManifestPassesSha256sum(t *testing.T) {
	t.Parallel()
	tool, err := exec.LookPath("sha256sum")
	if err != nil {
		t.Skip("sha256sum is missing")
	}
	root := plant(t, map[string]string{
		"a/b": "1", "back\\slash": "2", "new\nline": "3", "return\r": "4", " space ": "5", "bad\xff": "6", "*star": "7",
	})
	var manifest bytes.Buffer
	if err := load(t, root, buildctx.Options{}).WriteManifest(&manifest); err != nil {
		t.Fatal(err)
	}
	if lines := bytes.Count(manifest.Bytes(), []byte("\n")); lines != 7 {
		t.Errorf("%d lines for 7 files:\n%s", lines, manifest.Bytes())
	}
	cmd := exec.CommandContext(t.Context(), tool, "--check", "--strict", "-")
	cmd.Dir, cmd.Stdin = root, &manifest
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("sha256sum --check: %v\n%s", err, out)
	}
}

func TestEntriesCarryHashAndMode(t *testing.T) {
	t.Parallel()
	root := plant(t, map[string]string{"f": "hello"})
	for e := range load(t, root, buildctx.Options{}).Entries() {
		want := sha256.Sum256([]byte("hello"))
		if e.SHA256 != want || e.Size != 5 || e.Mode != 0o644 {
			t.Errorf("got %s %d %v", hex.EncodeToString(e.SHA256[:]), e.Size, e.Mode)
		}
		if y := e.ModTime.Year(); y < 2001 || y > 2009 {
			t.Errorf("time %v is outside 2001 to 2009", e.ModTime)
		}
	}
}

func hexOf(e buildctx.Entry) string { return hex.EncodeToString(e.SHA256[:]) }
