package localcube_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hermesbox/hermesbox/internal/dockertest"
	"github.com/hermesbox/hermesbox/internal/localcube"
	"github.com/hermesbox/hermesbox/internal/localcube/cluster"
)

func TestServeRefuses(t *testing.T) {
	t.Parallel()
	engine := dockertest.Default(t)
	taken, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = taken.Close() })
	broken := tempDir(t)
	if err := os.Mkdir(filepath.Join(broken, "state.json"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name   string
		change func(*localcube.Options)
		is     error
		words  string
	}{
		{"address in use", func(o *localcube.Options) { o.API = taken.Addr().String() }, localcube.ErrTaken, taken.Addr().String()},
		{"not loopback", func(o *localcube.Options) { o.Master = "0.0.0.0:0" }, localcube.ErrAddress, `"0.0.0.0:0" is not on loopback`},
		{"no address", func(o *localcube.Options) { o.Proxy = "8090" }, localcube.ErrAddress, `"8090" is none like 127.0.0.1:3000`},
		{"no port", func(o *localcube.Options) { o.API = "127.0.0.1:x" }, localcube.ErrAddress, `the port "x"`},
		{"port too high", func(o *localcube.Options) { o.API = "127.0.0.1:70000" }, localcube.ErrAddress, `the port "70000"`},
		{"no host", func(o *localcube.Options) { o.API = ":3000" }, localcube.ErrAddress, `":3000" is not on loopback`},
		{"domain", func(o *localcube.Options) { o.Domain = "bad domain!" }, localcube.ErrDomain, `"bad domain!" is none like cube.app`},
		{"long domain", func(o *localcube.Options) { o.Domain = strings.Repeat("a.", 100) + "app" }, localcube.ErrDomain, "at most 200 bytes"},
		{"long state directory", func(o *localcube.Options) { o.StateDir = filepath.Join(o.StateDir, strings.Repeat("x", 90)) }, localcube.ErrStateDir, "more than 103"},
		{"relative root", func(o *localcube.Options) { o.SharedRoot = "x" }, localcube.ErrSharedRoot, `"x" is relative`},
		{"certificate", func(o *localcube.Options) { o.TLS, o.CertFile, o.KeyFile = "127.0.0.1:0", "/no/cert", "/no/key" }, localcube.ErrCertificate, "/no/cert"},
		{"unreadable state", func(o *localcube.Options) { o.StateDir = broken }, cluster.ErrState, "state.json"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			opts := localcube.Options{Docker: engine.Client, StateDir: tempDir(t), SharedRoot: t.TempDir(), API: "127.0.0.1:0", Master: "127.0.0.1:0", Proxy: "127.0.0.1:0"}
			test.change(&opts)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			err := localcube.Serve(ctx, opts, func(localcube.Status) { cancel() })
			if err == nil || !errors.Is(err, test.is) && test.is != nil || !strings.Contains(err.Error(), test.words) {
				t.Errorf("Serve: %v, want %v with %q", err, test.is, test.words)
			}
		})
	}
}

func TestServeOnce(t *testing.T) {
	t.Parallel()
	engine := dockertest.Default(t)
	opts := localcube.Options{Docker: engine.Client, StateDir: tempDir(t), SharedRoot: t.TempDir(), API: "127.0.0.1:0", Master: "127.0.0.1:0", Proxy: "127.0.0.1:0"}
	st := serve(t, opts)
	if err := localcube.Serve(t.Context(), opts, func(localcube.Status) {}); !errors.Is(err, localcube.ErrRunning) {
		t.Errorf("a second one: %v, want %v", err, localcube.ErrRunning)
	}
	asked, err := localcube.Ask(t.Context(), opts.StateDir)
	if err != nil || asked.APIURL != st.APIURL || asked.Proxy != st.Proxy || !asked.Running {
		t.Errorf("Ask: %+v, %v, want %+v", asked, err, st)
	}
	if err := localcube.SetFaults(t.Context(), opts.StateDir, []string{"nonsense"}); err == nil || !strings.Contains(err.Error(), "nonsense") {
		t.Errorf("an unknown fault: %v", err)
	}
	nobody, err := localcube.Ask(t.Context(), t.TempDir())
	if err != nil || nobody.Running {
		t.Errorf("asking where nobody is: %+v, %v", nobody, err)
	}
	if err := localcube.SetFaults(t.Context(), t.TempDir(), nil); !errors.Is(err, localcube.ErrNotRunning) {
		t.Errorf("commanding where nobody is: %v", err)
	}
}

func TestStatusEnv(t *testing.T) {
	t.Parallel()
	st := localcube.Status{APIURL: "http://127.0.0.1:3000", MasterAddr: "http://127.0.0.1:8089", Domain: "it's", Proxy: localcube.Proxy{IP: "127.0.0.1", Port: 8090, Scheme: "http"}}
	want := `export CUBE_API_URL='http://127.0.0.1:3000'
export CUBE_MASTER_ADDR='http://127.0.0.1:8089'
export CUBE_PROXY_NODE_IP='127.0.0.1'
export CUBE_PROXY_PORT_HTTP='8090'
export CUBE_PROXY_SCHEME='http'
export CUBE_SANDBOX_DOMAIN='it'\''s'
export E2B_API_URL='http://127.0.0.1:3000'
export E2B_API_KEY='e2b_000000'
`
	if got := st.Env(); got != want {
		t.Errorf("Env:\n%s\nwant:\n%s", got, want)
	}
}
