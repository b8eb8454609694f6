package cmd_test

import (
	"bytes"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const studioLogs = `mkdir -p /root/.hermes/web-ui/logs /root/.hermes/logs
cd /root/.hermes/web-ui/logs
printf 'Auth enabled \342\200\224 token: old-token-of-before\nGET /?token=another-token 200\nstarted with ` + execToken + `\n' >hermes-studio.log
printf '\033[32mready\033[0m \007bell OPENAI_API_KEY=sk-in-the-log\nseen old-token-of-before again\n' >server.log
`

func TestLogs(t *testing.T) {
	t.Parallel()
	w, c := studio(t)
	seedStudio(t, c)
	for _, source := range []string{"webui", "gateway"} {
		got := w.run(t.Context(), t, nil, nil, "sandbox", "logs", "alice", "--source", source)
		if got.code != 1 || got.stdout != "" || !strings.Contains(got.stderr, "alice has no log of "+source+" yet") || !strings.Contains(got.stderr, "hint: ") {
			t.Errorf("%s, nothing there: exit code %d\n%s", source, got.code, got.stderr)
		}
	}
	inContainer(t, c, studioLogs+`mkdir /root/.hermes/logs/dir.log; mkfifo /root/.hermes/logs/fifo.log; printf 'one\ntwo\nthree' >/root/.hermes/logs/gateway.log`)
	w.set(func() { w.logs = []string{"first", "a " + execToken, "last\x1b[2J"} })
	for _, test := range []struct {
		name string
		args []string
		want string
	}{
		{"web ui", nil, `hermes-studio.log: Auth enabled — token: ***
hermes-studio.log: GET /?token=*** 200
hermes-studio.log: started with ***
server.log: ready \x07bell OPENAI_API_KEY=***
server.log: seen *** again
`},
		{"tail", []string{"--tail", "1"}, "hermes-studio.log: started with ***\nserver.log: seen old-token-of-before again\n"},
		{"none", []string{"--tail", "0"}, ""},
		{"one file", []string{"--source", "gateway", "--tail", "-1"}, "one\ntwo\nthree\n"},
		{"json", []string{"--source", "gateway", "--tail", "1", "--output", "json"}, "[\n  {\n    \"file\": \"/root/.hermes/logs/gateway.log\",\n    \"line\": \"three\"\n  }\n]\n"},
		{"cube", []string{"--source", "command-service"}, "2026-11-29T00:00:10Z info first\n2026-11-29T00:00:11Z info a ***\n2026-11-29T00:00:12Z info last\\x1b[2J\n"},
		{"cube's last", []string{"--source", "command-service", "--tail", "1", "--output", "json"}, "[\n  {\n    \"file\": \"\",\n    \"line\": \"2026-11-29T00:00:12Z info last\\\\x1b[2J\"\n  }\n]\n"},
	} {
		got := w.run(t.Context(), t, nil, nil, append([]string{"sandbox", "logs", "alice"}, test.args...)...)
		if diff := cmp.Diff(ran{0, test.want, ""}, got, cmp.AllowUnexported(ran{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

func TestLogsUsage(t *testing.T) {
	t.Parallel()
	w := startWorld(t, nil)
	for _, test := range []struct {
		args []string
		code int
		says []string
	}{
		{[]string{"alice", "--source", "kernel"}, 2, []string{`--source "kernel" is none`, "hint: use webui, gateway, command-service"}},
		{[]string{"alice", "--tail", "-2"}, 2, []string{"--tail -2 is no number of lines"}},
		{[]string{"alice", "--follow", "--output", "json"}, 2, []string{"do not go together"}},
		{[]string{}, 2, []string{"wants a sandbox"}},
		{[]string{"alice"}, 1, []string{"hint: the command service does not answer"}},
	} {
		got := w.run(t.Context(), t, nil, nil, append([]string{"sandbox", "logs"}, test.args...)...)
		if got.code != test.code || got.stdout != "" {
			t.Errorf("%q: exit code %d, want %d; stdout %q", test.args, got.code, test.code, got.stdout)
		}
		for _, text := range test.says {
			if !strings.Contains(got.stderr, text) {
				t.Errorf("%q: stderr lacks %q:\n%s", test.args, text, got.stderr)
			}
		}
	}
	w.set(func() { w.state = "paused" })
	got := w.run(t.Context(), t, nil, nil, "sandbox", "logs", "alice", "--source", "command-service")
	if got.code != 1 || !strings.Contains(got.stderr, "alice has logged nothing that Cube keeps") {
		t.Errorf("paused: exit code %d\n%s", got.code, got.stderr)
	}
}

// following is a running sandbox logs --follow.
type following struct {
	*testing.T
	mu  sync.Mutex
	buf bytes.Buffer
}

func (f *following) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.buf.Write(p)
}

func (f *following) expect(text string) {
	f.Helper()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		f.mu.Lock()
		got := f.buf.String()
		f.mu.Unlock()
		if strings.Contains(got, text) {
			return
		}
		if time.Now().After(end) {
			f.Fatalf("no %q in %q", text, got)
		}
	}
}

// TestLogsFollow: what is written later comes, from a file that was replaced
// too; ^C ends it, and nothing is left running.
func TestLogsFollow(t *testing.T) {
	t.Parallel()
	w, c := studio(t)
	inContainer(t, c, `mkdir -p /root/.hermes/logs; cd /root/.hermes/logs; echo old >a.log; echo old >b.log`)
	cmd := w.command(t, "sandbox", "logs", "alice", "--source", "gateway", "-f", "--tail", "1")
	f := &following{T: t}
	cmd.Stdout, cmd.Stderr = f, f
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	f.expect("a.log: old\n")
	f.expect("b.log: old\n")
	inContainer(t, c, `cd /root/.hermes/logs; printf 'half' >>a.log; sleep 0.5; echo ' whole' >>a.log; mv b.log b.log.1; echo new >b.log`)
	f.expect("a.log: half whole\n")
	f.expect("b.log: new\n")
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // the code tells
	if code := cmd.ProcessState.ExitCode(); code != 130 {
		t.Errorf("exit code %d", code)
	}
	waitGone(t, c, "tail ")
}

// TestLogsFollowEnds: with the sandbox, well; with the connection alone, not.
func TestLogsFollowEnds(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		change func(*world)
		code   int
		says   string
	}{
		{"stopped", func(w *world) { w.gone = true }, 0, "hermesbox: alice has ended, and its log with it"},
		{"paused", func(w *world) { w.state = "paused" }, 0, "hermesbox: alice is paused: its log goes on when it does"},
		{"stopped, told late", func(w *world) { time.AfterFunc(2*time.Second, func() { w.set(func() { w.gone = true }) }) }, 0, "alice has ended"},
		{"asleep", func(w *world) { w.state = "paused" }, 0, "alice is paused"}, // nothing is cut
		{"lost", func(*world) {}, 1, "error: the connection to alice was lost"},
	} {
		for _, source := range []string{"gateway", "command-service"} {
			if test.name == "lost" && source == "command-service" {
				continue // each question is a connection of its own
			}
			t.Run(test.name+" "+source, func(t *testing.T) {
				t.Parallel()
				w, c := studio(t)
				inContainer(t, c, `mkdir -p /root/.hermes/logs; echo old >/root/.hermes/logs/a.log`)
				w.set(func() { w.logs = []string{"old"} })
				cmd := w.command(t, "sandbox", "logs", "alice", "--source", source, "-f")
				f := &following{T: t}
				cmd.Stdout, cmd.Stderr = f, f
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				f.expect("old\n")
				if source == "command-service" {
					w.set(func() { w.logs = append(w.logs, "new") })
					f.expect("new\n")
				}
				w.set(func() { test.change(w) })
				if source == "gateway" && test.name != "asleep" {
					inContainer(t, c, `kill -KILL $(cat /proc/*/stat 2>/dev/null | sed -n 's/^\([0-9]*\) (envd).*/\1/p')`)
				}
				_ = cmd.Wait() // the code tells
				if code := cmd.ProcessState.ExitCode(); code != test.code {
					t.Errorf("exit code %d, want %d", code, test.code)
				}
				f.expect(test.says)
				if source == "gateway" && test.name == "asleep" {
					inContainer(t, c, `grep -aq '^tail' /proc/[0-9]*/cmdline`) // reaching for it would have waked the sandbox
				}
			})
		}
	}
}
