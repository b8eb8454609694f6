package cmd_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// TestCreateThroughCubeAPI is the way where no CubeMaster is configured. CubeAPI
// does not give the annotation back: the stored request is compared.
func TestCreateThroughCubeAPI(t *testing.T) {
	t.Parallel()
	image := "registry.example/team/app@sha256:" + strings.Repeat("a", 64)
	var made atomic.Int32
	mux := http.NewServeMux()
	say := func(pattern string, status int, text func() string) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("X-API-Key") != "key-of-a-test" {
				t.Errorf("%s: no key", pattern)
			}
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			io.WriteString(w, text()) //nolint:errcheck // the client then fails
		})
	}
	say("POST /templates", http.StatusAccepted, func() string {
		made.Add(1)
		return `{"jobID":"j","templateID":"tpl-api","status":"PENDING","phase":"","progress":0}`
	})
	say("GET /templates/tpl-api/builds/j/status", http.StatusOK, func() string {
		return `{"buildID":"j","templateID":"tpl-api","status":"ready","progress":100,"message":"READY"}`
	})
	say("GET /templates", http.StatusOK, func() string {
		if made.Load() == 0 {
			return "[]"
		}
		return `[{"templateID":"tpl-api","status":"READY","imageInfo":"` + image + `","names":["hermes-studio"]}]`
	})
	say("GET /templates/tpl-api", http.StatusOK, func() string {
		return `{"templateID":"tpl-api","status":"READY","createRequest":{"annotations":{"com.exposed_ports":"9000:49983"},"containers":[{
			"image":{"image":"rfs-1","writable_layer_size":"20Gi"},"resources":{"cpu":"2000m","mem":"4096Mi"},
			"probe":{"probe_handler":{"http_get":{"path":"/health","port":49983}}}}]}}`
	})
	say("GET /v2/sandboxes", http.StatusOK, func() string { return "[]" })
	server := httptest.NewServer(mux)
	defer server.Close()
	env := []string{"CUBE_API_URL=" + server.URL, "CUBE_API_KEY=key-of-a-test"}
	for range 2 {
		got := hermesbox(t, env, "template", "create", "--image", image)
		if got.code != 0 || got.stdout != "tpl-api\n" || made.Load() != 1 {
			t.Errorf("exit code %d, %q, %d made\n%s", got.code, got.stdout, made.Load(), got.stderr)
		}
	}
	if got := hermesbox(t, env, "template", "create", "--image", image, "--memory", "1024"); got.code != 0 || made.Load() != 2 || !strings.Contains(got.stderr, "another size of CPU or memory") {
		t.Errorf("other memory: exit code %d, %d made\n%s", got.code, made.Load(), got.stderr)
	}
}
