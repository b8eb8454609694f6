package localcube_test

import (
	"compress/gzip"
	"encoding/json"
	"net/http"
	"testing"

	"github.com/hermesbox/hermesbox/internal/localcube"
)

// TestCompressed wants answers compressed for clients that take it, but for those of a few bytes.
func TestCompressed(t *testing.T) {
	t.Parallel()
	st := serve(t, localcube.Options{})
	for path, want := range map[string]string{"/sandboxes/unknown": "gzip", "/health": ""} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, st.APIURL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Accept-Encoding", "gzip, deflate")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if got := resp.Header.Get("Content-Encoding"); got != want {
			t.Errorf("%s is encoded as %q, want %q", path, got, want)
		}
		if want == "gzip" {
			var answer struct{ Code int }
			z, err := gzip.NewReader(resp.Body)
			if err == nil {
				err = json.NewDecoder(z).Decode(&answer)
			}
			if err != nil || answer.Code != http.StatusNotFound {
				t.Errorf("%s: %+v, %v", path, answer, err)
			}
		}
		if err := resp.Body.Close(); err != nil {
			t.Error(err)
		}
	}
}
