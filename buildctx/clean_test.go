package buildctx_test

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hermesbox/hermesbox/buildctx"
)

func TestCleanTar(t *testing.T) {
	t.Parallel()
	when := time.Unix(1_700_000_000, 123_000_000)
	mac := member{tar.Header{
		Name: "f", Typeflag: tar.TypeReg, Mode: 0o4750, Uid: 501, Gid: 20, Uname: "me", ModTime: when, Format: tar.FormatPAX,
		PAXRecords: map[string]string{
			"SCHILY.xattr.com.apple.provenance": "\x01\x00", "LIBARCHIVE.xattr.com.apple.provenance": "AQA",
			"LIBARCHIVE.creationtime": "1", "SCHILY.xattr.user.x": "y", "VENDOR.kept": "yes",
		},
	}, "content"}
	data := forge(t,
		of(tar.TypeDir, "./"), file("._f", appleDouble(4096)), mac, file("._SUCCESS.crc", "crc"), file("a/.DS_Store", "x"),
		file("__MACOSX/._f", "x"), of(tar.TypeDir, "__MACOSX"), hard("g", "f"), of(tar.TypeSymlink, "l"), of(tar.TypeFifo, "p"),
		of(tar.TypeChar, "null"), hard("._h", "._f"), file("/absolute", "a"), file("../up", "b"), file("d/.Trashes", "kept"), file(".Trashes/x", "gone"),
	)
	var out bytes.Buffer
	receipt, err := buildctx.CleanTar(t.Context(), bytes.NewReader(data), &out)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"./", "f", "._SUCCESS.crc", "g", "l", "p", "null", "/absolute", "../up", "d/.Trashes"}
	headers := readTar(t, out.Bytes())
	var got []string
	for _, h := range headers {
		got = append(got, h.Name)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	f := headers[1]
	if f.Mode != 0o4750 || f.Uid != 501 || f.Uname != "me" || !f.ModTime.Equal(when) || f.content != "content" {
		t.Errorf("f has become %+v", f)
	}
	keys := slices.Sorted(maps.Keys(f.PAXRecords))
	if diff := cmp.Diff([]string{"VENDOR.kept", "mtime"}, keys); diff != "" {
		t.Error(diff)
	}
	var gone []string
	for _, e := range receipt.Excluded {
		gone = append(gone, e.Kind+" "+e.Path)
	}
	wantGone := []string{"file ._f", "file ._h", "dir .Trashes", "dir __MACOSX", "file a/.DS_Store"}
	slices.Sort(wantGone)
	slices.Sort(gone)
	if diff := cmp.Diff(wantGone, gone); diff != "" || receipt.Digest != "" {
		t.Errorf("digest %q, %s", receipt.Digest, diff)
	}
	if diff := cmp.Diff([]string{"look-alike ._SUCCESS.crc", "xattr f"}, warnings(receipt)); diff != "" {
		t.Error(diff)
	}
	var twice bytes.Buffer
	if _, err := buildctx.CleanTar(t.Context(), bytes.NewReader(gzipped(t, out.Bytes())), &twice); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(out.Bytes(), twice.Bytes()) {
		t.Error("cleaning a clean tar changes it")
	}
}

type readMember struct {
	*tar.Header
	content string
}

func readTar(t testing.TB, data []byte) []readMember {
	t.Helper()
	var all []readMember
	r := tar.NewReader(bytes.NewReader(data))
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, readMember{h, string(content)})
	}
}

// TestCleanTarKeepsTimes has the times of access and change, which each format keeps in its own way.
func TestCleanTarKeepsTimes(t *testing.T) {
	t.Parallel()
	when := time.Unix(1_700_000_000, 0)
	for _, format := range []tar.Format{tar.FormatGNU, tar.FormatPAX} {
		m := file("f", "x")
		m.Format, m.ModTime, m.AccessTime, m.ChangeTime = format, when, when.Add(time.Hour), when.Add(2*time.Hour)
		var out bytes.Buffer
		if _, err := buildctx.CleanTar(t.Context(), bytes.NewReader(forge(t, file("._f", appleDouble(163)), m)), &out); err != nil {
			t.Fatal(err)
		}
		got := readTar(t, out.Bytes())[0]
		if !got.ModTime.Equal(m.ModTime) || !got.AccessTime.Equal(m.AccessTime) || !got.ChangeTime.Equal(m.ChangeTime) || got.Format != format {
			t.Errorf("%v: got %+v", format, got.Header)
		}
	}
}

// TestSlashBehindAFile has members that are no directories and are named like ones.
func TestSlashBehindAFile(t *testing.T) {
	t.Parallel()
	data := forge(t, file("d", "content"), of(tar.TypeFifo, "p"), file("f", ""))
	data = patch(data, 1, '/') // the name is d/ now
	data = append(data[:1024:1024], patch(data[1024:], 1, '/')...)
	var out bytes.Buffer
	receipt, err := buildctx.CleanTar(t.Context(), bytes.NewReader(data), &out)
	if err != nil {
		t.Fatal(err)
	}
	got := readTar(t, out.Bytes())
	if len(got) != 3 || got[0].Name != "d" || got[0].content != "content" || got[1].Name != "p" || got[1].Typeflag != tar.TypeFifo {
		t.Errorf("got %+v", got)
	}
	if diff := cmp.Diff([]string{"name d", "name p"}, warnings(receipt)); diff != "" {
		t.Error(diff)
	}
	tree := loadTar(t, data, buildctx.Options{Exclude: []string{"p"}})
	if diff := cmp.Diff([]string{"f d", "f f"}, paths(tree)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"name d"}, warnings(tree.Receipt())); diff != "" {
		t.Error(diff)
	}
	root := patch(forge(t, file("d", "content")), 0, '/')
	if _, err := buildctx.CleanTar(t.Context(), bytes.NewReader(root), io.Discard); err == nil || !strings.Contains(err.Error(), `"/" is no name`) {
		t.Errorf("got %v", err)
	}
}

func TestCleanTarErrors(t *testing.T) {
	t.Parallel()
	good := forge(t, file("._f", appleDouble(4096)), file("g", strings.Repeat("x", 2000)))
	for name, tt := range map[string]struct {
		data []byte
		want string
	}{
		"no tar":                {[]byte("hello"), "the input is no tar"},
		"empty":                 {nil, "it is empty"},
		"cut in the content":    {good[:512+4096+512+100], "cut short"},
		"cut in what is read":   {good[:600], "cut short"},
		"cut before the end":    {good[:len(good)-1024], "cut short"},
		"a hard link to litter": {forge(t, file("._f", appleDouble(163)), hard("g", "._f")), `"g" is a hard link to "._f", which is litter`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := buildctx.CleanTar(t.Context(), bytes.NewReader(tt.data), io.Discard)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func FuzzCleanTar(f *testing.F) {
	f.Add(forge(f, file("._f", appleDouble(163)), file("f", "x"), hard("g", "f")))
	f.Add(forge(f, member{tar.Header{Name: "f", Typeflag: tar.TypeReg, PAXRecords: map[string]string{"SCHILY.xattr.a": "b", "X.y": "z"}}, "x"}))
	f.Fuzz(func(t *testing.T, data []byte) {
		var out, twice bytes.Buffer
		if _, err := buildctx.CleanTar(t.Context(), bytes.NewReader(data), &out); err != nil {
			return
		}
		receipt, err := buildctx.CleanTar(t.Context(), bytes.NewReader(out.Bytes()), &twice)
		if err != nil || len(receipt.Excluded) > 0 {
			t.Fatalf("the clean tar: %+v, %v", receipt, err)
		}
		if !bytes.Equal(out.Bytes(), twice.Bytes()) {
			t.Error("cleaning a clean tar changes it")
		}
	})
}
