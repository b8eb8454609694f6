package envd_test

import (
	"crypto/x509"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hermesbox/hermesbox/internal/envd"
)

func TestTargets(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		got  envd.Target
		want envd.Target
	}{
		{"direct", envd.Direct("127.0.0.1:49983"), envd.Target{URL: "http://127.0.0.1:49983"}},
		{"node", envd.ByHost(envd.Proxy{Host: "10.0.0.5"}, 49983, "sb", "cube.app"), envd.Target{URL: "http://49983-sb.cube.app", Dial: "10.0.0.5:80"}},
		{"node and port", envd.ByHost(envd.Proxy{Host: "10.0.0.5", Port: 8080}, 9000, "sb", "x.y"), envd.Target{URL: "http://9000-sb.x.y", Dial: "10.0.0.5:8080"}},
		{"443 is https", envd.ByHost(envd.Proxy{Host: "10.0.0.5", Port: 443}, 9000, "sb", "x.y"), envd.Target{URL: "https://9000-sb.x.y", Dial: "10.0.0.5:443"}},
		{"https without a port", envd.ByHost(envd.Proxy{Host: "10.0.0.5", Scheme: "https"}, 9000, "sb", "x.y"), envd.Target{URL: "https://9000-sb.x.y", Dial: "10.0.0.5:443"}},
		{"IPv6", envd.ByHost(envd.Proxy{Host: "::1", Port: 81}, 9000, "sb", "x.y"), envd.Target{URL: "http://9000-sb.x.y", Dial: "[::1]:81"}},
		{"resolved", envd.ByHost(envd.Proxy{}, 9000, "sb", "x.y"), envd.Target{URL: "http://9000-sb.x.y"}},
		{"resolved, other port", envd.ByHost(envd.Proxy{Port: 8443, Scheme: "https"}, 9000, "sb", "x.y"), envd.Target{URL: "https://9000-sb.x.y:8443"}},
		{"path", envd.ByPath(envd.Proxy{Host: "10.0.0.5"}, 49983, "sb"), envd.Target{URL: "http://10.0.0.5:80/sandbox/sb/49983"}},
	} {
		if diff := cmp.Diff(test.want, test.got); diff != "" {
			t.Errorf("%s: %s", test.name, diff)
		}
	}
	for _, bad := range []string{"", "x", "ftp://x", "http://u:pw-secret@x", "http://%zz"} {
		_, err := envd.New(envd.Target{URL: bad}, envd.Options{})
		if err == nil || strings.Contains(err.Error(), "pw-secret") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// proxyAt is a proxy's address.
func proxyAt(t *testing.T, s *httptest.Server) envd.Proxy {
	t.Helper()
	host, port, err := net.SplitHostPort(s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	return envd.Proxy{Host: host, Port: n}
}

// TestThroughProxy: commands, input and files by both ways of the proxy.
func TestThroughProxy(t *testing.T) {
	t.Parallel()
	proxy := proxyAt(t, startProxy(t, startService(t, newest)))
	for name, target := range map[string]envd.Target{
		"host": envd.ByHost(proxy, envd.Port, "sb-1", "cube.app"),
		"path": envd.ByPath(proxy, envd.Port, "sb-1"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := connect(t, target)
			if err := c.WaitReady(t.Context(), time.Minute); err != nil {
				t.Fatal(err)
			}
			exit, stdout, _ := run(t, c, sh("cat; exit 5"), strings.NewReader("in"))
			if exit.Code != 5 || stdout != "in" {
				t.Errorf("%v, %q", exit, stdout)
			}
			file := t.TempDir() + "/a b"
			if err := c.Write(t.Context(), file, strings.NewReader("x")); err != nil {
				t.Error(err)
			}
			if got, err := c.ReadFile(t.Context(), file, 9); err != nil || string(got) != "x" {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
}

// TestTLS: the certificate is that of the sandbox's host name, wherever it is
// dialled.
func TestTLS(t *testing.T) {
	t.Parallel()
	s := httptest.NewUnstartedServer(startService(t, newest).Config.Handler)
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	proxy := proxyAt(t, s)
	proxy.Scheme = "https"
	for _, test := range []struct {
		name, domain string
		roots        *x509.CertPool
		err          string
	}{
		{"trusted", "example.com", roots, ""},
		{"another name", "example.org", roots, "certificate is valid for"},
		{"not trusted", "example.com", nil, "certificate"},
	} {
		c, err := envd.New(envd.ByHost(proxy, envd.Port, "sb-1", test.domain), envd.Options{User: me(t), Roots: test.roots})
		if err != nil {
			t.Fatal(err)
		}
		err = c.Health(t.Context())
		c.Close()
		if (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}

// TestProxyErrors: what the proxy says is told apart from what the service says.
func TestProxyErrors(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		status int
		body   string
		kind   error
		text   string
	}{
		{"unknown sandbox", 404, `{"error":"not found"}`, envd.ErrNoSandbox, "HTTP 404 from the proxy: not found"},
		{"killed", 410, `{"error":"gone"}`, envd.ErrNoSandbox, "HTTP 410 from the proxy: gone"},
		{"web page", 404, "<html>404</html>", envd.ErrNoSandbox, "from the proxy: <html>"},
		{"no token", 403, `{"error":"forbidden"}`, envd.ErrUnauthenticated, "HTTP 403 from the proxy: forbidden"},
		{"not listening", 502, "<html>502 Bad Gateway</html>", envd.ErrNotReady, "HTTP 502 from the proxy"},
		{"pausing", 503, `{"error":"service unavailable"}`, envd.ErrNotReady, "HTTP 503 from the proxy"},
		{"empty", 502, "", envd.ErrNotReady, "HTTP 502 from the proxy: Bad Gateway"},
		{"service's own", 404, "404 page not found\n", envd.ErrNotFound, "HTTP 404: 404 page not found"},
		{"redirect", 302, "", nil, "HTTP 302 from the proxy: Found"},
		{"full", 507, `{"code":507,"message":"no space"}`, envd.ErrFull, "HTTP 507: no space"},
		{"read only", 500, `{"code":"internal","message":"x: read-only file system"}`, envd.ErrReadOnly, "internal: x: read-only file system"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(test.status)
				w.Write([]byte(test.body)) //nolint:errcheck // the client then fails
			}))
			defer s.Close()
			c := connect(t, envd.Direct(s.Listener.Addr().String()))
			// Start is sent once, whatever the answer.
			_, err := c.Start(t.Context(), sh("true"))
			if err == nil || !strings.Contains(err.Error(), test.text) || test.kind != nil && !errors.Is(err, test.kind) {
				t.Errorf("error %v", err)
			}
			if !errors.Is(test.kind, envd.ErrNoSandbox) && errors.Is(err, envd.ErrNoSandbox) {
				t.Errorf("%v is taken for a missing sandbox", err)
			}
			if !errors.Is(test.kind, envd.ErrNotFound) && errors.Is(err, envd.ErrNotFound) {
				t.Errorf("%v is taken for a missing file", err)
			}
		})
	}
}

func TestWaitReady(t *testing.T) {
	t.Parallel()
	answers := make(chan int, 8)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		select {
		case status := <-answers:
			w.WriteHeader(status)
		default:
			w.WriteHeader(204)
		}
	}))
	t.Cleanup(s.Close)
	c := connect(t, envd.Direct(s.Listener.Addr().String()))
	answers <- 404
	answers <- 502
	if err := c.WaitReady(t.Context(), time.Minute); err != nil {
		t.Error(err)
	}
	answers <- 401
	if err := c.WaitReady(t.Context(), time.Minute); !errors.Is(err, envd.ErrUnauthenticated) {
		t.Errorf("error %v", err)
	}
	s.Close()
	err := c.WaitReady(t.Context(), 300*time.Millisecond)
	if err == nil || !strings.Contains(err.Error(), "waiting 300ms for the command service: GET http://") {
		t.Errorf("error %v", err)
	}
}

// TestUser: commands name the user in one way, files in another.
func TestUser(t *testing.T) {
	t.Parallel()
	var basic, query string
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		basic, _, _ = r.BasicAuth()
		query = r.URL.Query().Get("username")
	}))
	t.Cleanup(s.Close)
	for given, want := range map[string]string{"": "root", "user": "user"} {
		c, err := envd.New(envd.Direct(s.Listener.Addr().String()), envd.Options{User: given})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.ReadFile(t.Context(), "/x", 1); err != nil || basic != want || query != want {
			t.Errorf("%q: Basic %q, query %q, %v", given, basic, query, err)
		}
		c.Close()
	}
}

func TestTokensAndInit(t *testing.T) {
	t.Parallel()
	const access, traffic = "access-0123456789", "traffic-0123456789"
	var seen http.Header
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = r.Header
		if r.URL.Path == "/health" {
			w.WriteHeader(500)
			w.Write([]byte("no " + access + " " + traffic)) //nolint:errcheck // the client then fails
			return
		}
		w.WriteHeader(204)
	}))
	t.Cleanup(s.Close)
	c, err := envd.New(envd.Direct(s.Listener.Addr().String()), envd.Options{AccessToken: access, TrafficToken: traffic})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Init(t.Context(), envd.Init{}); err != nil {
		t.Error(err)
	}
	for name, want := range map[string]string{
		"X-Access-Token": access, "E2b-Traffic-Access-Token": traffic, "Cube-Traffic-Access-Token": traffic, "Authorization": "Basic cm9vdDo=",
	} {
		if seen.Get(name) != want {
			t.Errorf("%s is %q", name, seen.Get(name))
		}
	}
	if err := c.Health(t.Context()); err == nil || strings.Contains(err.Error(), access) || strings.Contains(err.Error(), traffic) {
		t.Errorf("error %v", err)
	}
	real := service(t)
	if err := real.Init(t.Context(), envd.Init{EnvVars: map[string]string{"FROM_INIT": "yes"}, DefaultWorkdir: "/tmp", Timestamp: time.Now()}); err != nil {
		t.Fatal(err)
	}
	if _, stdout, _ := run(t, real, sh(`echo "$FROM_INIT $(pwd)"`), nil); stdout != "yes /tmp\n" {
		t.Errorf("stdout %q", stdout)
	}
}
