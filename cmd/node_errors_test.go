package cmd

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/hermesbox/hermesbox/internal/node"
	"github.com/hermesbox/hermesbox/internal/sshdial"
)

// TestNodeErrorsHaveANextStep wraps each error as a stage does.
func TestNodeErrorsHaveANextStep(t *testing.T) {
	t.Parallel()
	key := sshdial.Key{From: "agent"}
	for _, test := range []struct {
		name string
		err  error
		code int
		hint string // a part of it
	}{
		{"no key", &sshdial.AuthError{Methods: []string{"publickey"}}, exitAuth, "ssh-add"},
		{"a key that is not taken", &sshdial.AuthError{User: "root", Methods: []string{"publickey"}, Offered: []sshdial.Key{key}}, exitAuth, "authorized_keys of root"},
		{"a key that others can read", &sshdial.AuthError{Skipped: []sshdial.Key{{From: "/id", Reason: "permissions 0644 are too open"}}}, exitAuth, "chmod 600 '/id'"},
		{"passwords only", &sshdial.AuthError{Methods: []string{"password"}}, exitAuth, "PubkeyAuthentication"},
		{"more than a key", &sshdial.AuthError{Methods: []string{"password", "publickey"}, Partial: true}, exitAuth, "AuthenticationMethods"},
		{"many keys", &sshdial.AuthError{TooMany: true}, exitAuth, "IdentitiesOnly"},
		{"an unknown host key", &sshdial.HostKeyError{Kind: sshdial.Unknown}, exitFailed, "compare the fingerprint"},
		{"another host key", &sshdial.HostKeyError{Kind: sshdial.Changed, Name: "[h]:22"}, exitFailed, "ssh-keygen -R '[h]:22'"},
		{"a revoked host key", &sshdial.HostKeyError{Kind: sshdial.Revoked}, exitFailed, "do not connect"},
		{"a wrong line", &sshdial.ConfigError{}, exitUsage, "ssh -G"},
		{"a directive", &sshdial.ConfigError{Unsupported: true}, exitUsage, "without it"},
		{"a wrong address", &sshdial.TargetError{}, exitUsage, "[user@]host[:port]"},
		{"no server", &sshdial.UnreachableError{Cause: sshdial.Refused}, exitFailed, "sshd runs"},
		{"no name", &sshdial.UnreachableError{Cause: sshdial.NoSuchHost}, exitFailed, "resolver"},
		{"another protocol", &sshdial.UnreachableError{Cause: sshdial.NotSSH}, exitFailed, "something else"},
		{"a jump host", &sshdial.UnreachableError{Cause: sshdial.Forbidden}, exitFailed, "AllowTcpForwarding"},
		{"no answer", &sshdial.UnreachableError{Cause: sshdial.TimedOut}, exitFailed, "ssh -v"},
		{"lost", sshdial.ErrLost, exitFailed, "same command again"},
		{"lost before", sshdial.ErrClosed, exitFailed, "same command again"},
		{"not root", node.ErrNotRoot, exitUsage, "become"},
		{"sudo", node.ErrBecome, exitFailed, "NOPASSWD"},
		{"not started", node.ErrNotStarted, exitFailed, "login shell"},
		{"killed", node.ErrSignal, exitFailed, "memory"},
		{"unfinished", node.ErrUnfinished, exitFailed, "same command again"},
		{"a link", &node.DirError{Problem: "it is a link"}, exitFailed, "remove it"},
		{"a file", &node.DirError{Problem: "it is no directory"}, exitFailed, "move it away"},
		{"a parent that is a file", &node.DirError{Problem: "mkdir: cannot create directory '/a/b': Not a directory"}, exitFailed, "move it away"},
		{"read-only", &node.DirError{Problem: "mkdir: cannot create directory '/a': Read-only file system"}, exitFailed, "read-write"},
		{"full", &node.DirError{Problem: "mkdir: cannot create directory '/a': No space left on device"}, exitFailed, "make room"},
		{"something else", &node.DirError{Problem: "mkdir: Operation not permitted"}, exitFailed, "by hand"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := failed(nodeFailed(fmt.Errorf("running a script on node n: %w", test.err)))
			if got.code != test.code || !strings.Contains(got.hint, test.hint) || !errors.Is(got, test.err) {
				t.Errorf("exit code %d, hint %q", got.code, got.hint)
			}
		})
	}
	given := usagef("given")
	if got := nodeFailed(given); !errors.Is(got, given) || nodeFailed(nil) != nil || nodeFailed(errAdvised) != errAdvised { //nolint:errorlint // the very same
		t.Errorf("what is no node's: %v", got)
	}
}

var errAdvised = errors.New("of something else")
