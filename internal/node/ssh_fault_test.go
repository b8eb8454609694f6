package node_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hermesbox/hermesbox/internal/node"
	"github.com/hermesbox/hermesbox/internal/sshdial"
	"github.com/hermesbox/hermesbox/internal/sshtest"
)

// TestBanner has login shells say much before they run anything.
func TestBanner(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ shell, file, banner string }{
		{"bash", ".bashrc", "echo welcome; printf 'no line end'; echo oops >&2; trap 'echo bye' EXIT\n"},
		{"bash", ".bashrc", "seq 100000; seq 100000 >&2\n"},
		{"zsh", ".zshenv", "echo welcome; echo oops >&2\n"},
		{"fish", ".config/fish/config.fish", "echo welcome; echo oops >&2\n"},
		{"tcsh", ".tcshrc", "echo welcome\nsh -c 'echo oops >&2'\n"},
	} {
		t.Run(test.shell, func(t *testing.T) {
			t.Parallel()
			n := over(t, sshtest.Start(t, sshtest.Options{Users: []sshtest.User{{Name: "deploy", Shell: program(t, test.shell), Sudo: true}}}), "sudo -n")
			const write = `cd "$(getent passwd deploy | cut -d: -f6)" && mkdir -p "$(dirname "$1")" && cat >"$1" && chown -R deploy .`
			if got := run(t, n, node.Script{Text: write, Args: []string{test.file}, Stdin: strings.NewReader(test.banner)}); got.Code != 0 {
				t.Fatalf("writing %s: %+v", test.file, got)
			}
			got := run(t, n, node.Script{Text: "echo out; echo err >&2; exit 3"})
			if diff := cmp.Diff(result{Code: 3, Stdout: "out\n", Stderr: "err\n"}, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestNotStarted is about what stands between the connection and the script.
func TestNotStarted(t *testing.T) {
	t.Parallel()
	user := func(shell string, sudo bool) sshtest.Options {
		return sshtest.Options{Users: []sshtest.User{{Name: "deploy", Shell: shell, Sudo: sudo}}}
	}
	for _, test := range []struct {
		name   string
		server sshtest.Options
		become string
		want   error
		says   string
	}{
		{"sudo wants a password", user("/bin/sh", false), "sudo -n", node.ErrBecome, "sudo"},
		{"no such become", user("/bin/sh", true), "no-such-doas -n", node.ErrBecome, "not found"},
		{"no such become in bash", user("/bin/bash", true), "no-such-doas -n", node.ErrBecome, "not found"},
		{"become another user", user("/bin/sh", true), "sudo -n -u nobody", node.ErrNotRoot, "user id 65534"},
		{"not root", user("/bin/sh", true), "", node.ErrNotRoot, "user id 61000"},
		{"no login", user("/usr/sbin/nologin", false), "", node.ErrNotStarted, "not available"},
		{"a shell that fails", user("/bin/false", false), "", node.ErrNotStarted, "said nothing"},
		{"a forced command", sshtest.Options{Config: "ForceCommand echo Please log in as the user ubuntu; exit 142"}, "", node.ErrNotStarted, "user ubuntu"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			n := over(t, sshtest.Start(t, test.server), test.become)
			code, err := n.Run(t.Context(), node.Script{Text: "echo it ran"})
			if !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.says) || !strings.Contains(err.Error(), "node-1") {
				t.Errorf("Run: %d, %v\nwant %v, and %q", code, err, test.want, test.says)
			}
		})
	}
}

// TestCutShort wants nothing to run of which only a part arrived.
func TestCutShort(t *testing.T) {
	t.Parallel()
	n := over(t, sshtest.Start(t, sshtest.Options{Config: "ForceCommand head -c 300 | sh -c \"$SSH_ORIGINAL_COMMAND\""}), "")
	var said strings.Builder
	_, err := n.Run(t.Context(), node.Script{Text: "echo it ran; " + strings.Repeat(":; ", 1000), Stdout: &said})
	if !errors.Is(err, node.ErrNotStarted) || !strings.Contains(err.Error(), "cut short") || said.String() != "" {
		t.Errorf("Run: %v, %q", err, said.String())
	}
}

func TestLostConnection(t *testing.T) {
	t.Parallel()
	s := sshtest.Start(t, sshtest.Options{})
	n := over(t, s, "")
	for range 3 {
		if got := run(t, n, node.Script{Text: "echo one"}); got.Stdout != "one\n" {
			t.Errorf("Run: %+v", got)
		}
	}
	if got := s.Connections(); got != 1 {
		t.Errorf("%d connections for three scripts, want 1", got)
	}
	if _, err := n.Run(t.Context(), node.Script{Text: "echo started; sleep 60", Stdout: notice(s.Cut)}); !errors.Is(err, sshdial.ErrLost) {
		t.Errorf("a connection that is cut while a script runs: %v", err)
	}
	if got := run(t, n, node.Script{Text: "echo two"}); got.Stdout != "two\n" {
		t.Errorf("the next script: %+v", got)
	}
	s.Cut()
	if got := run(t, n, node.Script{Text: "echo three"}); got.Stdout != "three\n" {
		t.Errorf("a connection that was cut between scripts: %+v", got)
	}
}

func TestNoConnection(t *testing.T) {
	t.Parallel()
	s := sshtest.Start(t, sshtest.Options{})
	s.SetKnownHosts(t, "")
	n := over(t, s, "")
	var key *sshdial.HostKeyError
	for range 2 {
		if _, err := n.Run(t.Context(), node.Script{Text: "true"}); !errors.As(err, &key) || !strings.Contains(err.Error(), "node-1") {
			t.Errorf("Run: %v", err)
		}
	}
	if err := n.Close(); err != nil {
		t.Errorf("closing what was never open: %v", err)
	}
}
