package cmd_test

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hermesbox/hermesbox/internal/dockertest"
)

const execToken = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

// seedStudio gives the sandbox a home with secrets in it.
func seedStudio(t *testing.T, c *dockertest.Container) {
	t.Helper()
	inContainer(t, c, `mkdir -p /workspace /root/.hermes/web-ui /root/.hermes/.hermesbox
echo `+execToken+` >/root/.hermes/web-ui/.token
printf 'MODEL=m 1\nMY_API_KEY=canary-override\nHERMES_HOME=/elsewhere\nbad line\n' >/root/.hermes/.hermesbox/env
printf 'API_SERVER_KEY="canary-dotenv"\n' >/root/.hermes/.env
printf 'model: {api_key: canary-config, key_env: MY_API_KEY, max_tokens: 40960000}\n' >/root/.hermes/config.yaml`)
}

func TestExec(t *testing.T) {
	t.Parallel()
	w, c := studio(t)
	seedStudio(t, c)
	for _, test := range []struct {
		name  string
		stdin string
		env   []string
		args  []string // after sandbox exec
		want  ran
	}{
		{"output and code", "", nil, []string{"alice", "--", "sh", "-c", "echo out; echo err >&2; exit 7"}, ran{7, "out\n", "err\n"}},
		{"by id, without --", "", nil, []string{"sb-1", "echo", "hi"}, ran{0, "hi\n", ""}},
		{"flags after --", "", nil, []string{"alice", "--", "echo", "--user", "-i"}, ran{0, "--user -i\n", ""}},
		{"stdin", "in\x00put", nil, []string{"alice", "--", "cat"}, ran{0, "in\x00put", ""}},
		{"missing command", "", nil, []string{"alice", "--", "/no/such"}, ran{code: 127}},
		{"killed", "", nil, []string{"alice", "--", "sh", "-c", "kill -KILL $$"}, ran{code: 137}},
		{"terminated", "", nil, []string{"alice", "--", "sh", "-c", "kill -TERM $$"}, ran{code: 143}},
		{"a user's signal", "", nil, []string{"alice", "--", "sh", "-c", "kill -USR1 $$"}, ran{code: 138}},
		{"the Web UI's environment", "", nil, []string{"alice", "--", "sh", "-c", `echo "$HERMES_HOME $HOME $HERMES_GATEWAY_NO_SUPERVISE $MODEL"; pwd`}, ran{0, "/root/.hermes /root 1 m 1\n/workspace\n", ""}},
		{"another user", "", nil, []string{"alice", "--user", "user", "--", "sh", "-c", `echo "$(id -un) $HERMES_HOME $MODEL"; pwd`}, ran{0, "user  \n/home/user\n", ""}},
		{"workdir", "", nil, []string{"alice", "--workdir", "/tmp", "--", "pwd"}, ran{0, "/tmp\n", ""}},
		{"environment", "", []string{"MINE=a b"}, []string{"alice", "--env", "MINE", "--env", "OTHER=x=y", "--env", "MODEL=n", "--", "sh", "-c", `echo "$MINE $OTHER $MODEL"`}, ran{0, "a b x=y n\n", ""}},
		{
			"secrets", "", nil,
			[]string{"alice", "--", "sh", "-c", `cat /root/.hermes/web-ui/.token; base64 /root/.hermes/web-ui/.token; echo "$MY_API_KEY"; cat /root/.hermes/.env /root/.hermes/config.yaml >&2`},
			ran{0, "***\n***o=\n***\n", "API_SERVER_KEY=***\nmodel: {api_key: ***, key_env: MY_API_KEY, max_tokens: 40960000}\n"},
		},
		{"a secret in pieces", "", nil, []string{"alice", "--", "sh", "-c", `printf 0123456789abcdef; sleep 0.3; printf 0123456789abcdef0123456789abcdef; sleep 0.3; printf 0123456789abcdefX`}, ran{0, "***X", ""}},
		{"a secret in binary data", "", nil, []string{"alice", "--", "sh", "-c", `printf '\0http://u:p@h canary-dotenv \377'`}, ran{0, "\x00http://u:p@h ************* \xff", ""}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := w.run(t.Context(), t, strings.NewReader(test.stdin), test.env, append([]string{"sandbox", "exec"}, test.args...)...)
			stderr := got.stderr
			if strings.Contains(got.stdout, "**") {
				before, warning, _ := strings.Cut(stderr, "hermesbox: warning: ")
				if !strings.Contains(warning, "in the output of the command are masked") {
					t.Errorf("no warning that something was masked: %q", stderr)
				}
				got.stderr = before
			}
			if test.want.code == 127 {
				got.stderr = ""
			}
			if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(ran{})); diff != "" {
				t.Errorf("(-want +got):\n%s\nstderr: %s", diff, stderr)
			}
		})
	}
}

func TestExecErrors(t *testing.T) {
	t.Parallel()
	w, _ := studio(t)
	for _, test := range []struct {
		name string
		args []string
		code int
		says []string
	}{
		{"nobody", []string{"bob", "--", "true"}, 1, []string{`finding "bob"`, "hint: ", "sandbox ls"}},
		{"user that is none", []string{"alice", "--user", "nobody-here", "--", "true"}, 4, []string{"error: ", "hint: check --user"}},
		{"directory that is none", []string{"alice", "--workdir", "/no/such", "--", "true"}, 1, []string{"/no/such", "hint: name a directory that is there with --workdir"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := w.run(t.Context(), t, nil, nil, append([]string{"sandbox", "exec"}, test.args...)...)
			if got.code != test.code || got.stdout != "" {
				t.Errorf("exit code %d, want %d; stdout %q", got.code, test.code, got.stdout)
			}
			for _, text := range test.says {
				if !strings.Contains(got.stderr, text) {
					t.Errorf("stderr lacks %q:\n%s", text, got.stderr)
				}
			}
		})
	}
}

// TestExecServiceGone: the proxy is there, the sandbox behind it is not.
func TestExecServiceGone(t *testing.T) {
	t.Parallel()
	w := startWorld(t, nil)
	got := w.run(t.Context(), t, nil, nil, "sandbox", "exec", "alice", "--", "true")
	if got.code != 1 || !strings.Contains(got.stderr, "hint: the command service does not answer") {
		t.Errorf("exit code %d\n%s", got.code, got.stderr)
	}
}

// TestExecBinary: a megabyte of anything goes there and back as it is.
func TestExecBinary(t *testing.T) {
	t.Parallel()
	w, c := studio(t)
	seedStudio(t, c)
	data := make([]byte, 1<<20)
	if _, err := rand.Read(data); err != nil {
		t.Fatal(err)
	}
	got := w.run(t.Context(), t, bytes.NewReader(data), nil, "sandbox", "exec", "alice", "--", "cat")
	if got.code != 0 || got.stdout != string(data) || got.stderr != "" {
		t.Errorf("exit code %d, %d bytes, stderr %q", got.code, len(got.stdout), got.stderr)
	}
}

func TestExecDocument(t *testing.T) {
	t.Parallel()
	w, c := studio(t)
	seedStudio(t, c)
	got := w.run(t.Context(), t, nil, nil, "sandbox", "exec", "--output", "json", "alice", "--", "sh", "-c", `echo canary-config; printf '\377' >&2; exit 3`)
	var doc map[string]any
	if err := json.Unmarshal([]byte(got.stdout), &doc); err != nil {
		t.Fatalf("%v: %s", err, got.stdout)
	}
	delete(doc, "duration_ms")
	want := map[string]any{"exit_code": 3.0, "signal": "", "stdout": "***\n", "stderr": "", "stderr_b64": "/w=="}
	if diff := cmp.Diff(want, doc); diff != "" || got.code != 3 || got.stderr != "" {
		t.Errorf("exit code %d, stderr %q (-want +got):\n%s", got.code, got.stderr, diff)
	}
	got = w.run(t.Context(), t, nil, nil, "sandbox", "exec", "--output", "json", "alice", "--", "sh", "-c", "kill -KILL $$")
	if err := json.Unmarshal([]byte(got.stdout), &doc); err != nil || doc["exit_code"] != 137.0 || doc["signal"] != "killed" || got.code != 137 {
		t.Errorf("killed: exit code %d, %v", got.code, doc)
	}
	got = w.run(t.Context(), t, nil, nil, "sandbox", "exec", "--output", "json", "bob", "--", "true")
	if got.stdout != "" || got.code != 1 || !strings.HasPrefix(got.stderr, `{"error":`) {
		t.Errorf("not run: exit code %d, stdout %q, stderr %q", got.code, got.stdout, got.stderr)
	}
	got = w.run(t.Context(), t, nil, nil, "sandbox", "exec", "--output", "json", "alice", "--", "cat", "/dev/zero")
	if got.stdout != "" || got.code != 1 || !strings.Contains(got.stderr, "leave --output json away") {
		t.Errorf("too much: exit code %d, %d bytes of stdout, stderr %q", got.code, len(got.stdout), got.stderr)
	}
	waitGone(t, c, "cat /dev/zero")
}

// waitGone waits until no process in the sandbox has such a command line.
func waitGone(t *testing.T, c *dockertest.Container, command string) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		found := inContainer(t, c, `for f in /proc/[0-9]*/cmdline; do tr '\0' ' ' <$f 2>/dev/null; echo; done`)
		if !strings.Contains(found, "\n"+command) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%q still runs:\n%s", command, found)
		}
	}
}

// waitFor waits until the command runs in the sandbox.
func waitFor(t *testing.T, c *dockertest.Container, command string) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		if strings.Contains(inContainer(t, c, `for f in /proc/[0-9]*/cmdline; do tr '\0' ' ' <$f 2>/dev/null; echo; done`), "\n"+command) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%q does not run", command)
		}
	}
}

// TestExecInterrupted: the command and its children go, and hermesbox ends in 130.
func TestExecInterrupted(t *testing.T) {
	t.Parallel()
	w, c := studio(t)
	for name, signal := range map[string]os.Signal{"interrupt": syscall.SIGINT, "terminate": syscall.SIGTERM} {
		seconds := map[string]string{"interrupt": "1001", "terminate": "1002"}[name]
		cmd := w.command(t, "sandbox", "exec", "alice", "--", "sh", "-c", "trap '' TERM INT; sleep "+seconds+"; echo not reached")
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		in, err := cmd.StdinPipe() // never ends
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		waitFor(t, c, "sleep "+seconds)
		if err := cmd.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // the code tells
		if code := cmd.ProcessState.ExitCode(); code != 130 || stdout.Len() > 0 {
			t.Errorf("%s: exit code %d, stdout %q, stderr %q", name, code, stdout.String(), stderr.String())
		}
		waitGone(t, c, "sleep "+seconds)
	}
}

// TestExecInputThatNeverEnds: the end of the command is the end.
func TestExecInputThatNeverEnds(t *testing.T) {
	t.Parallel()
	w, _ := studio(t)
	in, _ := io.Pipe()
	if got := w.run(t.Context(), t, in, nil, "sandbox", "exec", "alice", "--", "echo", "done"); got.code != 0 || got.stdout != "done\n" {
		t.Errorf("exit code %d, stdout %q", got.code, got.stdout)
	}
}

// TestExecInputThatFails: the command must not take a part for the whole.
func TestExecInputThatFails(t *testing.T) {
	t.Parallel()
	w, c := studio(t)
	in := io.MultiReader(strings.NewReader("a part"), brokenInput{})
	got := w.run(t.Context(), t, in, nil, "sandbox", "exec", "alice", "--", "sh", "-c", "cat >/tmp/part; touch /tmp/whole")
	if got.code != 1 || !strings.Contains(got.stderr, "passing standard input on") {
		t.Errorf("exit code %d, stderr %q", got.code, got.stderr)
	}
	if left := inContainer(t, c, "ls /tmp"); strings.Contains(left, "whole") {
		t.Errorf("the command ended well: %s", left)
	}
}

type brokenInput struct{}

func (brokenInput) Read([]byte) (int, error) { return 0, os.ErrPermission }

// TestExecReaderGoesAway: as in exec … | head -1, nothing is left running.
func TestExecReaderGoesAway(t *testing.T) {
	t.Parallel()
	w, c := studio(t)
	cmd := w.command(t, "sandbox", "exec", "alice", "--", "yes", "unique-yes")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(out, make([]byte, 11)); err != nil {
		t.Fatal(err)
	}
	out.Close()
	_ = cmd.Wait() // the code tells
	if code := cmd.ProcessState.ExitCode(); code != 141 {
		t.Errorf("exit code %d, want 141", code)
	}
	waitGone(t, c, "yes unique-yes")
}
