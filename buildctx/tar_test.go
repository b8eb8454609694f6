package buildctx_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hermesbox/hermesbox/buildctx"
)

// member is a tar member to forge.
type member struct {
	tar.Header
	content string
}

func file(name, content string) member {
	return member{tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o644}, content}
}

func paxHeader(name, key, value string) tar.Header {
	return tar.Header{Name: name, Typeflag: tar.TypeReg, Format: tar.FormatPAX, PAXRecords: map[string]string{key: value}}
}

func hard(name, target string) member {
	return member{tar.Header{Name: name, Typeflag: tar.TypeLink, Linkname: target}, ""}
}

func of(kind byte, name string) member {
	return member{tar.Header{Name: name, Typeflag: kind, Mode: 0o755, Linkname: map[byte]string{tar.TypeSymlink: "f"}[kind]}, ""}
}

func forge(t testing.TB, members ...member) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, m := range members {
		m.Size = int64(len(m.content))
		if err := w.WriteHeader(&m.Header); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, m.content); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func loadTar(t testing.TB, data []byte, opts buildctx.Options) *buildctx.Tree {
	t.Helper()
	tree, err := buildctx.LoadTar(t.Context(), bytes.NewReader(data), opts)
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

// hermes is a source tree with something of everything.
func hermes(t *testing.T) string {
	t.Helper()
	root := plant(t, map[string]string{
		"tools/model.py": "m", "tools/._model.py": appleDouble(163), ".DS_Store": "x", "a/b/c": "c", "a-b": "d", "empty/": "",
		"link": "->tools/model.py", ".git/config": "", "hermesbox.yaml": "", "a/x.pyc": "", ".dockerignore": "**/*.pyc\n",
		"bad\xff": "b", "new\nline": "n", strings.Repeat("long/", 60) + "f": "l", "ü": "u", "a/._SUCCESS.crc": "s",
	})
	if err := os.Chmod(filepath.Join(root, "a-b"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(filepath.Join(root, "a/b/c"), filepath.Join(root, "hard")); err != nil {
		t.Fatal(err)
	}
	return root
}

func TestTarGivesTheDirectorysDigest(t *testing.T) {
	t.Parallel()
	root := hermes(t)
	want := load(t, root, buildctx.Options{})
	for name, args := range map[string][]string{
		"gnu": {"--format=gnu"}, "pax": {"--format=pax"}, "gzip": {"--gzip"}, "sorted": {"--sort=name"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data, err := exec.CommandContext(t.Context(), "tar", append(args, "-C", root, "-cf", "-", ".")...).Output()
			if err != nil {
				t.Skipf("tar: %v", err)
			}
			got := loadTar(t, data, buildctx.Options{})
			if diff := cmp.Diff(paths(want), paths(got)); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(want.Receipt(), got.Receipt()); diff != "" {
				t.Error(diff)
			}
			if got.Root() != "" {
				t.Errorf("root is %q", got.Root())
			}
			if content := readAll(t, got, "hard"); content != "c" {
				t.Errorf("the hard link holds %q", content)
			}
		})
	}
}

func TestBadTars(t *testing.T) {
	t.Parallel()
	good := forge(t, file("d/f", "content"), file("g", strings.Repeat("x", 2000)))
	zipped := gzipped(t, good)
	huge := member{tar.Header{Name: "huge", Typeflag: tar.TypeReg, Size: 1 << 40}, ""}
	var hugeTar bytes.Buffer
	if err := tar.NewWriter(&hugeTar).WriteHeader(&huge.Header); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		data []byte
		is   error  // or
		want string // a part of the message
	}{
		{"empty input", nil, buildctx.ErrNotTar, "it is empty"},
		{"text", []byte("hello"), buildctx.ErrNotTar, ""},
		{"long text", bytes.Repeat([]byte("hello"), 1000), buildctx.ErrNotTar, ""},
		{"zstd", []byte("\x28\xb5\x2f\xfdxxxxx"), buildctx.ErrNotTar, "it is zstd; decompress it first"},
		{"xz", []byte("\xfd7zXZ\x00xxx"), buildctx.ErrNotTar, "it is xz"},
		{"bzip2", []byte("BZh9xxxx"), buildctx.ErrNotTar, "it is bzip2"},
		{"zip", []byte("PK\x03\x04xxxx"), buildctx.ErrNotTar, "it is zip"},
		{"broken gzip", []byte("\x1f\x8bxxxxxxxxxxxxxxxxx"), nil, "reading gzip"},
		{"gzip header alone", []byte("\x1f\x8b\x08\x00xx"), buildctx.ErrTruncated, ""},
		{"no members", make([]byte, 1024), buildctx.ErrEmpty, ""},
		{"directories only", forge(t, of(tar.TypeDir, "d/")), buildctx.ErrEmpty, ""},
		{"cut in a header", good[:1100], buildctx.ErrTruncated, `at "d/f"`},
		{"cut in a content", good[:2000], buildctx.ErrTruncated, `at "g"`},
		{"cut between members", good[:1024], buildctx.ErrTruncated, `at "d/f"`},
		{"cut before the end marker", good[:len(good)-1024], buildctx.ErrTruncated, `at "g"`},
		{"gzip cut", zipped[:len(zipped)-20], buildctx.ErrTruncated, ""},
		{"gzip cut in its checksum", zipped[:len(zipped)-4], buildctx.ErrTruncated, ""},
		{"gzip with another checksum", append(slices.Clone(zipped[:len(zipped)-8]), 1, 2, 3, 4, 5, 6, 7, 8), gzip.ErrChecksum, ""},
		{"huge size", hugeTar.Bytes(), buildctx.ErrTruncated, `at "huge"`},
		{"upwards", forge(t, file("../x", "")), nil, `"../x" leads upwards in the tar`},
		{"upwards inside", forge(t, file("a/../../x", "")), nil, `"a/../../x" leads upwards in the tar`},
		{"upwards and back", forge(t, file("a/../x", "")), nil, `leads upwards`},
		{"absolute", forge(t, file("/etc/passwd", "")), nil, `"/etc/passwd" is an absolute name in the tar`},
		{"twice", forge(t, file("a", "1"), file("./a", "2")), nil, `"a" is in the tar twice`},
		{"file and link", forge(t, file("a", "1"), of(tar.TypeSymlink, "a")), nil, `"a" is in the tar twice`},
		{"file as a directory", forge(t, file("a", "1"), file("a/b", "2")), nil, `"a/b" is in the tar below "a", which is no directory there`},
		{"directory as a file", forge(t, file("a/b", "1"), file("a", "2")), nil, `"a" is a directory in the tar and something else too`},
		{"file for the root", forge(t, file(".", "1")), nil, `"." is no name`},
		{"long name", forge(t, file(strings.Repeat("n", 256), "")), nil, "has a part longer than 255 bytes"},
		{"long path", forge(t, file(strings.Repeat("n/", 2050)+"n", "")), nil, "is longer than 4095 bytes"},
		{"long target", forge(t, member{tar.Header{Name: "l", Typeflag: tar.TypeSymlink, Linkname: strings.Repeat("t", 5000)}, ""}), nil, "target of 5000 bytes"},
		{"character device", forge(t, file("f", ""), of(tar.TypeChar, "null")), nil, `"null" is a device`},
		{"block device", forge(t, file("f", ""), of(tar.TypeBlock, "sda")), nil, `"sda" is a device`},
		{"fifo", forge(t, file("f", ""), of(tar.TypeFifo, "pipe")), nil, `"pipe" is a named pipe`},
		{"hard link to nothing", forge(t, hard("a", "b")), nil, `"a" is a hard link to "b", which is no file of the tar`},
		{"hard link to a directory", forge(t, of(tar.TypeDir, "d/"), hard("a", "d")), nil, `"a" is a hard link to "d"`},
		{"hard links in a circle", forge(t, hard("a", "b"), hard("b", "a")), nil, `is a hard link that leads to itself`},
		{"ignore file", forge(t, file("f", ""), file(".dockerignore", "ok\n[a")), nil, `.dockerignore, line 2: pattern "[a"`},
		{"directory for an ignore file", forge(t, file("f", ""), of(tar.TypeDir, ".dockerignore")), nil, ".dockerignore: it is a dir, and no file"},
		{"odd type", patch(good, 156, 'M'), nil, "type 'M'"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := buildctx.LoadTar(t.Context(), bytes.NewReader(tt.data), buildctx.Options{})
			if err == nil || tt.is != nil && !errors.Is(err, tt.is) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %v, %s", err, tt.is, tt.want)
			}
		})
	}
}

// patch changes one byte of the first header and mends its checksum.
func patch(data []byte, at int, to byte) []byte {
	data = slices.Clone(data)
	data[at] = to
	copy(data[148:156], "        ")
	sum := 0
	for _, b := range data[:512] {
		sum += int(b)
	}
	copy(data[148:156], []byte{byte('0' + sum>>15&7), byte('0' + sum>>12&7), byte('0' + sum>>9&7), byte('0' + sum>>6&7), byte('0' + sum>>3&7), byte('0' + sum&7), 0, ' '})
	return data
}

func gzipped(t testing.TB, data []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestTarsThatAreFine(t *testing.T) {
	t.Parallel()
	pax := map[string]string{
		"SCHILY.xattr.com.apple.provenance": "\x01\x00", "LIBARCHIVE.xattr.com.apple.provenance": "AQA", "LIBARCHIVE.creationtime": "1",
		"LIBARCHIVE.xattr.com.apple.quarantine": "AQA", "SCHILY.xattr.user.x": "y",
	}
	mac := member{tar.Header{Name: "f", Typeflag: tar.TypeReg, PAXRecords: pax, Format: tar.FormatPAX}, "x"}
	suid := member{tar.Header{Name: "s", Typeflag: tar.TypeReg, Mode: 0o4755}, "x"}
	tests := []struct {
		name     string
		data     []byte
		opts     buildctx.Options
		want     []string
		warnings []string
	}{
		{"implied directories", forge(t, file("a/b/c", "x")), buildctx.Options{}, []string{"d a", "d a/b", "f a/b/c"}, nil},
		{"the directory after its file", forge(t, file("a/b", "x"), of(tar.TypeDir, "a/")), buildctx.Options{}, []string{"d a", "f a/b"}, nil},
		{"a directory twice", forge(t, of(tar.TypeDir, "a"), of(tar.TypeDir, "./a/"), file("f", "")), buildctx.Options{}, []string{"d a", "f f"}, nil},
		{"a root", forge(t, of(tar.TypeDir, "./"), file("./f", "")), buildctx.Options{}, []string{"f f"}, nil},
		{"litter before its file", forge(t, file("._x", appleDouble(163)), file("x", "y")), buildctx.Options{}, []string{"f x"}, nil},
		{"a hard link to litter is litter by content only", forge(t, file("._x", appleDouble(163)), hard("y", "./._x")), buildctx.Options{}, []string{"f y"}, []string{"apple-double y"}},
		{"a hard link before its file", forge(t, hard("a", "b"), file("b", "x")), buildctx.Options{}, []string{"f a", "f b"}, nil},
		{"a chain of hard links", forge(t, hard("a", "b"), hard("b", "c"), file("c", "x")), buildctx.Options{}, []string{"f a", "f b", "f c"}, nil},
		{"a hard link to a link", forge(t, file("f", "x"), of(tar.TypeSymlink, "l"), hard("m", "l")), buildctx.Options{}, []string{"f f", "l l", "l m"}, nil},
		{"attributes", forge(t, mac), buildctx.Options{}, []string{"f f"}, []string{"xattr f", "xattr f"}},
		{"setuid", forge(t, suid), buildctx.Options{}, []string{"f s"}, []string{"mode s"}},
		{"an excluded device", forge(t, file("f", ""), of(tar.TypeChar, "null")), buildctx.Options{Exclude: []string{"null"}}, []string{"f f"}, nil},
		{"an ignore file behind a link", forge(t, file("f", ""), file("i", "f"), member{tar.Header{Name: ".dockerignore", Typeflag: tar.TypeSymlink, Linkname: "./i"}, ""}), buildctx.Options{}, []string{"l .dockerignore", "f i"}, nil},
		{"a dangling ignore file", forge(t, file("f", ""), member{tar.Header{Name: ".dockerignore", Typeflag: tar.TypeSymlink, Linkname: "i"}, ""}), buildctx.Options{}, []string{"l .dockerignore", "f f"}, []string{"ignore-file .dockerignore", "link-dangling .dockerignore"}},
		{"a global header", forge(t, member{tar.Header{Name: "pax_global_header", Typeflag: tar.TypeXGlobalHeader, PAXRecords: map[string]string{"comment": "0123"}}, ""}, file("f", "")), buildctx.Options{}, []string{"f f"}, nil},
		{"padding", append(forge(t, file("f", "")), make([]byte, 8192)...), buildctx.Options{}, []string{"f f"}, nil},
		{"data behind the end", append(forge(t, file("f", "")), []byte("more")...), buildctx.Options{}, []string{"f f"}, []string{"trailing-data -"}},
		{"data behind a gzip", append(gzipped(t, forge(t, file("f", ""))), []byte("more data than a header")...), buildctx.Options{}, []string{"f f"}, []string{"trailing-data -"}},
		{"a content of zeros at the end", forge(t, file("f", strings.Repeat("\x00", 300<<10))), buildctx.Options{}, []string{"f f"}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tree := loadTar(t, tt.data, tt.opts)
			if diff := cmp.Diff(tt.want, paths(tree)); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(append([]string{}, tt.warnings...), warnings(tree.Receipt())); diff != "" {
				t.Error(diff)
			}
			for e := range tree.Entries() {
				if e.Kind == buildctx.File {
					readAll(t, tree, e.Path)
				}
			}
		})
	}
}

// TestTarOfALargeDirectory has more members in one directory than a short list serves.
func TestTarOfALargeDirectory(t *testing.T) {
	t.Parallel()
	for _, n := range []int{31, 32, 33, 100} {
		var members []member
		files := map[string]string{}
		for i := range n {
			name := fmt.Sprintf("d/f%03d", i*37%n)
			members = append(members, file(name, name))
			files[name] = name
		}
		if got, want := loadTar(t, forge(t, members...), buildctx.Options{}), load(t, plant(t, files), buildctx.Options{}); got.Digest() != want.Digest() {
			t.Errorf("%d files: got %q", n, paths(got))
		}
		for _, i := range []int{0, 31, n - 1} {
			twice := forge(t, append(slices.Clone(members), members[min(i, n-1)])...)
			if _, err := buildctx.LoadTar(t.Context(), bytes.NewReader(twice), buildctx.Options{}); err == nil || !strings.Contains(err.Error(), "is in the tar twice") {
				t.Errorf("%d files and member %d again: %v", n, i, err)
			}
		}
	}
}

func TestCutBehindZerosIsNoticed(t *testing.T) {
	t.Parallel()
	data := forge(t, file("f", strings.Repeat("\x00", 1024)))
	_, err := buildctx.LoadTar(t.Context(), bytes.NewReader(data[:512+1024]), buildctx.Options{})
	if !errors.Is(err, buildctx.ErrTruncated) {
		t.Errorf("got %v", err)
	}
}

// TestStalledInputCanBeInterrupted never writes to the pipe that is read.
func TestStalledInputCanBeInterrupted(t *testing.T) {
	t.Parallel()
	for name, read := range map[string]func(ctx context.Context, r io.Reader) error{
		"LoadTar": func(ctx context.Context, r io.Reader) error {
			_, err := buildctx.LoadTar(ctx, r, buildctx.Options{})
			return err
		},
		"CleanTar": func(ctx context.Context, r io.Reader) error {
			_, err := buildctx.CleanTar(ctx, r, io.Discard)
			return err
		},
		"ExplainTar": func(ctx context.Context, r io.Reader) error {
			_, err := buildctx.ExplainTar(ctx, r, "f", buildctx.Options{})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, w := io.Pipe()
			defer func() { _ = w.Close() }()
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			if err := read(ctx, r); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestSpoolFailure(t *testing.T) {
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "missing"))
	_, err := buildctx.LoadTar(t.Context(), bytes.NewReader(forge(t, file("f", ""))), buildctx.Options{})
	if err == nil || !strings.Contains(err.Error(), "making a spool file") {
		t.Errorf("got %v", err)
	}
}

func FuzzLoadTar(f *testing.F) {
	f.Add(forge(f, file("a/b", "x"), hard("c", "a/b"), of(tar.TypeSymlink, "l"), file("._a", appleDouble(163))))
	f.Add(gzipped(f, forge(f, file(".dockerignore", "*\n!a"), file("a", ""))))
	f.Add(forge(f, member{tar.Header{Name: "f", Typeflag: tar.TypeReg, PAXRecords: map[string]string{"SCHILY.xattr.a": "b"}}, "x"}))
	f.Fuzz(func(t *testing.T, data []byte) {
		tree, err := buildctx.LoadTar(t.Context(), bytes.NewReader(data), buildctx.Options{})
		if err != nil {
			return
		}
		defer func() { _ = tree.Close() }()
		var out bytes.Buffer
		if err := tree.WriteTar(t.Context(), &out); err != nil {
			t.Fatal(err)
		}
		// What the ignore file left out is gone from the tar, so reading it again leaves out the same.
		again, err := buildctx.LoadTar(t.Context(), &out, buildctx.Options{Keep: []string{".git", ".venv"}})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = again.Close() }()
		if diff := cmp.Diff(paths(tree), paths(again)); diff != "" && !slices.Contains(paths(tree), "f .dockerignore") {
			t.Error(diff)
		}
	})
}
