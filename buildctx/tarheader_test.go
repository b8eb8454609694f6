package buildctx

import (
	"archive/tar"
	"bytes"
	"strings"
	"testing"
	"time"
)

// FuzzHeader compares with the library's headers.
func FuzzHeader(f *testing.F) {
	long := strings.Repeat("long/", 19)
	for _, name := range []string{"f", long + "12345", long + "123456", long + long + "f", "ü", "bad\xff", "new\nline", strings.Repeat("n", 101)} {
		f.Add(name, "target", byte(0), int64(0), uint32(0))
		f.Add(name, name, byte(1), int64(7), uint32(1<<28))
		f.Add(name, "", byte(2), int64(1<<33-1), uint32(7))
		f.Add(name, "", byte(2), int64(1<<33), uint32(7))
	}
	f.Fuzz(func(t *testing.T, name, target string, kind byte, size int64, seconds uint32) {
		if name == "" || strings.HasSuffix(name, "/") || strings.Contains(name+target, "\x00") || size < 0 {
			return
		}
		e := Entry{Path: name, Mode: 0o644, ModTime: time.Unix(firstSecond+int64(seconds), 5)}
		switch kind % 3 {
		case 0:
			e.Kind = Dir
		case 1:
			e.Kind, e.Linkname = Link, target
		default:
			e.Kind, e.Size = File, size
		}
		var want bytes.Buffer
		theirErr := tar.NewWriter(&want).WriteHeader(header(e))
		got, err := appendHeader(nil, e)
		if (err == nil) != (theirErr == nil) || err == nil && !bytes.Equal(got, want.Bytes()) {
			t.Errorf("%+v: %v, the library says %v:\n%q\n%q", e, err, theirErr, got, want.Bytes())
		}
	})
}
