package cmd_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"reflect"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/docker/docker/api/types/container"
	"github.com/google/go-cmp/cmp"
	xterm "golang.org/x/term"

	"github.com/hermesbox/hermesbox/internal/dockertest"
)

// terminal is hermesbox on a terminal of its own.
type terminal struct {
	*testing.T
	cmd    *exec.Cmd
	master *os.File
	slave  *os.File
	before *xterm.State

	mu    sync.Mutex
	shown bytes.Buffer
	more  chan struct{}
}

// typeAt starts hermesbox on a terminal of 100 by 30.
func typeAt(t *testing.T, w *world, env []string, args ...string) *terminal {
	t.Helper()
	master, slave, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	if err := pty.Setsize(master, &pty.Winsize{Cols: 100, Rows: 30}); err != nil {
		t.Fatal(err)
	}
	before, err := xterm.GetState(int(slave.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	s := &terminal{T: t, master: master, slave: slave, before: before, more: make(chan struct{}, 1)}
	s.cmd = w.command(t, args...)
	s.cmd.Env = append(s.cmd.Env, append([]string{"TERM=xterm-256color", "LANG=C.UTF-8"}, env...)...)
	s.cmd.Stdin, s.cmd.Stdout, s.cmd.Stderr = slave, slave, slave
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go s.read()
	t.Cleanup(func() {
		_ = s.cmd.Process.Kill() // it has ended by then, as a rule
		master.Close()
		slave.Close()
	})
	return s
}

func (s *terminal) read() {
	buf := make([]byte, 4096)
	for {
		n, err := s.master.Read(buf)
		s.mu.Lock()
		s.shown.Write(buf[:n])
		s.mu.Unlock()
		select {
		case s.more <- struct{}{}:
		default:
		}
		if err != nil {
			return
		}
	}
}

func (s *terminal) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.shown.String()
}

// expect waits until text is shown, and forgets what came up to there.
func (s *terminal) expect(text string) {
	s.Helper()
	for end := time.After(30 * time.Second); ; {
		s.mu.Lock()
		i := bytes.Index(s.shown.Bytes(), []byte(text))
		if i >= 0 {
			s.shown.Next(i + len(text))
		}
		s.mu.Unlock()
		if i >= 0 {
			return
		}
		select {
		case <-s.more:
		case <-end:
			s.Fatalf("%q is not shown, but %q", text, s.text())
		}
	}
}

func (s *terminal) enter(keys string) {
	s.Helper()
	if _, err := s.master.WriteString(keys); err != nil {
		s.Fatal(err)
	}
}

// ends waits for the exit code, and wants the terminal as it was.
func (s *terminal) ends(codes ...int) {
	s.Helper()
	err := s.cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		s.Fatal(err)
	}
	if got := s.cmd.ProcessState.ExitCode(); !slices.Contains(codes, got) {
		s.Errorf("exit code %d, want %d; shown %q", got, codes, s.text())
	}
	now, err := xterm.GetState(int(s.slave.Fd()))
	if err != nil {
		s.Fatal(err)
	}
	if !cmp.Equal(s.before, now, cmp.Exporter(func(reflect.Type) bool { return true })) {
		s.Error("the terminal is not as it was")
	}
}

func TestConnect(t *testing.T) {
	t.Parallel()
	w, c := studio(t)
	seedStudio(t, c)
	s := typeAt(t, w, []string{"LC_TIME=C", "COLORTERM=truecolor"}, "sandbox", "connect", "alice")
	s.expect("# ")
	s.enter("PS1='$ '; echo \"[$TERM|$LANG|$LC_TIME|$COLORTERM|$HERMES_HOME|$MODEL|$SHELL|$PWD]\"\r")
	s.expect("[xterm-256color|C.UTF-8|C|truecolor|/root/.hermes|m 1|/bin/bash|/workspace]")
	s.enter("tput setaf 2; echo gr''een; tput sgr0\r")
	s.expect("\x1b[32mgreen")
	s.enter("stty size\r")
	s.expect("30 100\r\n")
	if err := pty.Setsize(s.master, &pty.Winsize{Cols: 77, Rows: 22}); err != nil {
		t.Fatal(err)
	}
	time.Sleep(300 * time.Millisecond) // the size is on its way
	s.enter("stty size\r")
	s.expect("22 77\r\n")
	s.enter("sleep 1003\r")
	waitFor(t, c, "sleep 1003")
	s.enter("\x03")
	s.expect("^C")
	s.enter("echo sto''pped $?\r")
	s.expect("stopped 130")
	waitGone(t, c, "sleep 1003")
	s.enter("cat -u; echo cat ended\r")
	waitFor(t, c, "cat -u")
	s.enter("typed\r")
	s.expect("typed\r\ntyped\r\n")
	s.enter("\x04")
	s.expect("cat ended\r\n")
	s.enter("cat /root/.hermes/web-ui/.token | sed 's/^/<</; s/$/>>/'\r")
	s.expect("<<" + strings.Repeat("*", 64) + ">>")
	s.enter("exit 7\r")
	s.ends(7)
}

// TestConnectFullScreen: an editor draws, takes keys, and leaves the screen as it was.
func TestConnectFullScreen(t *testing.T) {
	t.Parallel()
	w, c := studio(t)
	inContainer(t, c, `mkdir -p /workspace; i=0; while [ $i -lt 100 ]; do i=$((i+1)); echo "line $i"; done >/workspace/file; command -v less || command -v more`)
	s := typeAt(t, w, nil, "sandbox", "exec", "-it", "alice", "--", "sh", "-c", "if command -v less >/dev/null; then less /workspace/file; else printf '\\033[?1049h'; cat /workspace/file; read x; printf '\\033[?1049l'; fi; stty size; exit 3")
	s.expect("\x1b[?1049h")
	s.expect("line 1")
	s.enter("q\r")
	s.expect("30 100\r\n")
	s.ends(3)
}

// TestConnectEnds: ^D in the shell, and a command by a signal.
func TestConnectEnds(t *testing.T) {
	t.Parallel()
	w, _ := studio(t)
	s := typeAt(t, w, nil, "sandbox", "connect", "alice", "--user", "user")
	s.expect("$ ")
	s.enter("id -un; false\r")
	s.expect("user\r\n")
	s.enter("\x04")
	s.ends(1)
	s = typeAt(t, w, nil, "sandbox", "exec", "-t", "alice", "--", "sh", "-c", "kill -KILL $$")
	s.ends(137)
}

// TestConnectLeavesJobs: a job that has the terminal still lives on and keeps
// nobody waiting.
func TestConnectLeavesJobs(t *testing.T) {
	t.Parallel()
	w, c := studio(t)
	s := typeAt(t, w, nil, "sandbox", "connect", "alice")
	s.expect("# ")
	s.enter("sleep 7654 & exit 3\r")
	began := time.Now()
	s.ends(3)
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("it took %v", took)
	}
	inContainer(t, c, `grep -aq 7654 /proc/[0-9]*/cmdline`)
}

// TestConnectUnknownTerminal: programs work on a kind that the sandbox never heard of.
func TestConnectUnknownTerminal(t *testing.T) {
	t.Parallel()
	w, _ := studio(t)
	s := typeAt(t, w, []string{"TERM=made-up"}, "sandbox", "exec", "-t", "alice", "--", "sh", "-c", "echo [$TERM]; tput cols")
	s.expect("[xterm-256color]\r\n100\r\n")
	s.ends(0)
}

// TestConnectLost: the sandbox goes away in the middle of a full-screen program.
func TestConnectLost(t *testing.T) {
	t.Parallel()
	w, c := studio(t)
	s := typeAt(t, w, nil, "sandbox", "connect", "alice")
	s.expect("# ")
	s.enter("printf '\\033[?1049h\\033[?25lfull%s' screen; sleep 1000\r")
	s.expect("fullscreen")
	kill(t, dockertest.Default(t), c)
	s.expect("\x1b[?25h\x1b[?1049l\x1b>\x1b[0m")
	s.expect("error: the connection to alice was lost")
	s.expect("hint: hermesbox sandbox show alice")
	s.ends(1)
}

func kill(t *testing.T, engine dockertest.Engine, c *dockertest.Container) {
	t.Helper()
	if err := engine.Client.ContainerStop(t.Context(), c.ID, container.StopOptions{Signal: "KILL"}); err != nil {
		t.Fatal(err)
	}
}

// TestConnectProxyGone: a key that cannot be sent ends the wait for an answer.
func TestConnectProxyGone(t *testing.T) {
	t.Parallel()
	w, _ := studio(t)
	s := typeAt(t, w, nil, "sandbox", "connect", "alice")
	s.expect("# ")
	w.server.CloseClientConnections()
	s.expect("error: the connection to alice was lost")
	s.ends(1)
}

// TestConnectSignals: whatever ends hermesbox, the terminal is as it was, and
// nothing is left running.
func TestConnectSignals(t *testing.T) {
	t.Parallel()
	w, c := studio(t)
	for _, test := range []struct {
		signal syscall.Signal
		codes  []int
	}{{syscall.SIGTERM, []int{130}}, {syscall.SIGINT, []int{130}}, {syscall.SIGHUP, []int{-1, 128 + 1}}, {syscall.SIGQUIT, []int{2}}} {
		s := typeAt(t, w, nil, "sandbox", "exec", "-t", "alice", "--", "sleep", "1004")
		waitFor(t, c, "sleep 1004")
		time.Sleep(200 * time.Millisecond) // until the terminal is raw
		if err := s.cmd.Process.Signal(test.signal); err != nil {
			t.Fatal(err)
		}
		s.ends(test.codes...)
		if test.signal != syscall.SIGQUIT {
			waitGone(t, c, "sleep 1004")
		}
	}
}

// TestConnectWindowClosed: the shell and its jobs end with the window, but not those that do not mind.
func TestConnectWindowClosed(t *testing.T) {
	t.Parallel()
	w, c := studio(t)
	s := typeAt(t, w, nil, "sandbox", "connect", "alice")
	s.expect("# ")
	s.enter("sleep 1005 & nohup sleep 1006 >/dev/null & while sleep 1; do echo; done & echo rea''dy\r")
	s.expect("ready\r\n")
	waitFor(t, c, "sleep 1006")
	// The master is closed once its reader has something to read.
	if err := s.slave.Close(); err != nil { // hermesbox has it still
		t.Fatal(err)
	}
	if err := s.master.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Wait(); err == nil {
		t.Error("it ended with exit code 0")
	}
	waitGone(t, c, "sleep 1005")
	waitGone(t, c, "/bin/bash -l")
	waitGone(t, c, "/bin/sh -c while read") // the watch over the shell
	inContainer(t, c, `grep -aq 1006 /proc/[0-9]*/cmdline`)
}

// TestConnectWithoutTerminal is wrong usage, before anything is asked.
func TestConnectWithoutTerminal(t *testing.T) {
	t.Parallel()
	w := startWorld(t, nil)
	got := w.run(t.Context(), t, strings.NewReader(""), nil, "sandbox", "connect", "alice")
	if got.code != 2 || !strings.Contains(got.stderr, "hint: hermesbox sandbox exec alice -- COMMAND works without one") {
		t.Errorf("exit code %d\n%s", got.code, got.stderr)
	}
}

// TestConnectInTmux drives a real terminal emulator, which draws what it is told.
func TestConnectInTmux(t *testing.T) {
	t.Parallel()
	tmux, err := exec.LookPath("tmux")
	if err != nil {
		dockertest.Missing(t, "tmux", err)
	}
	w, c := studio(t)
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	socket := t.TempDir() + "/tmux"
	do := func(args ...string) string {
		cmd := exec.CommandContext(t.Context(), tmux, append([]string{"-S", socket, "-f", "/dev/null"}, args...)...)
		cmd.Env = append(w.env(t), "TERM=xterm-256color", "LANG=C.UTF-8")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("tmux %q: %v\n%s", args, err, out)
		}
		return string(out)
	}
	see := func(want string) {
		t.Helper()
		for end := time.Now().Add(30 * time.Second); ; time.Sleep(50 * time.Millisecond) {
			screen := do("capture-pane", "-p", "-e", "-t", "main")
			if strings.Contains(screen, want) {
				return
			}
			if time.Now().After(end) {
				t.Fatalf("%q is not on the screen:\n%s", want, screen)
			}
		}
	}
	keys := func(k ...string) { do(append([]string{"send-keys", "-t", "main"}, k...)...) }
	do("new-session", "-d", "-s", "main", "-x", "90", "-y", "25", "sh")
	t.Cleanup(func() {
		cmd := exec.CommandContext(context.WithoutCancel(t.Context()), tmux, "-S", socket, "kill-server")
		_ = cmd.Run() // it ends with its last session
	})
	keys(path+" sandbox connect alice; echo \"code=$? $(stty -a | grep -c ' echo ')\"", "Enter")
	see("# ")
	keys("PS1='in> '; clear; stty size; printf '\\033[31mr%s\\033[m\\n' ed", "Enter")
	see("25 90")
	see("\x1b[31mred")
	do("resize-window", "-t", "main", "-x", "70", "-y", "20")
	time.Sleep(300 * time.Millisecond) // the size is on its way
	keys("clear; stty size", "Enter")
	see("20 70")
	keys("sleep 1005", "Enter")
	waitFor(t, c, "sleep 1005")
	keys("C-c")
	waitGone(t, c, "sleep 1005")
	keys("clear; top -b -n 1 >/dev/null 2>&1; printf '\\033[?1049h\\033[5;10Hful%s' lscreen; read x; printf '\\033[?1049l'", "Enter")
	see("         fullscreen")
	keys("Enter")
	see("in>")
	keys("(exit 9)", "Enter", "C-d")
	see("code=9 1")
}
