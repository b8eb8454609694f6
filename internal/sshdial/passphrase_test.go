package sshdial_test

import (
	"encoding/pem"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hermesbox/hermesbox/internal/sshdial"
	"github.com/hermesbox/hermesbox/internal/sshtest"
)

// asker is a terminal with someone before it.
type asker struct {
	answers []string
	err     error
	prompts []string
	wait    time.Duration
}

func (a *asker) ask(prompt string) ([]byte, error) {
	time.Sleep(a.wait)
	a.prompts = append(a.prompts, prompt)
	if len(a.answers) == 0 {
		return nil, a.err
	}
	answer := a.answers[0]
	a.answers = a.answers[1:]
	return []byte(answer), nil
}

func TestPassphrase(t *testing.T) {
	t.Parallel()
	wrong := errors.New("the terminal is gone")
	tests := []struct {
		name    string
		timeout time.Duration
		asker   asker
		kind    string
		prepare func(t *testing.T, s *sshtest.Server, key sshtest.Key)
		asked   int
		reason  string // "" is in
	}{
		{name: "right", asker: asker{answers: []string{"secret"}}, asked: 1},
		{name: "right at the third time", asker: asker{answers: []string{"a", "b", "secret"}}, asked: 3},
		{name: "rsa", kind: "rsa", asker: asker{answers: []string{"secret"}}, asked: 1},
		{name: "wrong three times", asker: asker{answers: []string{"a", "b", "c", "secret"}}, asked: 3, reason: "its passphrase was wrong"},
		{name: "none", asker: asker{answers: []string{""}}, asked: 1, reason: "no passphrase was given"},
		{name: "no answer", asker: asker{err: wrong}, asked: 1, reason: "asking for its passphrase: the terminal is gone"},
		{name: "slower than the connection may be", asker: asker{answers: []string{"secret"}, wait: 6 * time.Second}, asked: 1, timeout: 4 * time.Second},
		{
			name: "not asked for a key that the server does not take", asker: asker{answers: []string{"secret"}}, asked: 0, reason: "permission denied",
			prepare: func(t *testing.T, s *sshtest.Server, _ sshtest.Key) { put(t, s.AuthorizedKeys(), "", 0o644) },
		},
		{
			name: "not asked in batch mode", asker: asker{answers: []string{"secret"}}, asked: 0, reason: "there is no terminal",
			prepare: func(t *testing.T, s *sshtest.Server, _ sshtest.Key) { s.SetConfig(t, "BatchMode yes\n") },
		},
		{
			name: "another key after one that could not be opened", asker: asker{answers: []string{"a", "b", "c"}}, asked: 3,
			prepare: func(t *testing.T, s *sshtest.Server, _ sshtest.Key) {
				key := sshtest.NewKey(t, "ed25519")
				key.Write(t, s.Home+"/.ssh/second", "")
				s.Authorize(t, key)
				put(t, s.ConfigFile(), read(t, s.ConfigFile())+"IdentityFile "+s.Home+"/.ssh/second\n", 0o600)
			},
		},
		{
			name: "the format of old", kind: "rsa", asker: asker{answers: []string{"x", "secret"}}, asked: 2,
			prepare: func(t *testing.T, s *sshtest.Server, _ sshtest.Key) { old(t, s.Home+"/.ssh/id_ed25519") },
		},
		{
			name: "the format of old, wrong", kind: "rsa", asker: asker{answers: []string{""}}, asked: 1, reason: "no passphrase was given",
			prepare: func(t *testing.T, s *sshtest.Server, _ sshtest.Key) { old(t, s.Home+"/.ssh/id_ed25519") },
		},
		{
			name: "not asked before the server's own key is checked", kind: "rsa", asker: asker{answers: []string{"secret"}}, asked: 0, reason: "no ED25519 host key is known",
			prepare: func(t *testing.T, s *sshtest.Server, _ sshtest.Key) {
				old(t, s.Home+"/.ssh/id_ed25519")
				s.SetKnownHosts(t, "")
			},
		},
		{
			name: "damaged", asker: asker{answers: []string{"secret"}}, asked: 0, reason: "it is not a private key that can be read",
			prepare: func(t *testing.T, s *sshtest.Server, _ sshtest.Key) {
				path := s.Home + "/.ssh/id_ed25519"
				block, _ := pem.Decode([]byte(read(t, path)))
				block.Bytes = block.Bytes[:len(block.Bytes)-9]
				put(t, path, string(pem.EncodeToMemory(block)), 0o600)
			},
		},
		{
			name: "a cipher that is not known", asker: asker{answers: []string{"secret"}}, asked: 1, reason: "it did not sign: decrypting it: ",
			prepare: func(t *testing.T, s *sshtest.Server, _ sshtest.Key) {
				rewrite(t, s.Home+"/.ssh/id_ed25519", "-Z", "aes128-gcm@openssh.com")
			},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := sshtest.Start(t, sshtest.Options{})
			key := sshtest.NewKey(t, test.kind)
			key.Write(t, s.Home+"/.ssh/id_ed25519", "secret")
			s.Authorize(t, key)
			if test.prepare != nil {
				test.prepare(t, s, key)
			}
			d := sshdial.Dialer{Getenv: s.Getenv, AskPassphrase: test.asker.ask, Timeout: test.timeout}
			conn, err := d.Dial(t.Context(), s.Target())
			if err == nil {
				conn.Close()
			}
			if len(test.asker.prompts) != test.asked {
				t.Errorf("asked %q, want %d times", test.asker.prompts, test.asked)
			}
			for _, p := range test.asker.prompts {
				if !strings.Contains(p, "passphrase") || !strings.Contains(p, "id_ed25519") {
					t.Errorf("asked %q", p)
				}
			}
			switch {
			case test.reason == "" && err != nil:
				t.Errorf("error %v", err)
			case test.reason != "" && (err == nil || !strings.Contains(err.Error(), test.reason)):
				t.Errorf("error %v, want %s", err, test.reason)
			}
		})
	}
}

// However many servers take a key, its passphrase is asked for once.
func TestPassphraseOnce(t *testing.T) {
	t.Parallel()
	s := sshtest.Start(t, sshtest.Options{})
	key := sshtest.NewKey(t, "ed25519")
	key.Write(t, s.Home+"/.ssh/id_ed25519", "secret")
	s.Authorize(t, key)
	for answer, want := range map[string]int{"secret": 1, "": 1, "wrong": 3} {
		a := asker{answers: slices.Repeat([]string{answer}, 20)}
		d := sshdial.Dialer{Getenv: s.Getenv, AskPassphrase: a.ask}
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				conn, err := d.Dial(t.Context(), s.Target())
				if err == nil {
					conn.Close()
				}
				if (err == nil) != (answer == "secret") {
					t.Errorf("%q: %v", answer, err)
				}
			})
		}
		all.Wait()
		if len(a.prompts) != want {
			t.Errorf("%q: asked %d times, want %d", answer, len(a.prompts), want)
		}
	}
}

// old rewrites a key in the PEM format, which shows nothing of an encrypted key.
func old(t *testing.T, path string) {
	t.Helper()
	rewrite(t, path, "-m", "PEM")
	if !strings.Contains(read(t, path), "BEGIN RSA PRIVATE KEY") {
		t.Fatal("ssh-keygen did not write PEM")
	}
}

// rewrite has ssh-keygen write a key anew.
func rewrite(t *testing.T, path string, args ...string) {
	t.Helper()
	args = append([]string{"-q", "-p", "-P", "secret", "-N", "secret", "-f", path}, args...)
	if out, err := exec.CommandContext(t.Context(), "ssh-keygen", args...).CombinedOutput(); err != nil {
		t.Fatalf("ssh-keygen: %v: %s", err, out)
	}
	_ = os.Remove(path + ".pub")
}
