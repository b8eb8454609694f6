package envd_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hermesbox/hermesbox/internal/envd"
)

// run runs a line of sh.
func run(t *testing.T, c *envd.Client, cmd envd.Command, stdin io.Reader) (exit envd.Exit, stdout, stderr string) {
	t.Helper()
	var out, errOut bytes.Buffer
	exit, err := c.Run(t.Context(), cmd, stdin, envd.Output{Stdout: &out, Stderr: &errOut})
	if err != nil {
		t.Fatal(err)
	}
	return exit, out.String(), errOut.String()
}

func sh(line string, args ...string) envd.Command {
	return envd.Command{Path: "/bin/sh", Args: append([]string{"-c", line, "sh"}, args...)}
}

func TestExits(t *testing.T) {
	t.Parallel()
	for _, version := range []string{newest, oldest} {
		c := connect(t, envd.Direct(startService(t, version).Listener.Addr().String()))
		for _, test := range []struct {
			name string
			cmd  envd.Command
			want envd.Exit
			text string
		}{
			{"success", sh("true"), envd.Exit{}, "exit status 0"},
			{"failure", sh("exit 7"), envd.Exit{Code: 7}, "exit status 7"},
			{"highest", sh("exit 255"), envd.Exit{Code: 255}, "exit status 255"},
			{"missing", envd.Command{Path: "/no/such"}, envd.Exit{Code: 127}, "exit status 127"},
			{"not executable", envd.Command{Path: "/etc/passwd"}, envd.Exit{Code: 126}, "exit status 126"},
			{"killed", sh("kill -KILL $$"), envd.Exit{Code: -1, Signal: "killed"}, "signal: killed"},
			{"terminated", sh("kill -TERM $$"), envd.Exit{Code: -1, Signal: "terminated"}, "signal: terminated"},
			{"login shell", envd.Shell("exit 3"), envd.Exit{Code: 3}, "exit status 3"},
		} {
			t.Run(version+"/"+test.name, func(t *testing.T) {
				t.Parallel()
				got, _, _ := run(t, c, test.cmd, nil)
				if got != test.want || got.String() != test.text || got.OK() != (test.want == envd.Exit{}) {
					t.Errorf("%v (%s), want %v", got, got, test.want)
				}
			})
		}
	}
}

func TestOutput(t *testing.T) {
	t.Parallel()
	c := service(t)
	_, stdout, stderr := run(t, c, sh(`printf 'out\0\n'; printf err >&2; printf "%s" "$1"`, "é x"), nil)
	if stdout != "out\x00\né x" || stderr != "err" {
		t.Errorf("stdout %q, stderr %q", stdout, stderr)
	}
	cmd := sh(`echo "$A|$HOME|$(pwd)"`)
	cmd.Env, cmd.Dir = map[string]string{"A": "b c"}, "/tmp"
	if _, stdout, _ = run(t, c, cmd, nil); !strings.HasPrefix(stdout, "b c|/") || !strings.HasSuffix(stdout, "|/tmp\n") {
		t.Errorf("stdout %q", stdout)
	}
	if exit, stdout, _ := run(t, c, sh("cat"), nil); !exit.OK() || stdout != "" {
		t.Errorf("no stdin: %v, %q", exit, stdout)
	}
	exit, stdout, _ := run(t, c, sh("head -c 3000000 /dev/zero | tr '\\0' z"), nil)
	if !exit.OK() || len(stdout) != 3000000 || strings.Trim(stdout, "z") != "" {
		t.Errorf("%v, %d bytes", exit, len(stdout))
	}
}

// TestStreaming: output comes while the command runs.
func TestStreaming(t *testing.T) {
	t.Parallel()
	c := service(t)
	p, err := c.Start(t.Context(), envd.Command{Path: "/bin/cat", Stdin: true})
	if err != nil {
		t.Fatal(err)
	}
	r, w := io.Pipe()
	var wg sync.WaitGroup
	wg.Go(func() {
		exit, err := p.Wait(t.Context(), envd.Output{Stdout: w})
		if err != nil || !exit.OK() {
			t.Errorf("%v, %v", exit, err)
		}
		w.Close()
	})
	for _, line := range []string{"one\n", "two\n"} {
		if err := p.Send(t.Context(), []byte(line)); err != nil {
			t.Fatal(err)
		}
		got := make([]byte, len(line))
		if _, err := io.ReadFull(r, got); err != nil || string(got) != line {
			t.Fatalf("got %q, %v", got, err)
		}
	}
	if err := p.CloseStdin(t.Context()); err != nil {
		t.Error(err)
	}
	if rest, err := io.ReadAll(r); err != nil || len(rest) != 0 {
		t.Errorf("rest %q, %v", rest, err)
	}
	wg.Wait()
}

func TestStdin(t *testing.T) {
	t.Parallel()
	c := service(t)
	big := strings.Repeat("0123456789abcdef", 20000)
	exit, stdout, _ := run(t, c, envd.Command{Path: "/bin/cat"}, strings.NewReader(big))
	if !exit.OK() || stdout != big {
		t.Errorf("%v, %d bytes", exit, len(stdout))
	}
	// A command that does not read is no error, however much there is.
	exit, _, _ = run(t, c, sh("exit 4"), strings.NewReader(strings.Repeat("x", 1<<20)))
	if exit.Code != 4 {
		t.Errorf("exit %v", exit)
	}
}

// TestInputOfTheDead: as with a pipe, that nobody reads any more is no error.
func TestInputOfTheDead(t *testing.T) {
	t.Parallel()
	c := service(t)
	p, err := c.Start(t.Context(), envd.Command{Path: "/bin/true", Stdin: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Wait(t.Context(), envd.Output{}); err != nil {
		t.Fatal(err)
	}
	if err := p.Input(t.Context(), strings.NewReader("x")); err != nil {
		t.Error(err)
	}
	if err := p.Send(t.Context(), []byte("x")); !errors.Is(err, envd.ErrNotFound) {
		t.Errorf("error %v", err)
	}
}

// TestStdinFails: a command does not take a part of its input for the whole.
func TestStdinFails(t *testing.T) {
	t.Parallel()
	c := service(t)
	broken := io.MultiReader(strings.NewReader("part"), iotest.ErrReader(errors.New("disk gone")))
	exit, err := c.Run(t.Context(), sh("cat >/dev/null; sleep 0"), broken, envd.Output{})
	if err == nil || !strings.Contains(err.Error(), "reading the input of a command: disk gone") || exit.Signal != "killed" {
		t.Errorf("%v, %v", exit, err)
	}
	file := filepath.Join(t.TempDir(), "f")
	broken = io.MultiReader(strings.NewReader("part"), iotest.ErrReader(errors.New("disk gone")))
	if err := c.Put(t.Context(), file, 0o600, broken); err == nil || !strings.Contains(err.Error(), "disk gone") {
		t.Errorf("error %v", err)
	}
	left, err := os.ReadDir(filepath.Dir(file))
	if err != nil || len(left) != 0 {
		t.Errorf("left are %v, %v", left, err)
	}
}

func TestStartErrors(t *testing.T) {
	t.Parallel()
	c := service(t)
	for _, test := range []struct {
		name string
		cmd  envd.Command
		err  string
	}{
		{"no directory", envd.Command{Path: "/bin/true", Dir: "/no/such"}, "/process.Process/Start: invalid_argument: cwd"},
		{"a zero byte", envd.Command{Path: "/bin/true", Args: []string{"a\x00b"}}, "invalid_argument"},
	} {
		_, err := c.Run(t.Context(), test.cmd, nil, envd.Output{})
		if err == nil || !strings.Contains(err.Error(), test.err) {
			t.Errorf("%s: %v", test.name, err)
		}
	}
	nobody, err := envd.New(envd.Direct(startService(t, newest).Listener.Addr().String()), envd.Options{User: "nosuchuser"})
	if err != nil {
		t.Fatal(err)
	}
	defer nobody.Close()
	if _, err := nobody.Run(t.Context(), sh("true"), nil, envd.Output{}); !errors.Is(err, envd.ErrUnauthenticated) {
		t.Errorf("unknown user: %v", err)
	}
}

func TestTerminal(t *testing.T) {
	t.Parallel()
	c := service(t)
	cmd := sh(`stty size; read x; stty size; echo "got $x"`)
	cmd.Terminal = &envd.Size{Columns: 100, Rows: 30}
	p, err := c.Start(t.Context(), cmd)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	first := make(chan struct{})
	seen := writer(func(b []byte) {
		if out.Write(b); strings.Contains(out.String(), "30 100") && first != nil {
			close(first)
			first = nil
		}
	})
	started := first
	var wg sync.WaitGroup
	wg.Go(func() {
		if exit, err := p.Wait(t.Context(), envd.Output{Stdout: seen}); err != nil || !exit.OK() {
			t.Errorf("%v, %v", exit, err)
		}
	})
	<-started
	if err := c.Resize(t.Context(), p.PID, envd.Size{Columns: 80, Rows: 24}); err != nil {
		t.Error(err)
	}
	if err := p.Send(t.Context(), []byte("typed\r")); err != nil {
		t.Error(err)
	}
	wg.Wait()
	if text := out.String(); !strings.Contains(text, "24 80") || !strings.Contains(text, "got typed") {
		t.Errorf("the terminal showed %q", text)
	}
}

type writer func([]byte)

func (w writer) Write(b []byte) (int, error) { w(b); return len(b), nil }

func TestSignal(t *testing.T) {
	t.Parallel()
	c := service(t)
	for signal, want := range map[envd.Signal]string{envd.Terminate: "terminated", envd.Kill: "killed"} {
		p, err := c.Start(t.Context(), envd.Command{Path: "/bin/sleep", Args: []string{"600"}})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Signal(t.Context(), p.PID, signal); err != nil {
			t.Fatal(err)
		}
		if exit, err := p.Wait(t.Context(), envd.Output{}); err != nil || exit.Signal != want {
			t.Errorf("%s: %v, %v", signal, exit, err)
		}
	}
	if err := c.Signal(t.Context(), 1<<22+1, envd.Kill); !errors.Is(err, envd.ErrNotFound) {
		t.Errorf("no such process: %v", err)
	}
}

// TestCloseAndConnect: a client that goes away leaves the command running.
func TestCloseAndConnect(t *testing.T) {
	t.Parallel()
	for _, version := range []string{newest, oldest} {
		c := connect(t, envd.Direct(startService(t, version).Listener.Addr().String()))
		cmd := envd.Command{Path: "/bin/cat", Stdin: true, Tag: "mine"}
		p, err := c.Start(t.Context(), cmd)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		list, err := c.List(t.Context())
		if err != nil || !slices.ContainsFunc(list, func(i envd.ProcessInfo) bool { return i.PID == p.PID && i.Tag == "mine" && i.Path == "/bin/cat" }) {
			t.Errorf("the list is %+v, %v", list, err)
		}
		again, err := c.Connect(t.Context(), p.PID, false)
		if err != nil || again.PID != p.PID {
			t.Fatalf("%+v, %v", again, err)
		}
		if err := again.Input(t.Context(), strings.NewReader("later")); err != nil {
			t.Error(err)
		}
		var out bytes.Buffer
		if exit, err := again.Wait(t.Context(), envd.Output{Stdout: &out}); err != nil || !exit.OK() || out.String() != "later" {
			t.Errorf("%v, %q, %v", exit, out.String(), err)
		}
		_, err = c.Connect(t.Context(), 1<<22+1, false)
		if !errors.Is(err, envd.ErrNotFound) {
			t.Errorf("no such process: %v", err)
		}
	}
}

// alive tells whether a process runs and is no zombie.
func alive(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

// TestCancel: the command and its children end with the context where that was
// asked, and only there.
func TestCancel(t *testing.T) {
	t.Parallel()
	c := service(t)
	for _, kill := range []bool{true, false} {
		ctx, cancel := context.WithCancel(t.Context())
		cmd := sh(`sleep 600 & echo $!; (sleep 600; true) & echo $!; wait`)
		cmd.KillOnCancel = kill
		p, err := c.Start(ctx, cmd)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		_, err = p.Wait(ctx, envd.Output{Stdout: writer(func(b []byte) {
			if out.Write(b); strings.Count(out.String(), "\n") == 2 {
				cancel()
			}
		})})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
		pids := []int{p.PID}
		for _, line := range strings.Fields(out.String()) {
			pid, err := strconv.Atoi(line)
			if err != nil {
				t.Fatal(err)
			}
			pids = append(pids, pid)
		}
		var left []int
		for _, pid := range pids {
			end := time.Now().Add(2 * time.Second)
			for kill && alive(pid) && time.Now().Before(end) {
				time.Sleep(10 * time.Millisecond)
			}
			if alive(pid) {
				left = append(left, pid)
			}
		}
		want := pids
		if kill {
			want = nil
		}
		if diff := cmp.Diff(want, left); diff != "" {
			t.Errorf("kill %v: alive are %s", kill, diff)
		}
		if err := c.KillTree(t.Context(), p.PID); err != nil {
			t.Error(err)
		}
	}
}

// slowStart holds back the answer to a start until released.
type slowStart struct {
	http.Handler
	started chan struct{}
	release chan struct{}
}

func (s *slowStart) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasSuffix(r.URL.Path, "/Start") && s.started != nil {
		w = &slowWriter{ResponseWriter: w, s: s}
	}
	s.Handler.ServeHTTP(w, r)
}

type slowWriter struct {
	http.ResponseWriter
	s    *slowStart
	once sync.Once
}

func (w *slowWriter) Write(b []byte) (int, error) {
	w.once.Do(func() {
		if w.s.started != nil {
			close(w.s.started)
			w.s.started = nil // the commands that clean up are not held
			<-w.s.release
		}
	})
	return w.ResponseWriter.Write(b)
}

func (w *slowWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *slowWriter) Flush() { w.ResponseWriter.(http.Flusher).Flush() }

// TestCancelWhileStarting: a command whose id is not known yet is killed too.
func TestCancelWhileStarting(t *testing.T) {
	t.Parallel()
	slow := &slowStart{Handler: startService(t, newest).Config.Handler, started: make(chan struct{}), release: make(chan struct{})}
	s := httptest.NewServer(slow)
	t.Cleanup(s.Close)
	c := connect(t, envd.Direct(s.Listener.Addr().String()))
	ctx, cancel := context.WithCancel(t.Context())
	file := filepath.Join(t.TempDir(), "pid")
	cmd := sh(`echo $$ >"$1"; exec sleep 600`, file)
	cmd.KillOnCancel = true
	started := slow.started
	time.AfterFunc(50*time.Millisecond, func() {
		<-started
		cancel()
		time.AfterFunc(50*time.Millisecond, func() { close(slow.release) })
	})
	if _, err := c.Start(ctx, cmd); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if list, err := c.List(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("running are %+v, %v", list, err)
	}
}

// TestCancelledBefore: nothing is waited for.
func TestCancelledBefore(t *testing.T) {
	t.Parallel()
	c := service(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("stopped by the test"))
	start := time.Now()
	_, err := c.Start(ctx, sh("exec sleep 600"))
	if err == nil || !strings.Contains(err.Error(), "/process.Process/Start: stopped by the test") {
		t.Errorf("error %v", err)
	}
	if err := c.WaitReady(ctx, time.Minute); !errors.Is(err, context.Canceled) || time.Since(start) > 5*time.Second {
		t.Errorf("error %v after %s", err, time.Since(start))
	}
}

// TestCannotKill: that a command may have been left is said.
func TestCannotKill(t *testing.T) {
	t.Parallel()
	s := startService(t, newest)
	proxy := startProxy(t, s)
	c := connect(t, envd.ByPath(proxyAt(t, proxy), envd.Port, "sb-1"))
	ctx, cancel := context.WithCancel(t.Context())
	cmd := sh("echo; exec sleep 600")
	cmd.KillOnCancel = true
	p, err := c.Start(ctx, cmd)
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.Wait(ctx, envd.Output{Stdout: writer(func([]byte) {
		proxy.Listener.Close()
		cancel()
	})})
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "the command may still be running: ") {
		t.Errorf("error %v", err)
	}
	if err := connect(t, envd.Direct(s.Listener.Addr().String())).KillTree(t.Context(), p.PID); err != nil {
		t.Error(err)
	}
}

// TestSecretsInErrors: what was given to a command is not printed back.
func TestSecretsInErrors(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.WriteHeader(400)
		w.Write(body) //nolint:errcheck // the client then fails
	}))
	t.Cleanup(s.Close)
	cmd := sh("true")
	cmd.Env = map[string]string{"MODEL_API_KEY": "sk-0123456789", "PLAIN": "plain-0123456789"}
	_, err := connect(t, envd.Direct(s.Listener.Addr().String())).Start(t.Context(), cmd)
	if err == nil || strings.Contains(err.Error(), "sk-0123456789") || !strings.Contains(err.Error(), "plain-0123456789") {
		t.Errorf("error %v", err)
	}
}

// TestKillTreeOfTheDead is no error.
func TestKillTreeOfTheDead(t *testing.T) {
	t.Parallel()
	if err := service(t).KillTree(t.Context(), 1<<22+1); err != nil {
		t.Error(err)
	}
}

// TestFailingWriter: what cannot be written ends the waiting.
func TestFailingWriter(t *testing.T) {
	t.Parallel()
	c := service(t)
	_, err := c.Run(t.Context(), sh("echo x; exec sleep 1"), nil, envd.Output{Stdout: full{}})
	if !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("error %v", err)
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, syscall.ENOSPC }
