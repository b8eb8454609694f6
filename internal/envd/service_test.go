package envd_test

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os/user"
	"strings"
	"testing"
	"time"

	"github.com/hermesbox/hermesbox/internal/envd"
	"github.com/hermesbox/hermesbox/scripts/standin/envd/fsys"
	"github.com/hermesbox/hermesbox/scripts/standin/envd/procs"
	"github.com/hermesbox/hermesbox/scripts/standin/envd/settings"
	"github.com/hermesbox/hermesbox/scripts/standin/envd/spec/filesystem/filesystemconnect"
	"github.com/hermesbox/hermesbox/scripts/standin/envd/spec/process/processconnect"
	"github.com/hermesbox/hermesbox/scripts/standin/envd/web"
)

const (
	newest = "0.6.13"
	oldest = "0.5.13"
)

// startService starts the stand-in, whose tests hold it to the recorded
// answers of the real service.
func startService(t *testing.T, version string) *httptest.Server {
	t.Helper()
	old := version == oldest
	store := settings.New(false)
	store.Merge = old
	retention := 30 * time.Second
	if old {
		retention = 0
	}
	die := func() { t.Error("the real service would have crashed") }
	files := fsys.New(store)
	files.Old = old
	server := web.New(store)
	server.Version, server.Old = version, old
	server.Mount(processconnect.NewProcessHandler(procs.New(store, retention, die)))
	server.Mount(filesystemconnect.NewFilesystemHandler(files))
	s := httptest.NewServer(noTimeouts(t, server))
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
		if err := files.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// noTimeouts fails the test for a header that kills commands.
func noTimeouts(t *testing.T, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if v := r.Header.Get("Connect-Timeout-Ms"); v != "" {
			t.Errorf("%s has the timeout %s", r.URL.Path, v)
		}
		if r.Header.Get("Authorization") == "" {
			t.Errorf("%s names no user", r.URL.Path)
		}
		h.ServeHTTP(w, r)
	})
}

// me is the user that commands run as: root, or whoever runs the tests.
func me(t *testing.T) string {
	t.Helper()
	u, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	return u.Username
}

// connect makes a client of a target.
func connect(t *testing.T, target envd.Target) *envd.Client {
	t.Helper()
	c, err := envd.New(target, envd.Options{User: me(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// service starts the stand-in and a client that reaches it directly.
func service(t *testing.T) *envd.Client {
	t.Helper()
	return connect(t, envd.Direct(startService(t, newest).Listener.Addr().String()))
}

// startProxy routes as CubeProxy does, by host name and by path, to the one
// sandbox sb-1.
func startProxy(t *testing.T, to *httptest.Server) *httptest.Server {
	t.Helper()
	upstream, err := url.Parse(to.URL)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(upstream)
	proxy.FlushInterval = -1
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if rest, ok := strings.CutPrefix(r.URL.Path, "/sandbox/sb-1/49983"); ok {
			r.URL.Path = rest
			proxy.ServeHTTP(w, r)
			return
		}
		if host, _, _ := strings.Cut(r.Host, "."); host == "49983-sb-1" {
			proxy.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusNotFound)
		w.Write([]byte(`{"error":"not found"}`)) //nolint:errcheck // the client then fails
	}))
	t.Cleanup(s.Close)
	return s
}
