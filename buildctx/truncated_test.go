package buildctx_test

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/hermesbox/hermesbox/buildctx"
)

// wholeTars are tars in every format, with what may stand before a member and with zeros where an end marker might be
// seen in them.
func wholeTars(t *testing.T) map[string][]byte {
	t.Helper()
	zeros, pad := strings.Repeat("\x00", 1024), strings.Repeat("n", 200)
	members := func(format tar.Format, names ...string) []byte {
		var all []member
		for i, name := range names {
			m := file(name, []string{zeros, "content", ""}[i%3])
			m.Format = format
			all = append(all, m)
		}
		return forge(t, all...)
	}
	all := map[string][]byte{
		"ustar": members(tar.FormatUSTAR, "zeros", "f", "._f", "empty", ".DS_Store"),
		"pax":   members(tar.FormatPAX, pad, ".DS_Store", "d/"+pad+"/"+pad+"/x", "._"+pad, "ü", "d/__MACOSX/"+pad),
		// The record of the second name is a block of zeros at its end: 512 bytes and a NUL.
		"gnu": members(tar.FormatGNU, pad, strings.Repeat("d/", 156)+pad, ".DS_Store", "__MACOSX/"+pad, "f"),
	}
	for _, format := range []string{"ustar", "pax", "gnu", "oldgnu", "v7"} {
		args := []string{"--format=" + format, "--blocking-factor=1", "--sparse", "-C", hermes(t), "--exclude=long", "-cf", "-", "."}
		data, err := exec.CommandContext(t.Context(), "tar", args...).Output()
		if err != nil {
			t.Logf("tar: %v", err)
			continue
		}
		all["tar's "+format] = data
	}
	return all
}

// tarReaders are the ways a tar is read.
func tarReaders(t *testing.T) map[string]func(data []byte) error {
	opts := buildctx.Options{Exclude: []string{"!**"}}
	return map[string]func(data []byte) error{
		"LoadTar": func(data []byte) error {
			tree, err := buildctx.LoadTar(t.Context(), bytes.NewReader(data), opts)
			if err != nil {
				return err
			}
			return tree.Close()
		},
		"ExplainTar": func(data []byte) error {
			_, err := buildctx.ExplainTar(t.Context(), bytes.NewReader(data), "f", opts)
			var pathErr *buildctx.PathError
			if errors.As(err, &pathErr) && pathErr.Path == "f" {
				return nil // not every one of the tars has an f
			}
			return err
		},
		"CleanTar": func(data []byte) error {
			_, err := buildctx.CleanTar(t.Context(), bytes.NewReader(data), io.Discard)
			return err
		},
	}
}

// TestTarIsCutAnywhere cuts tars at every block and beside it. Half an end marker is enough, as for GNU tar and Docker.
func TestTarIsCutAnywhere(t *testing.T) {
	t.Parallel()
	for name, data := range wholeTars(t) {
		end := len(bytes.TrimRight(data, "\x00")) // no tar here ends in a content of zeros
		end += -end & 511
		for how, read := range tarReaders(t) {
			t.Run(name+" "+how, func(t *testing.T) {
				t.Parallel()
				for at := 512; at <= len(data); at += 512 {
					for _, cut := range []int{at - 511, at - 256, at - 1, at} {
						if err := checkCut(read(data[:cut]), cut, end); err != nil {
							t.Errorf("cut at %d of %d: %v", cut, len(data), err)
						}
					}
				}
			})
		}
	}
}

func checkCut(err error, cut, end int) error {
	whole := cut >= end+512 && cut%512 == 0 || cut >= end+1024
	switch {
	case whole && err != nil:
		return fmt.Errorf("a whole tar gives %w", err)
	case whole, errors.Is(err, buildctx.ErrTruncated), cut < 512 && errors.Is(err, buildctx.ErrNotTar):
		return nil
	}
	return fmt.Errorf("got %w", err)
}

// TestOnlyWhatIsCutIsCalledSo has a sparse map that says more than its member holds.
func TestOnlyWhatIsCutIsCalledSo(t *testing.T) {
	t.Parallel()
	sparse := member{tar.Header{Name: "s", Typeflag: tar.TypeReg, Format: tar.FormatPAX, PAXRecords: map[string]string{
		"XXX.sparse.major": "1", "XXX.sparse.minor": "0", "XXX.sparse.name": "s", "XXX.sparse.realsize": "9",
	}}, "9\n0\n1\n"}
	// The library writes no such records, so their names are mended afterwards.
	data := bytes.ReplaceAll(forge(t, file("f", "x"), sparse, file("g", "")), []byte("XXX."), []byte("GNU."))
	for name, read := range tarReaders(t) {
		if err := read(data); err == nil || errors.Is(err, buildctx.ErrTruncated) || !strings.Contains(err.Error(), "contradict its size") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestGzipEnds(t *testing.T) {
	t.Parallel()
	good := forge(t, file("f", "content"))
	zipped := gzipped(t, good)
	two := append(gzipped(t, good[:700]), gzipped(t, good[700:])...)
	for name, tt := range map[string]struct {
		data []byte
		want []string
		is   error
	}{
		"zeros behind it":      {append(slices.Clone(zipped), make([]byte, 5)...), []string{}, nil},
		"many zeros behind it": {append(slices.Clone(zipped), make([]byte, 20<<10)...), []string{}, nil},
		"junk behind it":       {append(slices.Clone(zipped), "x"...), []string{"trailing-data -"}, nil},
		"junk behind zeros":    {append(slices.Clone(zipped), append(make([]byte, 5000), 'x')...), []string{"trailing-data -"}, nil},
		"two members":          {two, []string{}, nil},
		"half the marker":      {append(gzipped(t, good[:len(good)-512]), make([]byte, 100)...), []string{}, nil},
		"a member cut":         {two[:len(two)-5], nil, buildctx.ErrTruncated},
		"a member's head":      {append(slices.Clone(zipped), gzipMagic...), nil, buildctx.ErrTruncated},
		"a member's bad head":  {append(slices.Clone(zipped), gzipMagic+"xxxxxxxxxxxx"...), nil, nil},
		"no marker":            {gzipped(t, good[:len(good)-1024]), nil, buildctx.ErrTruncated},
		"nothing in it":        {gzipped(t, nil), nil, buildctx.ErrNotTar},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tree, err := buildctx.LoadTar(t.Context(), bytes.NewReader(tt.data), buildctx.Options{})
			if tt.want == nil {
				if err == nil || tt.is != nil && !errors.Is(err, tt.is) {
					t.Errorf("got %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := warnings(tree.Receipt()); !slices.Equal(got, tt.want) {
				t.Errorf("warnings %q", got)
			}
			if err := tree.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

const gzipMagic = "\x1f\x8b"

func TestTarErrorsSayWhatWasDone(t *testing.T) {
	t.Parallel()
	good := forge(t, file("f", "content"))
	for name, data := range map[string][]byte{
		"cut": good[:1024], "no tar": []byte("hello"), "a bad name": forge(t, file("../x", "")), "empty": forge(t, of(tar.TypeDir, "d/")),
		"a fifo": forge(t, of(tar.TypeFifo, "p")), "no gzip": []byte("\x1f\x8bxxxxxxxxxx"),
	} {
		for how, read := range tarReaders(t) {
			err := read(data)
			if want := map[string]string{"CleanTar": "cleaning tar: "}[how]; err != nil && !strings.HasPrefix(err.Error(), or(want, "reading tar: ")) {
				t.Errorf("%s, %s: %v", name, how, err)
			}
		}
	}
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
