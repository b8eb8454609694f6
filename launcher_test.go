package hermesbox_test

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hermesbox/hermesbox"
)

// studio is the launcher with its paths below a directory of the test, on a fake node and a fake hermes.
type studio struct {
	t    *testing.T
	root string
	port int
	env  []string
}

func newStudio(t *testing.T) *studio {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("the launcher runs on Linux")
	}
	s := &studio{t: t, root: t.TempDir(), port: freePort(t)}
	s.env = []string{"PATH=" + filepath.Join(s.root, "bin") + ":" + os.Getenv("PATH"), "LANG=C"}
	s.script("hermes-studio", s.launcher(t))
	// The fake node tells what it was given and prints what the real Web UI does: its token.
	s.script("opt/node24/bin/node", "#!/bin/sh\n/usr/bin/env -0 >"+s.path("seen.env")+"\necho \"$$ $PWD $*\" >"+s.path("seen.args")+
		"\necho 'Auth enabled — token: t0ken'\n[ -z \"$FAKE_SLEEP\" ] || exec -a hermes-web-ui sleep \"$FAKE_SLEEP\"\nexit ${FAKE_EXIT:-0}\n")
	s.script("opt/hermes-agent/.venv/bin/hermes", "#!/bin/sh\n")
	s.script("bin/id", "#!/bin/sh\n[ \"$1\" = -u ] && echo ${FAKE_UID:-0} || echo someone\n")
	s.write("opt/hermes-web-ui/lib/node_modules/hermes-web-ui/dist/server/index.js", "x")
	s.write("usr/share/hermesbox/home/config.yaml", "default: yes\n")
	s.write("root/.hermes/config.yaml", "a: 1\n")
	s.write("run/.keep", "")
	s.write("workspace/.keep", "")
	return s
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// launcher is recipe/hermes-studio with the constants of its head set below the root.
func (s *studio) launcher(t *testing.T) string {
	t.Helper()
	content, err := hermesbox.Recipe.ReadFile("recipe/hermes-studio")
	if err != nil {
		t.Fatal(err)
	}
	paths := regexp.MustCompile(`(?m)^([A-Za-z]+=)(/(?:root|opt|usr|run|workspace))`)
	text := paths.ReplaceAllString(string(content), "${1}"+s.root+"${2}")
	return strings.Replace(text, "\nport=9000\n", fmt.Sprintf("\nport=%d\n", s.port), 1)
}

func (s *studio) path(path string) string { return filepath.Join(s.root, path) }

func (s *studio) write(path, content string) {
	s.t.Helper()
	if err := os.MkdirAll(filepath.Dir(s.path(path)), 0o755); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(s.path(path), []byte(content), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

func (s *studio) script(path, content string) {
	s.t.Helper()
	s.write(path, content)
	if err := os.Chmod(s.path(path), 0o755); err != nil {
		s.t.Fatal(err)
	}
}

func (s *studio) read(path string) string {
	s.t.Helper()
	content, err := os.ReadFile(s.path(path))
	if err != nil {
		s.t.Fatal(err)
	}
	return string(content)
}

func (s *studio) mode(path string) os.FileMode {
	s.t.Helper()
	info, err := os.Stat(s.path(path))
	if err != nil {
		s.t.Fatal(err)
	}
	return info.Mode().Perm()
}

func (s *studio) command(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(s.t.Context(), s.path("hermes-studio"), args...)
	cmd.Env = s.env
	return cmd
}

// run returns the exit code and everything that was printed.
func (s *studio) run(args ...string) (int, string) {
	s.t.Helper()
	cmd := s.command(args...)
	out, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		s.t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

// seen is the environment that the Web UI got.
func (s *studio) seen() map[string]string {
	s.t.Helper()
	env := map[string]string{}
	for line := range strings.SplitSeq(s.read("seen.env"), "\x00") {
		name, value, _ := strings.Cut(line, "=")
		env[name] = value
	}
	return env
}

func TestLauncherStarts(t *testing.T) {
	t.Parallel()
	s := newStudio(t)
	s.env = append(s.env, "FAKE_EXIT=7", "FROM_CALLER=yes")
	code, out := s.run()
	if code != 7 {
		t.Fatalf("exit code %d, want the Web UI's own 7; output:\n%s", code, out)
	}
	want := map[string]string{
		"HOME": s.path("root"), "HERMES_HOME": s.path("root/.hermes"), "HERMES_BIN": s.path("opt/hermes-agent/.venv/bin/hermes"),
		"PORT": fmt.Sprint(s.port), "BIND_HOST": "0.0.0.0", "NODE_ENV": "production", "WORKSPACE_BASE": s.path("workspace"),
		"HERMES_DISABLE_LAZY_INSTALLS": "1", "HERMES_GATEWAY_NO_SUPERVISE": "1", "FROM_CALLER": "yes",
	}
	seen := s.seen()
	for name, value := range want {
		if seen[name] != value {
			t.Errorf("%s=%q, want %q", name, seen[name], value)
		}
	}
	if args := s.read("seen.args"); !strings.Contains(args, s.path("workspace")+" "+s.path("opt/hermes-web-ui/lib")) {
		t.Errorf("directory and arguments of the Web UI: %s", args)
	}
	if strings.Contains(out, "t0ken") || !strings.Contains(s.read("root/.hermes/web-ui/logs/hermes-studio.log"), "t0ken") {
		t.Errorf("the Web UI's output belongs in its log alone; printed:\n%s", out)
	}
	for path, mode := range map[string]os.FileMode{
		"root/.hermes/web-ui": 0o700, "root/.hermes/web-ui/logs/hermes-studio.log": 0o600, "root/.hermes/.env": 0o600,
	} {
		if got := s.mode(path); got != mode {
			t.Errorf("%s has mode %v, want %v", path, got, mode)
		}
	}
	if target, err := os.Readlink(s.path("root/.hermes-web-ui")); err != nil || target != s.path("root/.hermes/web-ui") {
		t.Errorf("~/.hermes-web-ui leads to %q (%v), want the home's web-ui", target, err)
	}
}

// TestLauncherBecomesTheWebUI: by exec, so that a signal to it reaches the Web UI and a second start sees it.
func TestLauncherBecomesTheWebUI(t *testing.T) {
	t.Parallel()
	s := newStudio(t)
	s.env = append(s.env, "FAKE_SLEEP=60")
	s.script("opt/node24/bin/node", strings.Replace(s.read("opt/node24/bin/node"), "#!/bin/sh", "#!/bin/bash", 1))
	cmd := s.command()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if _, err := os.Stat(s.path("seen.args")); err == nil {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the Web UI did not start")
		}
	}
	if args := s.read("seen.args"); !strings.HasPrefix(args, fmt.Sprint(cmd.Process.Pid, " ")) {
		t.Errorf("the Web UI is process %s, want %d", args, cmd.Process.Pid)
	}
	if code, out := s.run(); code != 69 || !strings.Contains(out, fmt.Sprintf("already running as process %d", cmd.Process.Pid)) {
		t.Errorf("a second start: exit %d, want 69; output:\n%s", code, out)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil || cmd.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGTERM {
		t.Errorf("SIGTERM ended it with %v", err)
	}
	s.env = append(s.env, "FAKE_SLEEP=")
	if code, out := s.run(); code != 0 {
		t.Errorf("a start after its end: exit %d; output:\n%s", code, out)
	}
}

func TestLauncherRefuses(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		prepare func(*studio)
		args    []string
		code    int
		want    string
	}{
		"unknown argument": {func(*studio) {}, []string{"--fast"}, 64, "usage:"},
		"not root":         {func(s *studio) { s.env = append(s.env, "FAKE_UID=1000") }, nil, 77, "run it as root"},
		"no web UI":        {func(s *studio) { s.remove("opt/hermes-web-ui") }, nil, 70, "dist/server/index.js is missing"},
		"no home":          {func(s *studio) { s.remove("root/.hermes") }, nil, 78, "there is no home"},
		"empty home":       {func(s *studio) { s.remove("root/.hermes/config.yaml") }, nil, 78, "hermesbox home seed"},
		"home not writable": {func(s *studio) {
			s.script("hermes-studio", regexp.MustCompile(`(?m)^home=.*`).ReplaceAllString(s.read("hermes-studio"), "home=/proc"))
		}, nil, 73, "the home /proc cannot be written"},
		"state is a file": {func(s *studio) { s.write("root/.hermes/web-ui", "") }, nil, 73, "web-ui cannot be made"},
		"state is no link": {func(s *studio) {
			s.write("root/.hermes-web-ui/.token", "")
		}, nil, 78, "is no link"},
		"keys are a directory":      {func(s *studio) { s.write("root/.hermes/.env/x", "") }, nil, 73, ".env is no file"},
		"overrides are a directory": {func(s *studio) { s.write("root/.hermes/.hermesbox/env/x", "") }, nil, 78, "env is no file"},
		"override without =":        {func(s *studio) { s.overrides("A=1\nsecret words\n") }, nil, 78, "line 2: no NAME=VALUE"},
		"override without a name":   {func(s *studio) { s.overrides("# c\n=x\n") }, nil, 78, "line 2: no name"},
		"override with a bad name":  {func(s *studio) { s.overrides("A-B=secret words\n") }, nil, 78, "line 1: no name"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStudio(t)
			tt.prepare(s)
			code, out := s.run(tt.args...)
			if code != tt.code || !strings.Contains(out, tt.want) {
				t.Errorf("exit %d, want %d, with %q; output:\n%s", code, tt.code, tt.want, out)
			}
			if strings.Contains(out, "secret") {
				t.Errorf("an override's text is printed:\n%s", out)
			}
			if _, err := os.Stat(s.path("seen.env")); err == nil {
				t.Error("the Web UI was started")
			}
		})
	}
}

func (s *studio) remove(path string) {
	s.t.Helper()
	if err := os.RemoveAll(s.path(path)); err != nil {
		s.t.Fatal(err)
	}
}

func (s *studio) overrides(content string) { s.write("root/.hermes/.hermesbox/env", content) }

func TestLauncherPortTaken(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"127.0.0.1", "[::]"} {
		s := newStudio(t)
		l, err := net.Listen("tcp", fmt.Sprintf("%s:%d", address, s.port))
		if err != nil {
			t.Logf("listening on %s: %v", address, err)
			continue
		}
		code, out := s.run()
		if code != 69 || !strings.Contains(out, fmt.Sprintf("port %d is taken", s.port)) {
			t.Errorf("%s: exit %d, want 69; output:\n%s", address, code, out)
		}
		l.Close()
	}
}

func TestLauncherHelp(t *testing.T) {
	t.Parallel()
	if code, out := newStudio(t).run("--help"); code != 0 || !strings.Contains(out, "usage: hermes-studio") {
		t.Errorf("exit %d; output:\n%s", code, out)
	}
}

// TestLauncherInit makes a home of nothing, and never touches one that is initialised.
func TestLauncherInit(t *testing.T) {
	t.Parallel()
	s := newStudio(t)
	s.remove("root/.hermes")
	if code, out := s.run("--init"); code != 0 {
		t.Fatalf("exit %d; output:\n%s", code, out)
	}
	if got := s.read("root/.hermes/config.yaml"); got != "default: yes\n" || s.mode("root/.hermes/config.yaml") != 0o600 || s.mode("root/.hermes") != 0o700 {
		t.Errorf("config.yaml holds %q, modes %v and %v", got, s.mode("root/.hermes/config.yaml"), s.mode("root/.hermes"))
	}
	s.write("root/.hermes/config.yaml", "mine: 1\n")
	if code, out := s.run("--init"); code != 0 || s.read("root/.hermes/config.yaml") != "mine: 1\n" {
		t.Errorf("exit %d, config.yaml %q; output:\n%s", code, s.read("root/.hermes/config.yaml"), out)
	}
}

// TestLauncherOverrides: values are taken as they are, and nothing in them is run.
func TestLauncherOverrides(t *testing.T) {
	t.Parallel()
	s := newStudio(t)
	s.write("root/.hermes/.env", "IN_BOTH=x\nAPI_SERVER_KEY=0123456789abcdef\n")
	s.overrides("# comment\n\nPLAIN=a b  c \nQUOTED=\"x\" 'y' \\z\nRUN=$(touch " + s.path("ran") + ")`touch " + s.path("ran") + "`\nEQUALS=a=b=c\nEMPTY=\n" +
		"HOME=/elsewhere\nPORT=1\nIFS=x\nPPID=1\nNODE_ENV=test\nIN_BOTH=y\nPATH=/nowhere\nLAST=end")
	code, out := s.run()
	if code != 0 {
		t.Fatalf("exit %d; output:\n%s", code, out)
	}
	seen := s.seen()
	want := map[string]string{
		"PLAIN": "a b  c ", "QUOTED": `"x" 'y' \z`, "RUN": "$(touch " + s.path("ran") + ")`touch " + s.path("ran") + "`",
		"EQUALS": "a=b=c", "EMPTY": "", "NODE_ENV": "test", "LAST": "end", "IN_BOTH": "y", "PATH": "/nowhere",
		"HOME": s.path("root"), "PORT": fmt.Sprint(s.port),
	}
	for name, value := range want {
		if got, ok := seen[name]; !ok || got != value {
			t.Errorf("%s=%q, want %q", name, got, value)
		}
	}
	if _, err := os.Stat(s.path("ran")); err == nil {
		t.Error("an override was run")
	}
	for _, warning := range []string{"sets HOME", "sets PORT", "sets IFS", "also sets IN_BOTH"} {
		if strings.Count(out, warning) != 1 {
			t.Errorf("want one warning that it %q; output:\n%s", warning, out)
		}
	}
	if got := s.mode("root/.hermes/.hermesbox/env"); got != 0o600 {
		t.Errorf("overrides have mode %v, want 0600", got)
	}
}

func TestLauncherKey(t *testing.T) {
	t.Parallel()
	made := regexp.MustCompile(`^API_SERVER_KEY=[0-9a-f]{64}$`)
	const long = "0123456789abcdef"
	tests := map[string]struct {
		env, overrides, caller string // the home's .env, the overrides, API_SERVER_KEY of the caller
		keep                   string // what must stay at the file's beginning
		key                    string // the line with the key; "": a made one
		warning                bool
	}{
		"no file":            {},
		"other lines":        {env: "A=1\n", keep: "A=1\n"},
		"no newline":         {env: "A=1", keep: "A=1\n"},
		"there already":      {env: "API_SERVER_KEY=" + long + "\nA=1\n", keep: "API_SERVER_KEY=" + long + "\nA=1\n", key: "API_SERVER_KEY=" + long},
		"there, quoted":      {env: "API_SERVER_KEY=\"" + long + "\"\n", key: "API_SERVER_KEY=\"" + long + "\""},
		"too short":          {env: "API_SERVER_KEY=short\n", key: "API_SERVER_KEY=short", warning: true},
		"empty":              {env: "A=1\nAPI_SERVER_KEY=\nB=2\n", keep: "A=1\nB=2\n"},
		"empty quotes":       {env: "API_SERVER_KEY=\"\"\nB=2\n", keep: "B=2\n"},
		"commented out":      {env: "#API_SERVER_KEY=" + long + "\n", keep: "#API_SERVER_KEY=" + long + "\n"},
		"of the overrides":   {overrides: "API_SERVER_KEY=" + long + "over\n", caller: long + "caller", key: "API_SERVER_KEY=" + long + "over"},
		"of the caller":      {caller: long + "caller", key: "API_SERVER_KEY=" + long + "caller"},
		"of the caller, bad": {caller: "short"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStudio(t)
			if tt.env != "" {
				s.write("root/.hermes/.env", tt.env)
			}
			if tt.overrides != "" {
				s.overrides(tt.overrides)
			}
			s.env = append(s.env, "API_SERVER_KEY="+tt.caller)
			code, out := s.run()
			if code != 0 {
				t.Fatalf("exit %d; output:\n%s", code, out)
			}
			file := s.read("root/.hermes/.env")
			if !strings.HasPrefix(file, tt.keep) {
				t.Errorf(".env does not begin with %q:\n%s", tt.keep, file)
			}
			lines := keyLines(file)
			if len(lines) != 1 || tt.key != "" && lines[0] != tt.key || tt.key == "" && !made.MatchString(lines[0]) {
				t.Errorf("lines with the key: %q, want one, %q or a made one", lines, tt.key)
			}
			if got := strings.Contains(out, "shorter than 16"); got != tt.warning {
				t.Errorf("warned of a short key: %v, want %v; output:\n%s", got, tt.warning, out)
			}
			if again, _ := s.run(); again != 0 || s.read("root/.hermes/.env") != file {
				t.Errorf("a second start (exit %d) changed .env to:\n%s", again, s.read("root/.hermes/.env"))
			}
		})
	}
}

func keyLines(file string) []string {
	var lines []string
	for scan := bufio.NewScanner(strings.NewReader(file)); scan.Scan(); {
		if strings.HasPrefix(scan.Text(), "API_SERVER_KEY") {
			lines = append(lines, scan.Text())
		}
	}
	return lines
}

// TestLauncherBrake: the sixth gateway start within two minutes is put off, unless a gateway lives.
func TestLauncherBrake(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		ages    []float64 // of the starts on the ledger, in seconds
		gateway bool
		waits   bool
	}{
		"no start":            {},
		"four":                {ages: []float64{1, 2, 3, 4}},
		"five":                {ages: []float64{118, 60, 3, 2, 1}, waits: true},
		"five, one long ago":  {ages: []float64{500, 118, 3, 2, 1}},
		"five, gateway lives": {ages: []float64{118, 60, 3, 2, 1}, gateway: true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStudio(t)
			var ledger bytes.Buffer
			for _, age := range tt.ages {
				fmt.Fprintf(&ledger, "%.6f\n", float64(time.Now().UnixMicro())/1e6-age)
			}
			s.write("root/.hermes/gateway-starts.log", ledger.String()+"garbage\n")
			if tt.gateway {
				s.liveGateway()
			} else { // one of an earlier sandbox on this home
				s.write("root/.hermes/gateway.pid", `{"pid": 99999999, "kind": "hermes-gateway"}`)
			}
			begin := time.Now()
			code, out := s.run()
			if code != 0 {
				t.Fatalf("exit %d; output:\n%s", code, out)
			}
			if strings.Contains(out, "/proc/") {
				t.Errorf("the old gateway is missed aloud:\n%s", out)
			}
			took := time.Since(begin)
			if waited := strings.Contains(out, "5 gateway starts within 120 s"); waited != tt.waits || waited != (took > 2*time.Second) {
				t.Errorf("waited: %v, %v; want %v; output:\n%s", waited, took, tt.waits, out)
			}
		})
	}
}

// liveGateway is a process that looks like a gateway, named by the home.
func (s *studio) liveGateway() {
	s.t.Helper()
	cmd := exec.CommandContext(s.t.Context(), "sh", "-c", "read line", "hermes", "gateway run")
	if _, err := cmd.StdinPipe(); err != nil {
		s.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	s.write("root/.hermes/gateway.pid", fmt.Sprintf(`{"pid": %d, "kind": "hermes-gateway"}`, cmd.Process.Pid))
}

func TestLauncherRotatesItsLog(t *testing.T) {
	t.Parallel()
	s := newStudio(t)
	const log = "root/.hermes/web-ui/logs/hermes-studio.log"
	s.write(log, strings.Repeat("x", 10_000_000))
	if code, out := s.run(); code != 0 {
		t.Fatalf("exit %d; output:\n%s", code, out)
	}
	if got := s.read(log); len(got) > 1000 || len(s.read(log+".1")) != 10_000_000 {
		t.Errorf("log of %d bytes, old one of %d", len(got), len(s.read(log+".1")))
	}
	if got := s.mode(log); got != 0o600 {
		t.Errorf("log has mode %v, want 0600", got)
	}
}
