package sshdial_test

import (
	"testing"

	"github.com/hermesbox/hermesbox/internal/sshtest"
)

// Lists of algorithms are followed, in the forms that they have.
func TestAlgorithms(t *testing.T) {
	t.Parallel()
	config := func(lines string) func(*testing.T, *scene) {
		return func(t *testing.T, s *scene) { s.SetConfig(t, lines) }
	}
	rsaKey := func(lines string) func(*testing.T, *scene) {
		return func(t *testing.T, s *scene) {
			key := sshtest.NewKey(t, "rsa")
			key.Write(t, s.file("id_ed25519"), "")
			s.Authorize(t, key)
			s.SetConfig(t, lines)
		}
	}
	both := sshtest.Options{HostKeys: []string{"ed25519", "rsa"}}
	ca := sshtest.NewKey(t, "ecdsa")
	tests := []contest{
		{name: "a cipher", options: sshtest.Options{Config: "Ciphers aes256-ctr"}, want: "in", prepare: config("Ciphers aes128-ctr,aes256-ctr\n")},
		{name: "another cipher", options: sshtest.Options{Config: "Ciphers aes256-ctr"}, want: "not ssh", prepare: config("Ciphers aes128-ctr\n"), text: []string{"unable to negotiate"}},
		{name: "a cipher taken away", options: sshtest.Options{Config: "Ciphers aes256-ctr"}, want: "not ssh", prepare: config("Ciphers -aes*-ctr\n")},
		{name: "a weak cipher", options: sshtest.Options{Config: "Ciphers aes128-cbc"}, want: "not ssh"},
		{name: "a weak cipher, asked for", options: sshtest.Options{Config: "Ciphers aes128-cbc"}, want: "in", prepare: config("Ciphers +aes128-cbc\n")},
		{name: "an exchange", options: sshtest.Options{Config: "KexAlgorithms ecdh-sha2-nistp384"}, want: "in", prepare: config("KexAlgorithms ^ecdh-sha2-nistp384\n")},
		{name: "another exchange", options: sshtest.Options{Config: "KexAlgorithms ecdh-sha2-nistp384"}, want: "not ssh", prepare: config("KexAlgorithms curve25519-sha256\n")},
		{name: "a code", options: sshtest.Options{Config: "Ciphers aes128-ctr\nMACs hmac-sha2-256"}, want: "not ssh", prepare: config("MACs hmac-sha2-512\n")},
		{name: "a host key", options: both, want: "in", prepare: func(t *testing.T, s *scene) {
			s.SetConfig(t, "HostKeyAlgorithms rsa-sha2-512\n")
			s.SetKnownHosts(t, known(s, "", "rsa"))
		}},
		{name: "a host key that is not the known one", options: both, want: "changed", prepare: func(t *testing.T, s *scene) {
			s.SetConfig(t, "HostKeyAlgorithms ssh-ed25519,rsa-sha2-512\n")
			s.SetKnownHosts(t, known(s, "", "rsa"))
		}},
		{name: "host keys put first that are not known", options: both, want: "changed", prepare: func(t *testing.T, s *scene) {
			s.SetConfig(t, "HostKeyAlgorithms ^ssh-ed25519\n")
			s.SetKnownHosts(t, known(s, "", "rsa"))
		}},
		{name: "host keys taken away", options: both, want: "in", prepare: func(t *testing.T, s *scene) {
			s.SetConfig(t, "HostKeyAlgorithms -ecdsa*\n")
			s.SetKnownHosts(t, known(s, "", "rsa"))
		}},
		{
			name: "a short host key", options: sshtest.Options{HostKeys: []string{"rsa"}}, want: "weak", prepare: config("RequiredRSASize 3000\n"),
			text: []string{"has 2048 bits, which are too few"},
		},
		{
			name: "a short key", want: "denied", prepare: rsaKey("RequiredRSASize 3000\n"),
			text: []string{"id_ed25519 (it has 2048 bits, and at least 3000 are wanted)"},
		},
		{name: "a type of keys", want: "denied", prepare: config("PubkeyAcceptedAlgorithms rsa-sha2-256\n"), text: []string{"id_ed25519 (PubkeyAcceptedAlgorithms leaves its type out)"}},
		{name: "rsa by one algorithm", options: sshtest.Options{Config: "PubkeyAcceptedAlgorithms rsa-sha2-256"}, want: "in", prepare: rsaKey("PubkeyAcceptedAlgorithms rsa-sha2-256\n")},
		{name: "rsa by another", options: sshtest.Options{Config: "PubkeyAcceptedAlgorithms rsa-sha2-256"}, want: "denied", prepare: rsaKey("PubkeyAcceptedKeyTypes rsa-sha2-512\n")},
		{name: "rsa of old", options: sshtest.Options{Config: "PubkeyAcceptedAlgorithms ssh-rsa"}, want: "denied", prepare: rsaKey("")},
		{name: "rsa of old, asked for", options: sshtest.Options{Config: "PubkeyAcceptedAlgorithms ssh-rsa"}, want: "in", prepare: rsaKey("PubkeyAcceptedAlgorithms ssh-rsa\n")},
		{
			name: "an authority's signature", options: sshtest.Options{Certificate: &sshtest.Certificate{CA: ca, Principals: []string{"127.0.0.1"}}}, want: "unknown",
			prepare: func(t *testing.T, s *scene) {
				s.SetConfig(t, "CASignatureAlgorithms ssh-ed25519\n")
				s.SetKnownHosts(t, "@cert-authority * "+ca.Line+"\n")
			},
			text: []string{"it is signed with ecdsa-sha2-nistp256, which is not taken"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, test.run)
	}
}
