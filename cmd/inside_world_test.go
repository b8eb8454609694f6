package cmd_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"

	"github.com/hermesbox/hermesbox/cmd"
	"github.com/hermesbox/hermesbox/internal/dockertest"
	"github.com/hermesbox/hermesbox/internal/envd"
)

// world is a Cube with one sandbox, alice with the id sb-1: its API and its
// proxy on one address. What the sandbox's ports are is up to the test.
type world struct {
	server    *httptest.Server
	transport *http.Transport // the default one is emptied by other tests
	ended     context.Context

	mu    sync.Mutex
	ports map[string]string // address by port
	state string
	gone  bool
	logs  []string
	// refusal, where it is set, is the answer to everything; %s is the key that was given.
	refusal string
}

// startWorld serves one; ports are addresses of the sandbox's ports.
func startWorld(t *testing.T, ports map[string]string) *world {
	t.Helper()
	w := &world{ports: ports, state: "running", transport: &http.Transport{}}
	ended, end := context.WithCancel(context.WithoutCancel(t.Context()))
	w.ended = ended
	w.server = httptest.NewServer(w)
	t.Cleanup(func() {
		end()
		w.server.CloseClientConnections()
		w.server.Close()
		w.transport.CloseIdleConnections()
	})
	return w
}

func (w *world) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	port, ok := strings.CutSuffix(strings.Split(r.Host, ".")[0], "-sb-1")
	if !ok {
		w.api(out, r)
		return
	}
	w.mu.Lock()
	to := w.ports[port]
	w.mu.Unlock()
	if to == "" {
		out.WriteHeader(http.StatusBadGateway)
		return
	}
	if err := http.NewResponseController(out).EnableFullDuplex(); err != nil { // or an early answer ends the request
		panic(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: to})
	proxy.FlushInterval, proxy.Transport = -1, w.transport
	proxy.ErrorHandler = func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) }
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(w.ended, cancel)()
	proxy.ServeHTTP(out, r.WithContext(ctx))
}

// api is as much of CubeAPI as a look at a sandbox takes.
func (w *world) api(out http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	detail := map[string]any{
		"sandboxID": "sb-1", "templateID": "tpl-1", "clientID": "node-1", "state": w.state, "domain": "cube.test", "envdVersion": "0.6.13",
		"startedAt": "2026-11-29T00:00:00Z",
		"metadata": map[string]string{
			"hermesbox.name": "alice", "hermesbox.home": "alice", "hermesbox.workspace": "alice", "hermesbox.template": "tpl-1", "hermesbox.generation": "1",
		},
	}
	var body any
	switch {
	case w.refusal != "":
		key := r.Header.Get("X-Api-Key") + strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		http.Error(out, fmt.Sprintf(w.refusal, key), http.StatusUnauthorized)
		return
	case r.Method != http.MethodGet:
	case r.URL.Path == "/v2/sandboxes" && w.gone:
		body = []any{}
	case r.URL.Path == "/v2/sandboxes":
		body = []any{detail}
	case r.URL.Path == "/sandboxes/sb-1" && !w.gone:
		body = detail
	case r.URL.Path == "/v2/sandboxes/sb-1/logs" && !w.gone:
		entries := []any{}
		for i, line := range w.logs {
			entries = append(entries, map[string]string{"timestamp": "2026-11-29T00:00:" + strconv.Itoa(10+i) + "Z", "level": "info", "message": line})
		}
		body = map[string]any{"logs": entries}
	case r.URL.Path == "/templates":
		body = []any{}
	case r.URL.Path == "/health":
		body = map[string]any{"status": "ok", "sandboxes": 0}
	}
	out.Header().Set("Content-Type", "application/json")
	if body == nil {
		out.WriteHeader(http.StatusNotFound)
		body = map[string]any{"code": 404, "message": "sandbox not found"}
	}
	_ = json.NewEncoder(out).Encode(body)
}

// set changes the world under its lock.
func (w *world) set(change func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change()
}

// env is what makes hermesbox use this Cube.
func (w *world) env(t *testing.T) []string {
	t.Helper()
	host, port, err := net.SplitHostPort(w.server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	return []string{
		"CUBE_API_URL=" + w.server.URL, "CUBE_PROXY_NODE_IP=" + host, "CUBE_PROXY_PORT_HTTP=" + port, "CUBE_SANDBOX_DOMAIN=cube.test",
		"HOME=" + home, "XDG_STATE_HOME=" + home, "PATH=" + os.Getenv("PATH"),
	}
}

// run runs hermesbox in this process.
func (w *world) run(ctx context.Context, t *testing.T, stdin io.Reader, env []string, args ...string) ran {
	t.Helper()
	vars := map[string]string{}
	for _, v := range append(w.env(t), env...) {
		name, value, _ := strings.Cut(v, "=")
		vars[name] = value
	}
	var stdout, stderr bytes.Buffer
	code := cmd.Run(ctx, cmd.System{In: stdin, Out: &stdout, Err: &stderr, Getenv: func(name string) string { return vars[name] }}, args)
	return ran{code, stdout.String(), stderr.String()}
}

// command is hermesbox as a process of its own.
func (w *world) command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	path, err := program()
	if err != nil {
		t.Fatalf("building hermesbox: %v", err)
	}
	c := exec.CommandContext(t.Context(), path, args...)
	c.Env, c.Dir = w.env(t), t.TempDir()
	return c
}

// studio is a world whose sandbox is a container of the stand-in base.
func studio(t *testing.T) (*world, *dockertest.Container) {
	t.Helper()
	engine := dockertest.Default(t)
	engine.NeedBase(t)
	c := engine.Start(t, container.Config{Image: dockertest.BaseImage}, container.HostConfig{})
	info, err := engine.Client.ContainerInspect(t.Context(), c.ID)
	if err != nil {
		t.Fatal(err)
	}
	ip := info.NetworkSettings.Networks["bridge"].IPAddress
	w := startWorld(t, map[string]string{"49983": net.JoinHostPort(ip, "49983"), "9000": net.JoinHostPort(ip, "9000")})
	service, err := envd.New(envd.Direct(net.JoinHostPort(ip, "49983")), envd.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer service.Close()
	if err := service.WaitReady(t.Context(), time.Minute); err != nil {
		t.Fatal(err)
	}
	return w, c
}

// sh runs a script in the sandbox, by the Engine, and wants it to succeed.
func inContainer(t *testing.T, c *dockertest.Container, script string) string {
	t.Helper()
	got := c.Exec(t, "/bin/sh", "-c", script)
	if got.Code != 0 {
		t.Fatalf("%s: exit code %d\n%s%s", script, got.Code, got.Stdout, got.Stderr)
	}
	return got.Stdout
}
