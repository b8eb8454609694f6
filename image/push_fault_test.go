package image_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/hermesbox/hermesbox/image"
	"github.com/hermesbox/hermesbox/internal/dockertest"
)

// faultyRegistry stands before a real registry and answers uploads with a fault while broken is set.
type faultyRegistry struct {
	broken atomic.Bool
	path   string // of the requests that fail: the Engine asks again for blobs, for almost a minute, for manifests not
	fault  http.HandlerFunc
	pass   http.Handler
}

func (f *faultyRegistry) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if f.broken.Load() && r.Method != http.MethodGet && r.Method != http.MethodHead && strings.Contains(r.URL.Path, f.path) {
		f.fault(w, r)
		return
	}
	f.pass.ServeHTTP(w, r)
}

func newFaultyRegistry(t *testing.T, path string, fault http.HandlerFunc) (*faultyRegistry, string) {
	t.Helper()
	real := &url.URL{Scheme: "http", Host: dockertest.Registry(t)}
	registry := &faultyRegistry{path: path, fault: fault, pass: &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(real)
		r.Out.Host = r.In.Host // the registry names its uploads by it
	}}}
	server := httptest.NewServer(registry)
	t.Cleanup(server.Close)
	return registry, strings.TrimPrefix(server.URL, "http://")
}

func status(code int, name, header, value string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if header != "" {
			w.Header().Set(header, value)
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_, _ = io.WriteString(w, `{"errors":[{"code":"`+name+`","message":"fault of the test"}]}`)
	}
}

// cut takes a part of what is uploaded and closes the connection.
func cut(w http.ResponseWriter, r *http.Request) {
	_, _ = io.CopyN(io.Discard, r.Body, 100)
	conn, _, err := w.(http.Hijacker).Hijack()
	if err == nil {
		_ = conn.Close()
	}
}

// A registry that fails in the middle of a push gives the right error, and the
// next push goes through without cleaning.
func TestPushFaults(t *testing.T) {
	for name, test := range map[string]struct {
		path  string
		fault http.HandlerFunc
		want  error
	}{
		"401":         {"/manifests/", status(http.StatusUnauthorized, "UNAUTHORIZED", "WWW-Authenticate", `Basic realm="test"`), image.ErrUnauthorized},
		"403":         {"/manifests/", status(http.StatusForbidden, "DENIED", "", ""), image.ErrUnauthorized},
		"403 as text": {"/manifests/", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusForbidden) }, image.ErrUnauthorized},
		"429":         {"/manifests/", status(http.StatusTooManyRequests, "TOOMANYREQUESTS", "Retry-After", "1"), image.ErrPush},
		"500":         {"/manifests/", status(http.StatusInternalServerError, "UNKNOWN", "", ""), image.ErrPush},
		"cut blob":    {"/blobs/", cut, image.ErrPush},
	} {
		t.Run(name, func(t *testing.T) {
			loopbackEngine(t, func(t *testing.T, w *workbench) {
				registry, address := newFaultyRegistry(t, test.path, test.fault)
				tag := address + "/team/app:latest"
				dir := t.TempDir()
				write(t, dir, map[string]string{"f": strings.Repeat(t.Name(), 10_000)})
				w.docker.RemoveImage(t, tag)
				img := w.mustBuild(t, w.spec(t, dir, copyAll, tag))
				registry.broken.Store(true)
				if pushed, err := w.engine.Push(t.Context(), img, []string{tag}, nil); !errors.Is(err, test.want) || !strings.Contains(err.Error(), tag) {
					t.Errorf("Push: %s, %v; want %v with the name", pushed.Ref(), err, test.want)
				}
				registry.broken.Store(false)
				pushed, err := w.engine.Push(t.Context(), img, []string{tag}, nil)
				if err != nil {
					t.Fatalf("the next push: %v", err)
				}
				if _, digest := served(t, address, "team/app/manifests/latest", "", ""); digest != pushed.Digest {
					t.Errorf("served is %s, Push said %s", digest, pushed.Digest)
				}
			})
		})
	}
}
