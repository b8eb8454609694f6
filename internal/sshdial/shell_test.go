package sshdial_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hermesbox/hermesbox/internal/sshdial"
	"github.com/hermesbox/hermesbox/internal/sshtest"
)

// Users of all kinds get their bytes through: the login shell reads the line,
// whatever it is, and what it says of itself comes with the output.
func TestShells(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "shell") //nolint:usetesting // other users reach it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	noisy := filepath.Join(dir, "noisy")
	put(t, noisy, "#!/bin/sh\necho Welcome\necho Hints >&2\nexec /bin/sh \"$@\"\n", 0o755)
	tests := []struct {
		name        string
		user        sshtest.User
		line        string
		stdout, err string
	}{
		{"sh", sshtest.User{Name: "ada"}, "cat; id -un", "in\nada\n", ""},
		{"sudo", sshtest.User{Name: "ada", Sudo: true}, "sudo -n sh -c 'cat; id -un'", "in\nroot\n", ""},
		{"a banner", sshtest.User{Name: "ada", Shell: noisy}, "cat", "Welcome\nin\n", "Hints\n"},
		{"fish", sshtest.User{Name: "ada", Shell: "/usr/bin/fish"}, "cat; echo (id -un) $status; exec sh -c 'echo $0' it", "in\nada 0\nit\n", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			conn := dial(t, sshtest.Start(t, sshtest.Options{Users: []sshtest.User{test.user}}), &sshdial.Dialer{})
			var out, errs bytes.Buffer
			code, err := conn.Run(t.Context(), sshdial.Command{Line: test.line, Stdin: strings.NewReader("in\n"), Stdout: &out, Stderr: &errs})
			if err != nil || code != 0 || out.String() != test.stdout || errs.String() != test.err {
				t.Errorf("%d, %v, stdout %q, stderr %q", code, err, out.String(), errs.String())
			}
		})
	}
}
