package cube

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
)

const key = "e2b_0123456789"

// serve starts a server and a client of both services on it.
func serve(t *testing.T, h http.HandlerFunc) *Client {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	c, err := New(Options{APIURL: server.URL, MasterAddr: server.URL, APIKey: key})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func text(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		io.WriteString(w, body) //nolint:errcheck // the client then fails
	}
}

func TestNew(t *testing.T) {
	t.Parallel()
	empty := filepath.Join(t.TempDir(), "empty.pem")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name string
		o    Options
		err  string
	}{
		{"api", Options{APIURL: "http://127.0.0.1:3000"}, ""},
		{"master alone, without a scheme", Options{MasterAddr: "127.0.0.1:8089"}, ""},
		{"nothing", Options{}, "connecting to Cube: no address configured"},
		{"no scheme", Options{APIURL: "cube:3000"}, `the address "cube:3000" of CubeAPI is none`},
		{"not http", Options{APIURL: "ftp://cube"}, `"ftp://cube"`},
		{"no host", Options{APIURL: "http://"}, "is none"},
		{"a password", Options{APIURL: "http://u:pw-secret@cube"}, `the address "http://cube" of CubeAPI has a user`},
		{"a broken address with a password", Options{APIURL: "http://u:pw-secret@cube:x"}, "is none"},
		{"a query", Options{MasterAddr: "http://cube?token=pw-secret"}, "has a user, a query or a fragment"},
		{"no CA file", Options{APIURL: "http://cube", CAFile: empty + "x"}, "reading the CA file: open " + empty + "x"},
		{"an empty CA file", Options{APIURL: "http://cube", CAFile: empty}, "has no certificate in PEM form"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c, err := New(test.o)
			if test.err == "" {
				if err != nil {
					t.Fatal(err)
				}
				c.Close()
				return
			}
			if err == nil || !strings.Contains(err.Error(), test.err) || strings.Contains(err.Error(), "pw-secret") {
				t.Errorf("error %v, want one with %q and no password", err, test.err)
			}
		})
	}
}

// TestHeaders: the key goes to CubeAPI, in both headers, and to nobody else.
func TestHeaders(t *testing.T) {
	t.Parallel()
	seen := map[string]http.Header{}
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		seen[r.URL.Path] = r.Header
		io.WriteString(w, `{"ret":{"ret_code":200}}`) //nolint:errcheck // the client then fails
	})
	if err := c.Health(t.Context()); err != nil {
		t.Fatal(err)
	}
	api, master := seen["/health"], seen["/notify/health"]
	if api.Get("Authorization") != "Bearer "+key || api.Get("X-Api-Key") != key {
		t.Errorf("CubeAPI got %v", api)
	}
	if s := fmt.Sprint(master); master == nil || strings.Contains(s, key) {
		t.Errorf("CubeMaster got %v", master)
	}
}

func TestNotConfigured(t *testing.T) {
	t.Parallel()
	api, err := New(Options{APIURL: "http://127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	if api.HasMaster() {
		t.Error("it has a CubeMaster")
	}
	master, err := New(Options{MasterAddr: "127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = master.GetSandbox(t.Context(), "x")
	if !errors.Is(err, ErrNotConfigured) || !strings.Contains(err.Error(), "CubeAPI") || !master.HasMaster() {
		t.Errorf("error %v", err)
	}
}

// TestBadAnswers are what a wrong address or a broken network gives.
func TestBadAnswers(t *testing.T) {
	t.Parallel()
	get := func(ctx context.Context, c *Client) error { _, err := c.GetSandbox(ctx, "sb"); return err }
	post := func(ctx context.Context, c *Client) error {
		_, err := c.CreateSandbox(ctx, NewSandbox{TemplateID: "t"})
		return err
	}
	connect := func(ctx context.Context, c *Client) error {
		_, err := c.ConnectSandbox(ctx, "sb", time.Minute)
		return err
	}
	submit := func(ctx context.Context, c *Client) error {
		_, err := c.SubmitTemplate(ctx, TemplateRequest{Image: "x"})
		return err
	}
	list := func(ctx context.Context, c *Client) error { _, err := c.Templates(ctx); return err }
	sandboxes := func(ctx context.Context, c *Client) error { _, err := c.ListSandboxes(ctx, nil); return err }
	job := func(ctx context.Context, c *Client) error { _, err := c.GetJob(ctx, "t", "j"); return err }
	half := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		io.WriteString(w, `{"sandboxID":"`) //nolint:errcheck // cut on purpose
	}
	for _, test := range []struct {
		name   string
		answer http.HandlerFunc
		do     func(context.Context, *Client) error
		err    string
		kind   error
	}{
		{"web page", text(200, "<html>hello"), get, "a web page, not JSON: another program listens", ErrForeign},
		{"web page of CubeMaster", text(200, "<html>hello"), list, "a web page, not JSON: another program listens", ErrForeign},
		{"empty", text(200, ""), get, "the answer is empty, not JSON", ErrForeign},
		{"empty of CubeMaster", text(200, " "), list, "the answer is empty, not JSON", ErrForeign},
		{"not json", text(200, "hello"), get, "the answer is not the JSON expected: invalid character 'h'", ErrForeign},
		{"wrong type", text(200, `{"sandboxID":5}`), get, "the answer is not the JSON expected", nil},
		{"no envelope", text(200, `{}`), list, "no ret_code: another program listens", ErrForeign},
		{"envelope without a code", text(200, `{"ret":{}}`), list, "no ret_code", nil},
		{"null", text(200, `null`), list, "no ret_code", nil},
		{"no job", text(200, `{"ret":{"ret_code":200}}`), job, "the answer has no job", nil},
		{"no id", text(201, `{}`), post, "no sandbox id", nil},
		{"a list of nothing", text(200, `[{"sandboxID":"sb"},null]`), sandboxes, "the answer names no sandbox", ErrForeign},
		{"a list of templates without ids", text(200, `{"ret":{"ret_code":200},"data":[{"status":"READY"}]}`), list, "the answer names no template", ErrForeign},
		{"null for a sandbox", text(200, `null`), get, "the answer names no sandbox", ErrForeign},
		{"another object for a sandbox", text(200, `{"ok":true}`), connect, "the answer names no sandbox", ErrForeign},
		{"a job without a template", text(200, `{"ret":{"ret_code":200},"job":{"job_id":"j"}}`), submit, "the answer names no template", ErrForeign},
		{"bad gateway", text(502, "<html>bad gateway</html>"), post, "HTTP 502: <html>bad gateway</html>", nil},
		{"408", text(408, ""), post, "HTTP 408: the server gave up on its own request; what it had begun may still be going on", nil},
		{"401", text(401, ""), get, "HTTP 401: Unauthorized", ErrUnauthorized},
		{"403 of a gateway", text(403, `{"error":"forbidden"}`), get, "HTTP 403: forbidden", ErrUnauthorized},
		{"410", text(410, `{"error":"gone"}`), get, "gone", ErrNotFound},
		{"no words", text(200, `{"ret":{"ret_code":130408,"ret_msg":""}}`), list, "HTTP 200, code 130408: the node is unhealthy", nil},
		{"control characters", text(500, `{"message":"a\u001b[31mb\nc"}`), get, "HTTP 500: a [31mb c", nil},
		{"long message", text(500, strings.Repeat("é", 3000)), get, "é…", nil},
		{"cut in half", half, get, "reading the answer: unexpected EOF", ErrUnreachable},
		{"cut in half under a post", half, post, "reading the answer: unexpected EOF", ErrUnreachable},
		{"closed", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, post, "EOF", ErrUnreachable},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			err := test.do(t.Context(), serve(t, test.answer))
			if err == nil || !strings.Contains(err.Error(), test.err) {
				t.Fatalf("error %v, want %q", err, test.err)
			}
			if test.kind != nil && !errors.Is(err, test.kind) {
				t.Errorf("%v is not %v", err, test.kind)
			}
			if len(err.Error()) > messageLimit+300 {
				t.Errorf("the error has %d bytes", len(err.Error()))
			}
		})
	}
}

// TestNamelessTemplate: without CubeMaster's envelope, it takes the id to tell who answered.
func TestNamelessTemplate(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(text(http.StatusOK, `{"status":"READY"}`))
	t.Cleanup(server.Close)
	api, err := New(Options{APIURL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := api.GetTemplate(t.Context(), "tpl", true); !errors.Is(err, ErrForeign) {
		t.Errorf("CubeAPI: %v", err)
	}
	got, err := serve(t, text(http.StatusOK, `{"ret":{"ret_code":200},"status":"READY"}`)).GetTemplate(t.Context(), "tpl", true)
	if err != nil || got.ID != "tpl" || got.Status != StatusReady {
		t.Errorf("CubeMaster: %+v, %v", got, err)
	}
}

// TestHugeAnswer: an answer of a gigabyte ends at the limit.
func TestHugeAnswer(t *testing.T) {
	t.Parallel()
	var sent atomic.Int64
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		block := make([]byte, 1<<20)
		for range 1 << 10 {
			n, err := w.Write(block)
			sent.Add(int64(n))
			if err != nil {
				return
			}
		}
	})
	_, err := c.GetSandbox(t.Context(), "sb")
	if err == nil || !strings.Contains(err.Error(), "HTTP 200: the answer is longer than 32 MiB: another program listens") || !errors.Is(err, ErrForeign) {
		t.Errorf("error %v", err)
	}
	if n := sent.Load(); n > 200<<20 {
		t.Errorf("%d MiB were taken, perhaps twice", n>>20)
	}
}

// TestRedirect: credentials stay where they were meant to go.
func TestRedirect(t *testing.T) {
	t.Parallel()
	var followed atomic.Bool
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { followed.Store(true) }))
	t.Cleanup(elsewhere.Close)
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, strings.Replace(elsewhere.URL, "http://", "http://u:pw-secret@", 1)+"/x?token=pw-secret", http.StatusTemporaryRedirect)
	})
	_, err := c.CreateSandbox(t.Context(), NewSandbox{TemplateID: "t"})
	if err == nil || !strings.Contains(err.Error(), "redirected elsewhere, which is not followed: "+elsewhere.URL+"/x") || !errors.Is(err, ErrForeign) {
		t.Errorf("error %v", err)
	}
	if strings.Contains(fmt.Sprint(err), "pw-secret") || followed.Load() {
		t.Errorf("followed: %v, error %v", followed.Load(), err)
	}
}

// TestSecretsInErrors: what a server sends back of a request is masked.
func TestSecretsInErrors(t *testing.T) {
	t.Parallel()
	const password = "hunter22-registry"
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		status, shape := 500, `{"message":%q}`
		if strings.HasPrefix(r.URL.Path, "/cube/") {
			status, shape = 200, `{"ret":{"ret_code":130400,"ret_msg":%q}}`
		}
		w.WriteHeader(status)
		fmt.Fprintf(w, shape, fmt.Sprint(r.Header, string(body), url.QueryEscape(string(body)), base64.StdEncoding.EncodeToString(body)))
	})
	_, submit := c.SubmitTemplate(t.Context(), TemplateRequest{
		Image: "x", RegistryPassword: password, Env: []EnvVar{{"MODEL_API_KEY", "sk-env-0123456789"}, {"PLAIN", "shown-value"}},
	})
	_, create := c.CreateSandbox(t.Context(), NewSandbox{TemplateID: "t", Env: map[string]string{"DB_PASSWORD": "pg-0123456789"}})
	for _, err := range []error{submit, create} {
		if err == nil {
			t.Fatal("no error")
		}
		for _, secret := range []string{password, "sk-env-0123456789", "pg-0123456789", key} {
			if strings.Contains(err.Error(), secret) {
				t.Errorf("%s in %v", secret, err)
			}
		}
	}
	if !strings.Contains(submit.Error(), "shown-value") {
		t.Errorf("too much is masked: %v", submit)
	}
}

func TestTimeout(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(release) })
	c, err := New(Options{APIURL: server.URL, Timeout: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	start := time.Now()
	_, err = c.GetSandbox(t.Context(), "sb")
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "/sandboxes/sb: no answer within 50ms") {
		t.Errorf("error %v", err)
	}
	if d := time.Since(start); d > 5*time.Second {
		t.Errorf("it took %s", d)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = c.GetSandbox(ctx, "sb")
	if !errors.Is(err, context.Canceled) || errors.Is(err, ErrUnreachable) {
		t.Errorf("error %v", err)
	}
}

// TestCodesWithoutWords: each code that Cube leaves without a text has one.
func TestCodesWithoutWords(t *testing.T) {
	t.Parallel()
	for code, want := range map[int]string{
		130400: "bad parameters", 130404: "not found", 130408: "the node is unhealthy", 130409: "conflict", 130592: "too many requests",
		130594: "CubeMaster's database failed", 130595: "the node does not answer", 130597: "no node can take it", -1: "Cube gives no reason",
	} {
		e := &Error{Method: "GET", URL: "http://x", Status: 200, Code: code}
		if got, want := e.Error(), fmt.Sprintf("GET http://x: HTTP 200, code %d: %s", code, want); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if errors.Is(&Error{Status: 500}, io.EOF) {
		t.Error("an answer is an end of file")
	}
}

func TestUnreachable(t *testing.T) {
	t.Parallel()
	c, err := New(Options{MasterAddr: "127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.GetTemplate(t.Context(), "tpl-1", true)
	if !errors.Is(err, ErrUnreachable) || !strings.HasPrefix(err.Error(), "GET http://127.0.0.1:1/cube/template: dial tcp 127.0.0.1:1: ") {
		t.Errorf("error %v", err)
	}
}

// TestProxy: a proxy of the environment that fails is named, its password not.
func TestProxy(t *testing.T) {
	t.Parallel()
	proxy, err := url.Parse("http://u:pw-secret@127.0.0.1:1")
	if err != nil {
		t.Fatal(err)
	}
	c, err := New(Options{APIURL: "http://cube.example:3000", Proxy: http.ProxyURL(proxy)})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.GetSandbox(t.Context(), "sb")
	if err == nil || !strings.Contains(err.Error(), "(through the proxy http://127.0.0.1:1)") || strings.Contains(err.Error(), "pw-secret") {
		t.Errorf("error %v", err)
	}
}

func TestCAFile(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(text(200, `{"status":"ok"}`))
	server.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	file := filepath.Join(t.TempDir(), "ca.pem")
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(file, block, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, ca := range []string{"", file} {
		c, err := New(Options{APIURL: server.URL, CAFile: ca})
		if err != nil {
			t.Fatal(err)
		}
		err = c.Health(t.Context())
		c.Close()
		if (err == nil) != (ca != "") || err != nil && !strings.Contains(err.Error(), "certificate") {
			t.Errorf("with the CA file %q: %v", ca, err)
		}
	}
}

// TestRetries looks at whole requests; package retry has the rules.
func TestRetries(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		first http.HandlerFunc
		do    func(context.Context, *Client) error
		want  int32
	}{
		{"busy list", text(503, ""), func(ctx context.Context, c *Client) error { _, err := c.ListSandboxes(ctx, nil); return err }, 2},
		{"delete while pausing", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(503)
		}, func(ctx context.Context, c *Client) error { return c.DeleteSandbox(ctx, "sb") }, 2},
		{"create while busy", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(503)
		}, func(ctx context.Context, c *Client) error {
			_, err := c.CreateSandbox(ctx, NewSandbox{TemplateID: "t"})
			return err
		}, 2},
		{"rate limit", text(429, ""), func(ctx context.Context, c *Client) error {
			_, err := c.CreateSandbox(ctx, NewSandbox{TemplateID: "t"})
			return err
		}, 2},
		{"rate limit of CubeMaster", text(200, `{"ret":{"ret_code":130429,"ret_msg":"many"}}`), func(ctx context.Context, c *Client) error {
			_, err := c.SubmitTemplate(ctx, TemplateRequest{Image: "x"})
			return err
		}, 2},
		{"create is not sent twice", text(504, ""), func(ctx context.Context, c *Client) error {
			_, err := c.CreateSandbox(ctx, NewSandbox{TemplateID: "t"})
			return err
		}, 1},
		{"pause is not sent twice", text(502, ""), func(ctx context.Context, c *Client) error { return c.PauseSandbox(ctx, "sb") }, 1},
		{"connect is", text(502, ""), func(ctx context.Context, c *Client) error {
			_, err := c.ConnectSandbox(ctx, "sb", time.Minute)
			return err
		}, 2},
		{"resume is not", text(502, ""), func(ctx context.Context, c *Client) error {
			_, err := c.ResumeSandbox(ctx, "sb", time.Minute)
			return err
		}, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var n atomic.Int32
			c := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if n.Add(1) == 1 {
					test.first(w, r)
					return
				}
				body := `{"sandboxID":"sb","ret":{"ret_code":200},"job":{"job_id":"j","template_id":"tpl"}}`
				if strings.HasPrefix(r.URL.Path, "/v2") {
					body = "[]"
				}
				io.WriteString(w, body) //nolint:errcheck // the client then fails
			})
			err := test.do(t.Context(), c)
			if n.Load() != test.want || (err == nil) != (test.want == 2) {
				t.Errorf("%d requests, not %d; error %v", n.Load(), test.want, err)
			}
		})
	}
}

// TestHTTP2Reset: a stream that is reset in the middle of an answer is a cut, as a closed connection is.
func TestHTTP2Reset(t *testing.T) {
	t.Parallel()
	var n atomic.Int32
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if n.Add(1)%2 == 1 {
			io.WriteString(w, `[{"sandboxID":"`)  //nolint:errcheck // cut on purpose
			http.NewResponseController(w).Flush() //nolint:errcheck // cut on purpose
			panic(http.ErrAbortHandler)
		}
		fmt.Fprintf(w, `[{"sandboxID":%q}]`, r.Proto)
	}))
	server.EnableHTTP2 = true
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := New(Options{APIURL: server.URL, CAFile: ca})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	all, err := c.ListSandboxes(t.Context(), nil)
	if err != nil || len(all) != 1 || all[0].ID != "HTTP/2.0" || n.Load() != 2 {
		t.Errorf("a list: %v, %v, after %d requests", all, err, n.Load())
	}
	if err := c.PauseSandbox(t.Context(), "sb"); !errors.Is(err, ErrUnreachable) || n.Load() != 3 {
		t.Errorf("a pause: %v, after %d requests", err, n.Load())
	}
}

func TestSecret(t *testing.T) {
	t.Parallel()
	s := Sandbox{ID: "sb", TrafficAccessToken: "tok-123456"}
	printed := fmt.Sprintf("%v %+v %#v %s", s, s, s, s.TrafficAccessToken)
	if strings.Contains(printed, "tok-123456") || s.TrafficAccessToken.Reveal() != "tok-123456" {
		t.Errorf("printed is %s", printed)
	}
	if text, err := json.Marshal(s); err != nil || strings.Contains(string(text), "tok-123456") || !strings.Contains(string(text), `"trafficAccessToken":"***"`) {
		t.Errorf("as JSON %s, %v", text, err)
	}
	if diff := gocmp.Diff("", Secret("").String()); diff != "" {
		t.Error(diff)
	}
}
