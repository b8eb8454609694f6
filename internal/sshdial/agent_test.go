package sshdial_test

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"github.com/hermesbox/hermesbox/internal/sshtest"
)

// agentSocket answers at a socket with do.
func agentSocket(t *testing.T, do func(net.Conn)) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "agent") //nolint:usetesting // the name of a socket is short
	if err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(dir, "s")
	var config net.ListenConfig
	l, err := config.Listen(t.Context(), "unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		l.Close()
		_ = os.RemoveAll(dir)
	})
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go do(conn)
		}
	}()
	return socket
}

// locked is an agent whose keys do not sign, as one whose user says no.
type locked struct{ agent.ExtendedAgent }

func (locked) SignWithFlags(ssh.PublicKey, []byte, agent.SignatureFlags) (*ssh.Signature, error) {
	return nil, net.ErrClosed
}

// An agent that cannot be used leaves the files, and is told of where these do
// not do either.
func TestAgentBroken(t *testing.T) {
	t.Parallel()
	held := sshtest.NewKey(t, "ed25519")
	tests := []struct {
		name   string
		answer func(net.Conn)
		reason string
	}{
		{"silent", func(c net.Conn) { _, _ = io.Copy(io.Discard, c) }, "agent (it does not answer: timed out)"},
		{"hangs up", func(c net.Conn) { c.Close() }, "agent (it does not answer: "},
		{"no agent", func(c net.Conn) { _, _ = c.Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n")) }, "agent (it does not answer: "},
		{"does not sign", func(c net.Conn) {
			ring := agent.NewKeyring()
			_ = ring.Add(agent.AddedKey{PrivateKey: held.Private})
			_ = agent.ServeAgent(locked{ring.(agent.ExtendedAgent)}, c)
		}, "offered: agent key " + held.Fingerprint() + " (it did not sign: "},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := &scene{Server: sshtest.Start(t, sshtest.Options{}), agent: agentSocket(t, test.answer)}
			s.target = s.Target()
			s.Authorize(t, held)
			if got, err := s.ours(t); got != "in" {
				t.Errorf("with a file: %s, %v", got, err)
			}
			s.configure(t, "IdentityFile none\n")
			if got, err := s.ours(t); got != "denied" || !strings.Contains(err.Error(), test.reason) {
				t.Errorf("without: %s, %v; want %s", got, err, test.reason)
			}
		})
	}
}
