package cmd_test

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/hermesbox/hermesbox/cmd"
)

// onTerminal runs hermesbox with a terminal as standard input, on which typed is typed.
func onTerminal(ctx context.Context, t *testing.T, typed string, env map[string]string, args ...string) ran {
	t.Helper()
	keyboard, terminal, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer keyboard.Close()
	defer terminal.Close()
	if _, err := keyboard.WriteString(typed); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	home := t.TempDir()
	getenv := func(name string) string {
		if name == "HOME" {
			return home
		}
		return env[name]
	}
	code := cmd.Run(ctx, cmd.System{In: terminal, Out: &stdout, Err: &stderr, Getenv: getenv}, args)
	return ran{code, stdout.String(), stderr.String()}
}

// TestConfirm: what is deleted is asked for first, and only yes is yes.
func TestConfirm(t *testing.T) {
	t.Parallel()
	for typed, deleted := range map[string]int{"y\n": 1, "YES\n": 1, "\n": 0, "no\n": 0, "yep\n": 0} {
		m := newCubeMaster(t)
		got := onTerminal(t.Context(), t, typed, map[string]string{"CUBE_MASTER_ADDR": m.URL}, "template", "delete", "tpl-1")
		if m.deleted != deleted || (got.code == 0) != (deleted == 1) || !strings.Contains(got.stderr, "deleting 1 template(s), tpl-1? [y/N]") {
			t.Errorf("%q: exit code %d, %d deleted\n%s", typed, got.code, m.deleted, got.stderr)
		}
		if deleted == 0 && !strings.Contains(got.stderr, "nothing was changed") {
			t.Errorf("%q: nothing says that nothing was changed\n%s", typed, got.stderr)
		}
	}
}

// TestConfirmInterrupted: a question does not hold up the end.
func TestConfirmInterrupted(t *testing.T) {
	t.Parallel()
	m := newCubeMaster(t)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	got := onTerminal(ctx, t, "", map[string]string{"CUBE_MASTER_ADDR": m.URL}, "template", "delete", "tpl-1")
	if got.code == 0 || m.deleted != 0 {
		t.Errorf("exit code %d, %d deleted", got.code, m.deleted)
	}
}

// TestNoCubeOnTerminal: there the local Cube is used, and the first line says so.
func TestNoCubeOnTerminal(t *testing.T) {
	t.Parallel()
	got := onTerminal(t.Context(), t, "", nil, "template", "ls")
	first, rest, _ := strings.Cut(got.stderr, "\n")
	if !strings.Contains(first, "no Cube is configured: using the local Cube") || got.code != 1 || !strings.Contains(rest, "no local Cube is running") {
		t.Errorf("exit code %d\n%s", got.code, got.stderr)
	}
	// A configured cluster is not second-guessed.
	m := newCubeMaster(t)
	if got := onTerminal(t.Context(), t, "", map[string]string{"CUBE_MASTER_ADDR": m.URL}, "template", "ls"); got.code != 0 || got.stderr != "" {
		t.Errorf("exit code %d\n%s", got.code, got.stderr)
	}
}

// TestEmptyLists: the JSON of an empty list is one.
func TestEmptyLists(t *testing.T) {
	t.Parallel()
	m := newCubeMaster(t)
	for _, args := range [][]string{{"template", "ls"}, {"template", "delete", "--failed"}, {"template", "delete", "--keep", "3", "--name", "x"}} {
		got := hermesbox(t, m.env(), append([]string{"--output", "json"}, args...)...)
		if got.code != 0 || strings.TrimSpace(got.stdout) != "[]" {
			t.Errorf("%q: exit code %d, %q\n%s", args, got.code, got.stdout, got.stderr)
		}
	}
}
