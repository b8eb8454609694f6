package web

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hermesbox/hermesbox/scripts/standin/envd/settings"
)

// newServer has the user of the test as default user.
func newServer(t *testing.T) *Server {
	t.Helper()
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	store := settings.New(false)
	if err := store.Apply(settings.Update{DefaultUser: &me.Username}); err != nil {
		t.Fatal(err)
	}
	s := New(store)
	s.Version = "1.2.3"
	return s
}

func ask(t *testing.T, s *Server, method, target, body string, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, target, strings.NewReader(body))
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

func TestRoutes(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.Mount("/a.B/", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }))
	for _, test := range []struct {
		method, path string
		code         int
		allow        string
	}{
		{"GET", "/health", 204, ""},
		{"POST", "/a.B/C", 418, ""},
		{"POST", "/a.B", 404, ""},
		{"POST", "/v1/a.B/C", 404, ""},
		{"GET", "/health/", 404, ""},
		{"GET", "//health", 404, ""},
		{"HEAD", "/health", 405, "GET"},
		{"DELETE", "/files", 405, "GET, POST"},
		{"BREW", "/health", 405, ""},
		{"GET", "/metrics", 200, ""},
	} {
		w := ask(t, s, test.method, test.path, "")
		if got := strings.Join(w.Header().Values("Allow"), ", "); w.Code != test.code || got != test.allow {
			t.Errorf("%s %s: %d, Allow %q; want %d, %q", test.method, test.path, w.Code, got, test.code, test.allow)
		}
	}
	if w := ask(t, s, "GET", "/health", "", "Authorization", "Basic bm9zdWNoOg=="); w.Code != 401 || !strings.Contains(w.Body.String(), "invalid username: 'nosuch'") {
		t.Errorf("unknown user: %d %s", w.Code, w.Body)
	}
}

func TestCORS(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	if err := s.settings.Apply(settings.Update{AccessToken: ptr("secret")}); err != nil {
		t.Fatal(err)
	}
	w := ask(t, s, "OPTIONS", "/files", "", "Origin", "http://a.test", "Access-Control-Request-Method", "PUT", "Access-Control-Request-Headers", "x-a")
	want := http.Header{
		"Vary":                         {"Origin, Access-Control-Request-Method, Access-Control-Request-Headers"},
		"Access-Control-Allow-Origin":  {"*"},
		"Access-Control-Allow-Methods": {"PUT"},
		"Access-Control-Allow-Headers": {"x-a"},
		"Access-Control-Max-Age":       {"7200"},
	}
	if diff := cmp.Diff(want, w.Header()); w.Code != 204 || diff != "" {
		t.Errorf("preflight: %d (-want +got):\n%s", w.Code, diff)
	}
	w = ask(t, s, "GET", "/envs", "", "Origin", "http://a.test")
	if w.Code != 401 || w.Header().Get("Access-Control-Allow-Origin") != "*" {
		t.Errorf("a refusal must be readable: %d %v", w.Code, w.Header())
	}
}

func ptr[T any](v T) *T { return &v }

func TestInit(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, body string
		code       int
	}{
		{"nothing", "", 204},
		{"object", `{"envVars":{"A":"1"},"nosuch":1}`, 204},
		{"cut off", `{"envVars":`, 400},
		{"wrong type", `{"envVars":{"A":1}}`, 400},
		{"empty token", `{"accessToken":""}`, 400},
	} {
		s := newServer(t)
		w := ask(t, s, "POST", "/init", test.body)
		if w.Code != test.code || w.Header().Get("X-Envd-Version") != "1.2.3" {
			t.Errorf("%s: %d %v", test.name, w.Code, w.Header())
		}
	}
	s := newServer(t)
	s.Old = true
	if w := ask(t, s, "POST", "/init", ""); w.Header().Get("X-Envd-Version") != "" {
		t.Errorf("0.5.13: %v", w.Header())
	}
	ask(t, s, "POST", "/init", `{"accessToken":"secret"}`)
	if w := ask(t, s, "POST", "/init", "{}"); w.Code != 401 || w.Body.String() != "access token reset not authorized" {
		t.Errorf("token missing: %d %s", w.Code, w.Body)
	}
}

// TestFileErrors: what is refused, and with which words.
func TestFileErrors(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir+"/file", "x")
	const octets = "application/octet-stream"
	for _, test := range []struct {
		name, method, query, body, header, value string
		code                                     int
		message                                  string
	}{
		{"missing", "GET", "path=" + dir + "/no", "", "", "", 404, "does not exist"},
		{"directory", "GET", "path=" + dir, "", "", "", 400, "is a directory"},
		{"below a file", "GET", "path=" + dir + "/file/x", "", "", "", 500, "error checking if path exists"},
		{"device", "GET", "path=/dev/null", "", "", "", 400, "is not a regular file"},
		{"other home", "GET", "path=~root", "", "", "", 400, "error expanding and resolving path '~root'"},
		{"user", "GET", "path=/&username=nosuch", "", "", "", 401, "unknown user nosuch"},
		{"empty user", "GET", "path=/&username=", "", "", "", 401, "error looking up user ''"},
		{"coding", "GET", "path=" + dir + "/file", "", "Accept-Encoding", "identity;q=0", 406, "no acceptable encoding"},
		{"expiration", "GET", "path=/&signature_expiration=x", "", "", "", 400, "Invalid format for parameter signature_expiration"},
		{"no type", "POST", "path=" + dir + "/n", "x", "", "", 400, "unsupported content type: , expected"},
		{"no path", "POST", "", "x", "Content-Type", octets, 400, "path query parameter is required"},
		{"onto a directory", "POST", "path=" + dir, "x", "Content-Type", octets, 400, "path is a directory"},
		{"under a file", "POST", "path=" + dir + "/file/x/y", "x", "Content-Type", octets, 500, "error ensuring directories: path is a file"},
		{"NUL", "POST", "path=" + dir + "/a%00", "x", "Content-Type", octets, 500, "error getting file info"},
		{"other home, written", "POST", "path=~root", "x", "Content-Type", octets, 400, "error resolving path"},
		{"user, written", "POST", "path=/x&username=nosuch", "x", "Content-Type", octets, 401, "unknown user"},
		{"unknown coding", "POST", "path=" + dir + "/n", "x", "Content-Encoding", "br", 400, "unsupported Content-Encoding: br"},
		{"not gzip", "POST", "path=" + dir + "/n", "x", "Content-Encoding", "gzip", 400, "failed to create gzip reader"},
		{"no boundary", "POST", "path=" + dir + "/n", "x", "Content-Type", "multipart/form-data", 500, "no multipart boundary"},
		{"form without an end", "POST", "path=" + dir + "/n", "--b\r\nX", "Content-Type", "multipart/form-data; boundary=b", 500, "error reading form"},
		{"where nothing can be made", "POST", "path=/proc/x", "x", "Content-Type", octets, 500, "error opening file"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := ask(t, newServer(t), test.method, "/files?"+test.query, test.body, test.header, test.value)
			if w.Code != test.code || !strings.Contains(w.Body.String(), test.message) {
				t.Errorf("%d %s, want %d with %q", w.Code, w.Body, test.code, test.message)
			}
		})
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestUploadAndDownload(t *testing.T) {
	t.Parallel()
	s, dir := newServer(t), t.TempDir()
	path := dir + "/new/é x.txt"
	w := ask(t, s, "POST", "/files?path="+strings.ReplaceAll(path, " ", "%20"), "hello", "Content-Type", "application/octet-stream")
	if w.Code != 200 || read(t, path) != "hello" {
		t.Fatalf("upload: %d %s", w.Code, w.Body)
	}
	w = ask(t, s, "GET", "/files?path="+strings.ReplaceAll(path, " ", "%20"), "", "Accept-Encoding", "br, gzip;q=0.5")
	zip, err := gzip.NewReader(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(zip); string(got) != "hello" || err != nil || w.Header().Get("Content-Encoding") != "gzip" {
		t.Errorf("download: %q %v %v", got, err, w.Header())
	}
	var packed bytes.Buffer
	zw := gzip.NewWriter(&packed)
	if _, err := zw.Write([]byte("packed")); err != nil {
		t.Fatal(err)
	}
	if err := zw.Close(); err != nil {
		t.Fatal(err)
	}
	ask(t, s, "POST", "/files?path="+dir+"/z", packed.String(), "Content-Type", "application/octet-stream", "Content-Encoding", "gzip")
	if got := read(t, dir+"/z"); got != "packed" {
		t.Errorf("packed upload: %q", got)
	}
	ask(t, s, "POST", "/files?path="+dir+"/z", packed.String()[:packed.Len()-9], "Content-Type", "application/octet-stream", "Content-Encoding", "gzip")
	w = ask(t, s, "POST", "/files?path="+dir+"/z", packed.String()[:packed.Len()-4], "Content-Type", "application/octet-stream", "Content-Encoding", "gzip")
	if w.Code != 500 || !strings.Contains(w.Body.String(), "error writing file") {
		t.Errorf("cut off upload: %d %s", w.Code, w.Body)
	}
}

func TestMultipart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	part := func(name, file, text string) string {
		return "--b\r\nContent-Disposition: form-data; name=\"" + name + "\"; filename=\"" + file + "\"\r\n\r\n" + text + "\r\n"
	}
	for _, test := range []struct {
		name, query, body string
		code              int
		files             map[string]string
		message           string
	}{
		{"two", "", part("file", dir+"/d1/a", "1") + part("file", dir+"/d1/b", "2"), 200, map[string]string{"d1/a": "1", "d1/b": "2"}, ""},
		{"path wins", "?path=" + dir + "/c", part("file", "ignored", "3"), 200, map[string]string{"c": "3"}, ""},
		{"other field", "?path=" + dir + "/d", part("other", "x", "4"), 200, nil, "[]"},
		{"one path for two", "?path=" + dir + "/e", part("file", "x", "5") + part("file", "y", "6"), 400, map[string]string{"e": "5"}, "only the first specified file was uploaded"},
		{"no name", "", part("file", "", "7"), 400, nil, "path is a directory"},
		{"other home", "", part("file", "~root/x", "7"), 400, nil, "error resolving path"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := ask(t, newServer(t), "POST", "/files"+test.query, test.body+"--b--\r\n", "Content-Type", "multipart/form-data; boundary=b")
			if w.Code != test.code || !strings.Contains(w.Body.String(), test.message) {
				t.Errorf("%d %s", w.Code, w.Body)
			}
			for name, text := range test.files {
				if got := read(t, filepath.Join(dir, name)); got != text {
					t.Errorf("%s: %q, want %q", name, got, text)
				}
			}
		})
	}
}

func TestMetadata(t *testing.T) {
	t.Parallel()
	got, err := metadata(http.Header{"X-Metadata-A-B": {"1"}, "X-Metadata-": {"x"}, "X-Other": {"y"}})
	if diff := cmp.Diff(map[string]string{"a-b": "1"}, got); err != nil || diff != "" {
		t.Errorf("error %v (-want +got):\n%s", err, diff)
	}
	for _, value := range []string{"caf\xe9", "\x7f", "a\tb"} {
		if _, err := metadata(http.Header{"X-Metadata-A": {value}}); err == nil {
			t.Errorf("%q: no error", value)
		}
	}
	w := ask(t, newServer(t), "POST", "/files?path=/x", "x", "Content-Type", "application/octet-stream", "X-Metadata-A", "\xe9")
	if w.Code != 400 || !strings.Contains(w.Body.String(), "invalid metadata: ") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if _, err := os.Stat("/proc/version"); err == nil {
		up := receiver{server: newServer(t), metadata: map[string]string{"a": "1"}}
		if up.user, err = up.server.user("", false); err != nil {
			t.Fatal(err)
		}
		if err := up.write("/dev/null", strings.NewReader("")); err == nil || !strings.Contains(err.Error(), "error writing metadata") {
			t.Errorf("a file without attributes: %v", err)
		}
	}
}

func TestSigned(t *testing.T) {
	t.Parallel()
	s, dir := newServer(t), t.TempDir()
	write(t, dir+"/a", "x")
	if err := s.settings.Apply(settings.Update{AccessToken: ptr("secret")}); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, query, token string
		code               int
		message            string
	}{
		{"nothing", "path=/a", "", 401, "missing signature query parameter"},
		{"token", "path=" + dir + "/a", "secret", 200, ""},
		{"wrong token", "path=" + dir + "/a", "other", 401, "does not match"},
		{"wrong signature", "path=" + dir + "/a&signature=v1_x", "", 401, "invalid signature"},
	} {
		w := ask(t, s, "GET", "/files?"+test.query, "", "X-Access-Token", test.token)
		if w.Code != test.code || !strings.Contains(w.Body.String(), test.message) {
			t.Errorf("%s: %d %s", test.name, w.Code, w.Body)
		}
	}
	for path, want := range map[string]int{"/envs": 401, "/metrics": 401, "/files/compose": 401, "/nosuch": 401, "/health": 204} {
		if w := ask(t, s, "GET", path, ""); w.Code != want {
			t.Errorf("%s without a token: %d, want %d", path, w.Code, want)
		}
	}
}
