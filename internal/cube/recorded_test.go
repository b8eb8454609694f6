package cube

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"testing"
)

// recorded is a line of what the real programs answered.
type recorded struct {
	Name     string   `json:"name"`
	Request  request  `json:"request"`
	Response response `json:"response"`
	// Args and Sent are of the lines that have a client behind them.
	Args []string `json:"args"`
	Sent []sent   `json:"sent"`
}

type request struct {
	Method  string            `json:"method"`
	Path    string            `json:"path"`
	Headers map[string]string `json:"headers"`
	Body    string            `json:"body"`
}

type response struct {
	Status  int               `json:"status"`
	Headers map[string]string `json:"headers"`
	Body    string            `json:"body"`
	Base64  string            `json:"bodyBase64"`
	LeftOut bool              `json:"bodyLeftOut"`
}

type sent struct {
	request
	// Response is a word where there was no answer.
	Response json.RawMessage `json:"response"`
}

// answer is what came back, and whether there is enough of it to read.
func (s sent) answer() (response, bool) {
	var r response
	err := json.Unmarshal(s.Response, &r)
	return r, err == nil && !r.LeftOut && r.Status != 0
}

func (r response) bytes(t testing.TB) []byte {
	t.Helper()
	if r.Base64 == "" {
		return []byte(r.Body)
	}
	raw, err := base64.StdEncoding.DecodeString(r.Base64)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// read reads a file of lines.
func read(t testing.TB, name string) []recorded {
	t.Helper()
	f, err := os.Open("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []recorded
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var r recorded
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		all = append(all, r)
	}
	if err := lines.Err(); err != nil || len(all) == 0 {
		t.Fatalf("%s: %d lines, %v", name, len(all), err)
	}
	return all
}

// replay serves one answer, and fails the test for a request on another route.
func replay(t *testing.T, r recorded) *httptest.Server {
	t.Helper()
	want, err := url.Parse("http://x" + r.Request.Path)
	if err != nil {
		want = &url.URL{Path: r.Request.Path}
	}
	body := r.Response.bytes(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, got *http.Request) {
		if got.Method != r.Request.Method || got.URL.EscapedPath() != want.EscapedPath() {
			t.Errorf("%s %s was asked for, recorded is %s %s", got.Method, got.URL.Path, r.Request.Method, want.Path)
		}
		w.Header()["Content-Type"] = nil // no guessing of what was not there
		for name, value := range r.Response.Headers {
			w.Header().Set(name, value)
		}
		w.WriteHeader(r.Response.Status)
		w.Write(body) //nolint:errcheck // the client then fails
	}))
	t.Cleanup(server.Close)
	return server
}
