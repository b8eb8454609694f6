package sshdial_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/hermesbox/hermesbox/internal/sshdial"
	"github.com/hermesbox/hermesbox/internal/sshtest"
)

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// dial connects to a server.
func dial(t *testing.T, s *sshtest.Server, d *sshdial.Dialer) *sshdial.Conn {
	t.Helper()
	d.Getenv = s.Getenv
	conn, err := d.Dial(t.Context(), s.Target())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := conn.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return conn
}

func TestRunCodes(t *testing.T) {
	t.Parallel()
	conn := dial(t, sshtest.Start(t, sshtest.Options{}), &sshdial.Dialer{})
	for line, want := range map[string]int{"true": 0, "exit 255": 255, "kill -TERM $$": 143, "kill -KILL $$": 137, "nosuchcommand": 127} {
		if code, err := conn.Run(t.Context(), sshdial.Command{Line: line}); err != nil || code != want {
			t.Errorf("%s: %d, %v; want %d", line, code, err, want)
		}
	}
}

func TestRunEnvironment(t *testing.T) {
	s := sshtest.Start(t, sshtest.Options{Config: "AcceptEnv *"})
	t.Setenv("HERMESBOX_SECRET", "canary")
	s.SetConfig(t, "SendEnv *\nSetEnv OTHER=canary\n")
	conn := dial(t, s, &sshdial.Dialer{})
	var out bytes.Buffer
	if _, err := conn.Run(t.Context(), sshdial.Command{Line: "env; tty; cat", Stdout: &out}); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out.String(), "canary") || !strings.Contains(out.String(), "not a tty") {
		t.Errorf("it saw %s", out.String())
	}
}

func TestRunBytes(t *testing.T) {
	t.Parallel()
	conn := dial(t, sshtest.Start(t, sshtest.Options{}), &sshdial.Dialer{})
	in := make([]byte, 5<<20)
	_, _ = rand.Read(in)
	var out, errs bytes.Buffer
	code, err := conn.Run(t.Context(), sshdial.Command{Line: "tee /dev/stderr", Stdin: bytes.NewReader(in), Stdout: &out, Stderr: &errs})
	if err != nil || code != 0 || !bytes.Equal(in, out.Bytes()) || !bytes.Equal(in, errs.Bytes()) {
		t.Errorf("Run: %d, %v, %d and %d bytes", code, err, out.Len(), errs.Len())
	}
}

// A command that does not read its input is not held up by it, nor is one whose
// input never ends.
func TestRunInputUnread(t *testing.T) {
	t.Parallel()
	conn := dial(t, sshtest.Start(t, sshtest.Options{}), &sshdial.Dialer{})
	code, err := conn.Run(t.Context(), sshdial.Command{Line: "exit 4", Stdin: bytes.NewReader(make([]byte, 10<<20))})
	if err != nil || code != 4 {
		t.Errorf("Run: %d, %v", code, err)
	}
	r, w := io.Pipe()
	defer w.Close()
	if code, err = conn.Run(t.Context(), sshdial.Command{Line: "exit 5", Stdin: r}); err != nil || code != 5 {
		t.Errorf("Run: %d, %v", code, err)
	}
}

func TestRunBrokenStreams(t *testing.T) {
	t.Parallel()
	conn := dial(t, sshtest.Start(t, sshtest.Options{}), &sshdial.Dialer{})
	broken := errors.New("broken")
	in := io.MultiReader(strings.NewReader("x"), iotest.ErrReader(broken))
	if _, err := conn.Run(t.Context(), sshdial.Command{Line: "sleep 60; cat", Stdin: in}); !errors.Is(err, broken) || !strings.Contains(err.Error(), "input") {
		t.Errorf("broken input: %v", err)
	}
	out := writer(func([]byte) (int, error) { return 0, broken })
	if _, err := conn.Run(t.Context(), sshdial.Command{Line: "yes", Stdout: out}); !errors.Is(err, broken) || !strings.Contains(err.Error(), "output") {
		t.Errorf("broken output: %v", err)
	}
	if code, err := conn.Run(t.Context(), sshdial.Command{Line: "exit 6"}); err != nil || code != 6 {
		t.Errorf("after them: %d, %v", code, err)
	}
}

type writer func([]byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }

// One that allows a single session has commands queue; one connection does all.
func TestRunMaxSessions(t *testing.T) {
	t.Parallel()
	for _, sessions := range []string{"1", "3", "10"} {
		t.Run(sessions, func(t *testing.T) {
			t.Parallel()
			s := sshtest.Start(t, sshtest.Options{Config: "MaxSessions " + sessions})
			conn := dial(t, s, &sshdial.Dialer{})
			var all sync.WaitGroup
			for i := range 8 {
				all.Go(func() {
					var out bytes.Buffer
					code, err := conn.Run(t.Context(), sshdial.Command{Line: fmt.Sprintf("sleep 0.1; echo %d; exit %d", i, i), Stdout: &out})
					if err != nil || code != i || out.String() != fmt.Sprintln(i) {
						t.Errorf("command %d: %d, %v, %q", i, code, err, out.String())
					}
				})
			}
			all.Wait()
			if c, e := s.Connections(), s.Execs(t); c != 1 || e != 8 {
				t.Errorf("%d connections, %d commands", c, e)
			}
		})
	}
}

func TestRunNoSessions(t *testing.T) {
	t.Parallel()
	conn := dial(t, sshtest.Start(t, sshtest.Options{Config: "MaxSessions 0"}), &sshdial.Dialer{})
	if _, err := conn.Run(t.Context(), sshdial.Command{Line: "true"}); err == nil || !strings.Contains(err.Error(), "opening a session") {
		t.Errorf("error %v", err)
	}
}

func TestRunWaitsInterrupted(t *testing.T) {
	t.Parallel()
	conn := dial(t, sshtest.Start(t, sshtest.Options{Config: "MaxSessions 1"}), &sshdial.Dialer{})
	var first sync.WaitGroup
	started, out := pipeLine()
	ctx, cancel := context.WithCancel(t.Context())
	first.Go(func() { _, _ = conn.Run(ctx, sshdial.Command{Line: "echo started; sleep 60", Stdout: out}) })
	<-started
	short, stop := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer stop()
	if _, err := conn.Run(short, sshdial.Command{Line: "true"}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
	cancel()
	first.Wait()
	if code, err := conn.Run(t.Context(), sshdial.Command{Line: "exit 3"}); err != nil || code != 3 {
		t.Errorf("after it: %d, %v", code, err)
	}
}

// pipeLine is a writer and what is closed at its first byte.
func pipeLine() (<-chan struct{}, io.Writer) {
	started := make(chan struct{})
	var once sync.Once
	return started, writer(func(p []byte) (int, error) {
		once.Do(func() { close(started) })
		return len(p), nil
	})
}

// A command is let go with the context. A user who is not root has it ended too.
func TestRunInterrupted(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		options sshtest.Options
		ended   bool
	}{
		"root": {options: sshtest.Options{}},
		"user": {options: sshtest.Options{Users: []sshtest.User{{Name: "ada"}}}, ended: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := sshtest.Start(t, test.options)
			conn := dial(t, s, &sshdial.Dialer{})
			started, out := pipeLine()
			ctx, cancel := context.WithCancelCause(t.Context())
			stop := errors.New("the user stopped it")
			go func() {
				<-started
				cancel(stop)
			}()
			start := time.Now()
			_, err := conn.Run(ctx, sshdial.Command{Line: "exec 2>/dev/null; trap 'echo ended >mark; exit 1' TERM; pwd; for i in $(seq 100); do sleep 0.1; done", Stdout: out})
			if took := time.Since(start); !errors.Is(err, stop) || took > 5*time.Second {
				t.Errorf("error %v after %v", err, took)
			}
			if _, err := conn.Run(ctx, sshdial.Command{Line: "true"}); !errors.Is(err, stop) {
				t.Errorf("a command with a context that ended: %v", err)
			}
			if !test.ended {
				return
			}
			code, err := conn.Run(t.Context(), sshdial.Command{Line: "for i in $(seq 50); do [ ! -e mark ] || exit 0; sleep 0.1; done; exit 1"})
			if code != 0 || err != nil {
				t.Errorf("the command got no TERM: %d, %v", code, err)
			}
		})
	}
}

// Nothing is written any more when Run has returned, and a network that is
// stuck does not keep it.
func TestRunInterruptedStuck(t *testing.T) {
	t.Parallel()
	s := sshtest.Start(t, sshtest.Options{})
	conn := dial(t, s, &sshdial.Dialer{})
	started, out := pipeLine()
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-started
		s.Freeze()
		time.Sleep(200 * time.Millisecond)
		cancel()
	}()
	start := time.Now()
	zeros := reader(func(p []byte) (int, error) { return len(p), nil })
	_, err := conn.Run(ctx, sshdial.Command{Line: "echo started; cat >/dev/null", Stdin: zeros, Stdout: out})
	if !errors.Is(err, context.Canceled) || time.Since(start) > 5*time.Second {
		t.Errorf("error %v after %v", err, time.Since(start))
	}
	short, stop := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer stop()
	if _, err := conn.Run(short, sshdial.Command{Line: "true"}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a command on a connection that is stuck: %v", err)
	}
}

type reader func([]byte) (int, error)

func (r reader) Read(p []byte) (int, error) { return r(p) }

func TestRunCut(t *testing.T) {
	t.Parallel()
	s := sshtest.Start(t, sshtest.Options{})
	conn := dial(t, s, &sshdial.Dialer{})
	started, out := pipeLine()
	go func() {
		<-started
		s.Cut()
	}()
	_, err := conn.Run(t.Context(), sshdial.Command{Line: "echo started; sleep 5", Stdout: out})
	if !errors.Is(err, sshdial.ErrLost) || !strings.Contains(err.Error(), "may still be running") {
		t.Errorf("error %v", err)
	}
	if _, err = conn.Run(t.Context(), sshdial.Command{Line: "true"}); !errors.Is(err, sshdial.ErrClosed) {
		t.Errorf("a command after it: %v", err)
	}
}

// A network that swallows everything is noticed by what does not come back.
func TestRunFrozen(t *testing.T) {
	t.Parallel()
	s := sshtest.Start(t, sshtest.Options{})
	conn := dial(t, s, &sshdial.Dialer{KeepAlive: 200 * time.Millisecond})
	started, out := pipeLine()
	go func() {
		<-started
		s.Freeze()
	}()
	start := time.Now()
	_, err := conn.Run(t.Context(), sshdial.Command{Line: "echo started; sleep 30", Stdout: out})
	if !errors.Is(err, sshdial.ErrLost) || time.Since(start) > 15*time.Second {
		t.Errorf("error %v after %v", err, time.Since(start))
	}
}

// A server that answers the questions whether it lives keeps a quiet command.
func TestRunQuiet(t *testing.T) {
	t.Parallel()
	s := sshtest.Start(t, sshtest.Options{})
	s.SetConfig(t, "ServerAliveInterval 1\nServerAliveCountMax 1\n")
	conn := dial(t, s, &sshdial.Dialer{})
	if code, err := conn.Run(t.Context(), sshdial.Command{Line: "sleep 3; exit 7"}); err != nil || code != 7 {
		t.Errorf("Run: %d, %v", code, err)
	}
}

// Closing ends what runs, whoever waits for it.
func TestClosedMeanwhile(t *testing.T) {
	t.Parallel()
	conn := dial(t, sshtest.Start(t, sshtest.Options{}), &sshdial.Dialer{})
	started, out := pipeLine()
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			_, err := conn.Run(t.Context(), sshdial.Command{Line: "echo started; sleep 5", Stdout: out})
			if !errors.Is(err, sshdial.ErrLost) && !errors.Is(err, sshdial.ErrClosed) {
				t.Errorf("error %v", err)
			}
		})
	}
	<-started
	if err := conn.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	all.Wait()
}

func TestClosed(t *testing.T) {
	t.Parallel()
	conn := dial(t, sshtest.Start(t, sshtest.Options{}), &sshdial.Dialer{})
	for range 2 {
		if err := conn.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
	if _, err := conn.Run(t.Context(), sshdial.Command{Line: "true"}); !errors.Is(err, sshdial.ErrClosed) {
		t.Errorf("error %v", err)
	}
}
