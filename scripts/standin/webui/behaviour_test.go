package webui

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// started is a configured stand-in that answers.
func started(t *testing.T) *standin {
	t.Helper()
	s := newStandin(t)
	s.configured()
	s.start()
	s.ready()
	return s
}

func TestTokenFile(t *testing.T) {
	t.Parallel()
	s := newStandin(t)
	s.configured()
	if err := os.RemoveAll(filepath.Join(s.home, ".hermes-web-ui")); err != nil {
		t.Fatal(err)
	}
	s.start()
	s.ready()
	token := s.read(".hermes-web-ui/.token")
	if !regexp.MustCompile(`^[0-9a-f]{64}\n$`).MatchString(token) {
		t.Errorf("token file holds %q, want 64 hex digits and a newline", token)
	}
	info, err := os.Stat(filepath.Join(s.home, ".hermes-web-ui/.token"))
	if err != nil {
		t.Fatal(err)
	}
	if got := info.Mode().Perm(); got != 0o600 {
		t.Errorf("token file has mode %v, want 0600", got)
	}
	if line := "Auth enabled — token: " + token; !strings.Contains(s.out.String(), line) || !strings.Contains(s.read(".hermes-web-ui/logs/server.log"), line) {
		t.Error("the token is not printed and logged, as the real one does")
	}
	s.stop(syscall.SIGTERM)
	s.start()
	s.ready()
	if got := s.read(".hermes-web-ui/.token"); got != token {
		t.Error("the token changed with a restart")
	}
}

func TestNoTokenFileWithAuthToken(t *testing.T) {
	t.Parallel()
	for _, env := range []string{"AUTH_TOKEN=lan-secret-1", "AUTH_DISABLED=true"} {
		s := newStandin(t)
		s.configured()
		if err := os.RemoveAll(filepath.Join(s.home, ".hermes-web-ui")); err != nil {
			t.Fatal(err)
		}
		s.env = append(s.env, env)
		s.start()
		s.ready()
		if _, err := os.Stat(filepath.Join(s.home, ".hermes-web-ui/.token")); !os.IsNotExist(err) {
			t.Errorf("%s: a token file was written (%v)", env, err)
		}
	}
}

// TestStop: a signal ends the server with 0 and leaves the gateway, which the next start uses without a new port.
func TestStop(t *testing.T) {
	t.Parallel()
	s := started(t)
	pid := s.gatewayPID()
	if code := s.stop(syscall.SIGTERM); code != 0 {
		t.Errorf("exit code after SIGTERM %d, want 0", code)
	}
	if err := syscall.Kill(pid, 0); err != nil {
		t.Errorf("the gateway went with the server: %v", err)
	}
	before := s.read(".hermes/config.yaml")
	s.start()
	s.ready()
	if got := s.gatewayPID(); got != pid {
		t.Errorf("gateway is process %d, want the old one %d", got, pid)
	}
	if diff := cmp.Diff(before, s.read(".hermes/config.yaml")); diff != "" {
		t.Errorf("config.yaml changed though no gateway was started:\n%s", diff)
	}
	if code := s.stop(syscall.SIGINT); code != 0 {
		t.Errorf("exit code after SIGINT %d, want 0", code)
	}
}

// TestPortGrows: each start that starts a gateway writes a port one higher, and keeps the rest of config.yaml.
func TestPortGrows(t *testing.T) {
	t.Parallel()
	s := started(t)
	s.stop(syscall.SIGTERM)
	s.stopGateway()
	time.Sleep(100 * time.Millisecond)
	s.start()
	s.ready()
	config := s.read(".hermes/config.yaml")
	for _, want := range []string{fmt.Sprintf("port: %d\n", s.gateway+2), "base_url: http://127.0.0.1:8099/v1\n", "default: stub-model\n", "cors_origins: \"*\"\n"} {
		if !strings.Contains(config, want) {
			t.Errorf("config.yaml lacks %q:\n%s", want, config)
		}
	}
}

// TestUnreadableConfig: what the reader does not understand is not rewritten.
func TestUnreadableConfig(t *testing.T) {
	t.Parallel()
	s := newStandin(t)
	const content = "model: &anchor\n  default: x\nother: *anchor\n"
	s.write(".hermes/config.yaml", content)
	s.env = append(s.env, "HERMES_WEB_UI_STANDIN_WAIT_MS=200")
	s.start()
	s.ready()
	if got := s.read(".hermes/config.yaml"); got != content {
		t.Errorf("config.yaml is now %q", got)
	}
	if log := s.read(".hermes-web-ui/logs/server.log"); !strings.Contains(log, "cannot write") || !strings.Contains(log, "line 1") {
		t.Errorf("the log does not say so:\n%s", log)
	}
	if status, _ := s.get("/api/hermes/config", recordedToken); status != http.StatusInternalServerError {
		t.Errorf("config answers %d, want 500", status)
	}
}

// TestPortTaken: it stays alive without a listener, and only its log tells.
func TestPortTaken(t *testing.T) {
	t.Parallel()
	s := newStandin(t)
	s.configured()
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", s.port))
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	s.start()
	for end := time.Now().Add(15 * time.Second); !strings.Contains(s.logged(), "EADDRINUSE"); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the log does not name EADDRINUSE:\n%s", s.logged())
		}
	}
	if err := s.cmd.Process.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("it did not stay alive: %v", err)
	}
}

func (s *standin) logged() string {
	content, err := os.ReadFile(filepath.Join(s.home, ".hermes-web-ui/logs/server.log"))
	if err != nil {
		return ""
	}
	return string(content)
}

func TestNoHermes(t *testing.T) {
	t.Parallel()
	s := newStandin(t)
	s.configured()
	s.env = append(s.env, "HERMES_BIN=hermes-that-is-nowhere")
	s.start()
	if code := s.wait(5 * time.Second); code != 1 {
		t.Errorf("exit code %d, want 1", code)
	}
	if !strings.Contains(s.out.String(), "hermes-that-is-nowhere") {
		t.Errorf("output does not name the program:\n%s", s.out.String())
	}
}

func TestContainerWithoutHostNeverListens(t *testing.T) {
	t.Parallel()
	s := newStandin(t)
	s.write(".hermes/config.yaml", "model:\n  provider: custom\n")
	marker(s)
	s.start()
	for end := time.Now().Add(30 * time.Second); !strings.Contains(s.logged(), "No free port"); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the log does not say that there is no free port:\n%s", s.logged())
		}
	}
	if status, _ := s.get("/", ""); status != 0 {
		t.Errorf("it answers %d, want no listener", status)
	}
	if err := s.cmd.Process.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("it did not stay alive: %v", err)
	}
}

func TestOldNode(t *testing.T) {
	t.Parallel()
	s := newStandin(t)
	s.env = append(s.env, "HERMES_WEB_UI_STANDIN_ANY_NODE=")
	out, err := exec.Command(needNode(t), "--version").Output()
	if err != nil {
		t.Fatal(err)
	}
	var major, minor int
	if _, err := fmt.Sscanf(string(out), "v%d.%d", &major, &minor); err != nil {
		t.Fatal(err)
	}
	s.configured()
	s.start()
	if major > 22 || major == 22 && minor >= 5 {
		s.ready()
		return
	}
	if code := s.wait(5 * time.Second); code != 1 {
		t.Errorf("exit code under Node %s: %d, want 1", out, code)
	}
}

// TestLockLasts: a lock outlives a restart, and the right token passes all the same.
func TestLockLasts(t *testing.T) {
	t.Parallel()
	s := started(t)
	for _, want := range []int{401, 401, 401, 429} {
		if status, _ := s.get("/api/hermes/skills", "wrong"); status != want {
			t.Errorf("a wrong token got %d, want %d", status, want)
		}
	}
	s.stop(syscall.SIGTERM)
	s.start()
	s.ready()
	if status, _ := s.get("/api/hermes/skills", "wrong"); status != 429 {
		t.Errorf("after a restart a wrong token got %d, want 429", status)
	}
	if status, _ := s.get("/api/hermes/skills", recordedToken); status != 200 {
		t.Errorf("the right token got %d, want 200", status)
	}
	if status, _ := s.get("/api/hermes/skills?token="+recordedToken, ""); status != 200 {
		t.Errorf("the right token in the query got %d, want 200", status)
	}
}

// TestTerminal: 401 without token; with it the socket is cut.
func TestTerminal(t *testing.T) {
	t.Parallel()
	s := started(t)
	for query, want := range map[string]string{"": "HTTP/1.1 401", "?token=" + recordedToken: ""} {
		conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", s.port))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if err := conn.SetDeadline(time.Now().Add(5 * time.Second)); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(conn, "GET /api/hermes/terminal%s HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n", query)
		line, _ := bufio.NewReader(conn).ReadString('\n')
		if !strings.HasPrefix(line, want) || want == "" && line != "" {
			t.Errorf("answer to %q is %q, want %q", query, line, want)
		}
	}
}

func TestFilesStayInHome(t *testing.T) {
	t.Parallel()
	s := started(t)
	for path, want := range map[string]int{
		"files/read?path=.env": 200, "files/read?path=..%2Fx": 400, "files/read?path=%2Fetc%2Fpasswd": 400,
		"files/read?path=nope": 404, "files/read?path=": 400, "files/list?path=..": 400, "workspace/folders?path=..": 404,
	} {
		if status, body := s.get("/api/hermes/"+path, recordedToken); status != want {
			t.Errorf("%s: %d %s, want %d", path, status, body, want)
		}
	}
}

// TestYAML checks the reader and, by a second reading of what it writes, the writer.
func TestYAML(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, yaml, want string }{
		{"empty", "# nothing\n", `{}`},
		{"document start", "---\na: 1\n", `{"a":1}`},
		{"nested", "a:\n  b:\n    c: x\n  d: 2\ne: null\n", `{"a":{"b":{"c":"x"},"d":2},"e":null}`},
		{"lists", "a:\n- x\n- y: 1\n  z: 2\nb:\n  - [1, 'two', {k: v}]\nc: []\nd: {}\n", `{"a":["x",{"y":1,"z":2}],"b":[[1,"two",{"k":"v"}]],"c":[],"d":{}}`},
		{"scalars", "a: true\nb: 'it''s'\nc: \"t\\tx\\u00e9\"\nd: -1.5\ne: ~\nf: http://h:1/v1 # c\ng: 0x1\nh: on\n", `{"a":true,"b":"it's","c":"t\txé","d":-1.5,"e":null,"f":"http://h:1/v1","g":"0x1","h":"on"}`},
		{"block text", "a: |\n  one\n    two\n\nb: >-\n  x\n  y\n", `{"a":"one\n  two\n","b":"x y"}`},
		{"odd strings", "a: ''\nb: '*'\nc: '#x'\nd: 'a: b'\ne: '8080'\nf: 'yes'\n'g h': ' x '\n", `{"a":"","b":"*","c":"#x","d":"a: b","e":"8080","f":"yes","g h":" x "}`},
		{"no prototype", "__proto__: 1\na: 2\n", `{"__proto__":1,"a":2}`},
		{"anchor", "a: &x 1\n", "error line 1"},
		{"tag", "a: !!str 1\n", "error line 1"},
		{"alias", "a: *x\n", "error line 1"},
		{"twice", "a: 1\na: 2\n", "error line 2"},
		{"tab", "a:\n\tb: 1\n", "error line 2"},
		{"two lines", "a: x\n  y\n", "error line 2"},
		{"open quote", "a: 'x\n", "error line 1"},
		{"open list", "a: [1,\n", "error line 1"},
		{"garbage", "a: 1\n- b\n", "error line 2"},
		{"colon", "a: b: c\n", "error line 1"},
	}
	const script = `import { parse, dump } from './package/dist/server/yaml.js'
const out = JSON.parse(process.argv[1]).map((text) => {
  let value
  try { value = parse(text) } catch (err) { return 'error ' + err.message }
  const again = JSON.stringify(parse(dump(value)))
  return again === JSON.stringify(value) ? again : 'dump changed it to ' + again
})
console.log(JSON.stringify(out))`
	var texts []string
	for _, tt := range tests {
		texts = append(texts, tt.yaml)
	}
	arg, err := json.Marshal(texts)
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(needNode(t), "--input-type=module", "-e", script, "--", string(arg)).Output()
	if err != nil {
		t.Fatalf("running node: %v", err)
	}
	var got []string
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatal(err)
	}
	for i, tt := range tests {
		if got[i] != tt.want && (!strings.HasPrefix(tt.want, "error") || !strings.HasPrefix(got[i], tt.want+":")) {
			t.Errorf("%s: got %s, want %s", tt.name, got[i], tt.want)
		}
	}
}

// TestCommandLine: background start with the URL, status, a second start refused, stop.
func TestCommandLine(t *testing.T) {
	t.Parallel()
	s := newStandin(t)
	s.configured()
	t.Cleanup(s.stopGateway)
	run := func(args ...string) (int, string) {
		cmd := exec.Command(needNode(t), append([]string{abs(t, "package/bin/hermes-web-ui.mjs")}, args...)...)
		cmd.Env = s.env
		out, err := cmd.CombinedOutput()
		if err != nil && cmd.ProcessState == nil {
			t.Fatal(err)
		}
		return cmd.ProcessState.ExitCode(), string(out)
	}
	steps := []struct {
		args string
		code int
		want string
	}{
		{"--version", 0, "hermes-web-ui v0.5.16"},
		{"status", 0, "is not running"},
		{"stop", 1, "is not running"},
		{fmt.Sprintf("start --port %d --no-open", s.port), 0, fmt.Sprintf("http://localhost:%d/#/?token=%s", s.port, recordedToken)},
		{"status", 0, "is running"},
		{fmt.Sprintf("start %d", s.port), 1, "already running"},
		{"stop", 0, "stopped"},
		{"status", 0, "is not running"},
		{"nonsense", 2, "nonsense"},
	}
	for _, step := range steps {
		code, out := run(strings.Fields(step.args)...)
		if code != step.code || !strings.Contains(out, step.want) {
			t.Errorf("%s: exit %d, want %d, with %q; output:\n%s", step.args, code, step.code, step.want, out)
		}
	}
}

// TestMakePackage: the same tarball every time, an npm package with the name and version it stands in for.
func TestMakePackage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var content [2][]byte
	for i := range content {
		file := filepath.Join(dir, fmt.Sprintf("%d.tgz", i))
		if out, err := exec.Command("sh", "make-package.sh", file).CombinedOutput(); err != nil {
			t.Fatalf("make-package.sh: %v\n%s", err, out)
		}
		var err error
		if content[i], err = os.ReadFile(file); err != nil {
			t.Fatal(err)
		}
	}
	if string(content[0]) != string(content[1]) {
		t.Error("two runs made different tarballs")
	}
	out, err := exec.Command("tar", "-xzOf", filepath.Join(dir, "0.tgz"), "package/package.json").Output()
	if err != nil {
		t.Fatal(err)
	}
	var meta struct{ Name, Version, Description string }
	if err := json.Unmarshal(out, &meta); err != nil {
		t.Fatal(err)
	}
	if meta.Name != "hermes-web-ui" || meta.Version != "0.5.16" || !strings.HasPrefix(meta.Description, "STAND-IN") {
		t.Errorf("package.json says %+v", meta)
	}
	if out, err := exec.Command("sh", "make-package.sh").CombinedOutput(); err == nil || !strings.Contains(string(out), "usage") {
		t.Errorf("without an argument: %v, %s", err, out)
	}
	if err := filepath.WalkDir("package", func(path string, d fs.DirEntry, err error) error {
		if d.Name() == "node_modules" {
			t.Errorf("%s: the stand-in has no dependencies", path)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
}
