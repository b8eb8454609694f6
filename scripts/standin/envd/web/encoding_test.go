package web

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
)

func TestAcceptable(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		header, want string
		fails        bool
	}{
		{"", "", false},
		{"gzip", "gzip", false},
		{"GZIP; q=0.5, br", "gzip", false},
		{"gzip;q=0", "", false},
		{"gzip;q=0.5, identity", "", false},
		{"*", "", false},
		{"br, deflate", "", false},
		{"identity;q=0, *", "gzip", false},
		{"identity;q=0, *;q=0.5, gzip;q=0.1", "gzip", false},
		{"identity;q=0, br", "", true},
		{"identity;q=0, gzip;q=0", "", true},
		{"gzip;q=nonsense", "gzip", false},
	} {
		got, err := acceptable(test.header)
		if got != test.want || (err != nil) != test.fails {
			t.Errorf("acceptable(%q) = %q, %v", test.header, got, err)
		}
	}
}

func FuzzAcceptable(f *testing.F) {
	for _, seed := range []string{"", "gzip", "identity;q=0, *", ";;q=,", "gzip;q=NaN", "*;q=1e400"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, header string) {
		got, err := acceptable(header)
		if got != "" && got != "gzip" || got != "" && err != nil {
			t.Errorf("acceptable(%q) = %q, %v", header, got, err)
		}
	})
}

func TestRangesAreNotPacked(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"Range", "If-Modified-Since", "If-None-Match", "If-Range"} {
		h := http.Header{"Accept-Encoding": {"gzip"}}
		h.Set(name, "x")
		if got, err := wantsGzip(h); got || err != nil {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

// TestUnreadable: a file that cannot be read to its end must not look whole.
func TestUnreadable(t *testing.T) {
	t.Parallel()
	dir, err := os.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	defer func() {
		if err, ok := recover().(error); !ok || !errors.Is(err, http.ErrAbortHandler) {
			t.Errorf("recovered %v", err)
		}
	}()
	serveGzip(httptest.NewRecorder(), "x", dir)
}
