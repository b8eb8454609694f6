// Package webui holds no Go code: the stand-in is the npm package beside these tests.
package webui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hermesbox/hermesbox/internal/dockertest"
)

// recordedToken and recordedKey are those of testdata/webui.jsonl.
const (
	recordedToken = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	recordedKey   = "k3y-0123456789abcdef0123456789"
)

// needNode returns the node program, or skips; where HERMESBOX_TEST_REQUIRE names node, its absence fails.
func needNode(t *testing.T) string {
	t.Helper()
	node, err := exec.LookPath("node")
	if err == nil {
		return node
	}
	dockertest.Missing(t, "node", err)
	return ""
}

// standin is one run of the server on homes of its own.
type standin struct {
	t       *testing.T
	home    string // HOME
	port    int    // of the Web UI
	gateway int    // the port in config.yaml before the start
	env     []string
	cmd     *exec.Cmd
	out     output
	done    chan error
}

// output collects what a process prints while a test reads it.
type output struct {
	mu   sync.Mutex
	text strings.Builder
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// newStandin prepares an empty HOME with a token, outside any container, with the fake hermes.
func newStandin(t *testing.T) *standin {
	t.Helper()
	needNode(t)
	home := t.TempDir()
	s := &standin{t: t, home: home, port: freePort(t), gateway: freePort(t)}
	s.env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "HERMES_HOME=" + filepath.Join(home, ".hermes"),
		fmt.Sprintf("PORT=%d", s.port), "BIND_HOST=127.0.0.1", "HERMES_BIN=" + abs(t, "testdata/fake-hermes.mjs"),
		"HERMES_WEB_UI_STANDIN_ANY_NODE=1", "HERMES_WEB_UI_STANDIN_WAIT_MS=4000",
		"HERMES_WEB_UI_STANDIN_MARKER=" + filepath.Join(home, "no-marker"),
	}
	s.write(".hermes-web-ui/.token", recordedToken+"\n")
	return s
}

func abs(t *testing.T, path string) string {
	t.Helper()
	full, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return full
}

// freePort finds a port whose successor is free too: a gateway start takes that one.
func freePort(t *testing.T) int {
	t.Helper()
	for range 50 {
		first, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		port := first.Addr().(*net.TCPAddr).Port
		second, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port+1))
		first.Close()
		if err == nil {
			second.Close()
			return port
		}
	}
	t.Fatal("no two free ports in a row")
	return 0
}

// write makes a file below HOME.
func (s *standin) write(path, content string) {
	s.t.Helper()
	full := filepath.Join(s.home, path)
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(full, []byte(content), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

func (s *standin) read(path string) string {
	s.t.Helper()
	content, err := os.ReadFile(filepath.Join(s.home, path))
	if err != nil {
		s.t.Fatal(err)
	}
	return string(content)
}

// configured gives the home what the launcher of the image gives it, with the recorded model and key.
func (s *standin) configured() {
	s.write(".hermes/config.yaml", fmt.Sprintf(`model:
  provider: custom
  base_url: http://127.0.0.1:8099/v1
  default: stub-model
  api_key: sk-stub-0000
platforms:
  api_server:
    extra:
      host: 127.0.0.1
      port: %d
`, s.gateway))
	s.write(".hermes/.env", "API_SERVER_KEY="+recordedKey+"\n")
}

// start runs the server; its gateway and itself are ended with the test.
func (s *standin) start() {
	s.t.Helper()
	s.cmd = exec.Command(needNode(s.t), abs(s.t, "package/dist/server/index.js"))
	s.cmd.Env, s.cmd.Stdout, s.cmd.Stderr = s.env, &s.out, &s.out
	s.cmd.WaitDelay = 5 * time.Second
	s.done = make(chan error, 1)
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	go func(cmd *exec.Cmd, done chan<- error) { done <- cmd.Wait() }(s.cmd, s.done)
	s.t.Cleanup(func() {
		s.stop(syscall.SIGKILL)
		s.stopGateway()
	})
}

// stop signals the server and returns its exit code, -1 where the signal ended it.
func (s *standin) stop(sig syscall.Signal) int {
	s.t.Helper()
	_ = s.cmd.Process.Signal(sig)
	return s.wait(5 * time.Second)
}

func (s *standin) wait(most time.Duration) int {
	s.t.Helper()
	select {
	case err := <-s.done:
		s.done <- err
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			return exit.ExitCode()
		}
		return 0
	case <-time.After(most):
		s.t.Fatalf("the server did not end within %v", most)
		return 0
	}
}

// stopGateway ends the gateway that the home names, whichever run started it.
func (s *standin) stopGateway() {
	if pid := s.gatewayPID(); pid > 0 {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

func (s *standin) gatewayPID() int {
	content, err := os.ReadFile(filepath.Join(s.home, ".hermes/gateway.pid"))
	if err != nil {
		return 0
	}
	var pid int
	if _, err := fmt.Sscanf(string(content), `{"pid":%d`, &pid); err != nil {
		return 0
	}
	return pid
}

func (s *standin) url(path string) string { return fmt.Sprintf("http://127.0.0.1:%d%s", s.port, path) }

// ready waits for the first answer.
func (s *standin) ready() {
	s.t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if status, _ := s.get("/api/auth/status", ""); status == http.StatusOK {
			return
		}
	}
	s.t.Fatalf("no answer within 20 s; output:\n%s", s.out.String())
}

// get returns status and body, or 0 where nothing answers.
func (s *standin) get(path, token string) (int, string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url(path), nil)
	if err != nil {
		s.t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, ""
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}
