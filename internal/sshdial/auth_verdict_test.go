package sshdial_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hermesbox/hermesbox/internal/sshtest"
)

// file is a file of the client's .ssh.
func (s *scene) file(name string) string { return filepath.Join(s.Home, ".ssh", name) }

// configure is SetConfig without the key of the server's.
func (s *scene) configure(t *testing.T, lines string) {
	t.Helper()
	text := lines + "\nUserKnownHostsFile " + s.KnownHosts() + "\nGlobalKnownHostsFile none\n"
	if err := os.WriteFile(s.ConfigFile(), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func put(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

func TestAuthAgent(t *testing.T) {
	t.Parallel()
	keys := make([]sshtest.Key, 6)
	for i := range keys {
		keys[i] = sshtest.NewKey(t, "ed25519")
	}
	few := sshtest.Options{Config: "MaxAuthTries 3"}
	tests := []contest{
		{name: "a key of the agent", want: "in", prepare: func(t *testing.T, s *scene) {
			s.agent = sshtest.Agent(t, keys[0])
			s.Authorize(t, keys[0])
			s.configure(t, "IdentityFile none\n")
		}},
		{name: "six keys of the agent, the third is right", options: few, want: "in", prepare: func(t *testing.T, s *scene) {
			s.agent = sshtest.Agent(t, keys...)
			s.Authorize(t, keys[2])
			s.configure(t, "IdentityFile none\n")
		}},
		{
			name: "six keys of the agent, the fourth is right", options: few, want: "too many",
			prepare: func(t *testing.T, s *scene) {
				s.agent = sshtest.Agent(t, keys...)
				s.Authorize(t, keys[3])
				s.configure(t, "IdentityFile none\n")
			},
			text: []string{"too many authentication failures; offered: agent key SHA256:", "not offered: agent key " + keys[3].Fingerprint() + " (the server hung up before)"},
		},
		{name: "six keys of the agent, the fourth is configured", options: few, want: "in", prepare: func(t *testing.T, s *scene) {
			s.agent = sshtest.Agent(t, keys...)
			s.Authorize(t, keys[3])
			keys[3].Write(t, s.file("mine"), "")
			s.configure(t, "IdentityFile "+s.file("mine")+"\n")
		}},
		{name: "six keys of the agent, the fourth is configured by its public part", options: few, want: "in", prepare: func(t *testing.T, s *scene) {
			s.agent = sshtest.Agent(t, keys...)
			s.Authorize(t, keys[3])
			put(t, s.file("mine.pub"), keys[3].Line+" comment\n", 0o644)
			s.configure(t, "IdentityFile "+s.file("mine.pub")+"\nIdentitiesOnly yes\n")
		}},
		{name: "six keys of the agent, the fourth is configured, its public part is there", options: few, want: "in", prepare: func(t *testing.T, s *scene) {
			s.agent = sshtest.Agent(t, keys...)
			s.Authorize(t, keys[3])
			put(t, s.file("mine.pub"), keys[3].Line+" comment\n", 0o644)
			s.configure(t, "IdentityFile "+s.file("mine")+"\n")
		}},
		{
			name: "six keys of the agent, the file is right", options: few, want: "too many",
			prepare: func(t *testing.T, s *scene) { s.agent = sshtest.Agent(t, keys...) },
			text:    []string{"/.ssh/id_ed25519 (the server hung up before)"},
		},
		{name: "six keys of the agent, only the file is offered", options: few, want: "in", prepare: func(t *testing.T, s *scene) {
			s.agent = sshtest.Agent(t, keys...)
			s.SetConfig(t, "IdentitiesOnly yes\n")
		}},
	}
	for _, test := range tests {
		t.Run(test.name, test.run)
	}
}

func TestAuthFiles(t *testing.T) {
	t.Parallel()
	key, other := sshtest.NewKey(t, "ed25519"), sshtest.NewKey(t, "ed25519")
	tests := []contest{
		{
			name: "no key is right", want: "denied",
			prepare: func(t *testing.T, s *scene) {
				s.agent = sshtest.Agent(t, key)
				put(t, s.AuthorizedKeys(), "", 0o644)
			},
			text: []string{"permission denied (publickey); offered: agent key " + key.Fingerprint() + ", /"},
			not:  []string{"not offered"},
		},
		{
			name: "an agent that is not there", want: "in",
			prepare: func(_ *testing.T, s *scene) { s.agent = "/nonexistent/agent" },
		},
		{
			name: "nothing but an agent that is not there", want: "denied",
			prepare: func(t *testing.T, s *scene) {
				s.agent = "/nonexistent/agent"
				s.configure(t, "IdentityFile /nonexistent/key\n")
			},
			text: []string{"no key was offered", "/nonexistent/key (no such file)", "agent (it does not answer: no such file or directory)"},
		},
		{
			name: "a file that others can read", want: "denied",
			prepare: func(t *testing.T, s *scene) {
				if err := os.Chmod(s.file("id_ed25519"), 0o644); err != nil {
					t.Fatal(err)
				}
			},
			text: []string{"no key was offered", "id_ed25519 (permissions 0644 are too open)"},
		},
		{
			name: "an encrypted file", want: "denied",
			prepare: func(t *testing.T, s *scene) {
				key.Write(t, s.file("id_ed25519"), "secret")
				s.Authorize(t, key)
			},
			text: []string{"id_ed25519 (it is encrypted, and there is no terminal to ask for its passphrase)"},
		},
		{name: "an encrypted file that the agent has", want: "in", prepare: func(t *testing.T, s *scene) {
			s.agent = sshtest.Agent(t, other, key)
			key.Write(t, s.file("id_ed25519"), "secret")
			s.Authorize(t, key)
			s.SetConfig(t, "IdentitiesOnly yes\n")
		}},
		{
			name: "a file that is no key", want: "denied",
			prepare: func(t *testing.T, s *scene) { put(t, s.file("id_ed25519"), "hello\n", 0o600) },
			text:    []string{"id_ed25519 (it is not a private key that can be read: no key found)"},
		},
		{
			name: "a file cut in half", want: "denied",
			prepare: func(t *testing.T, s *scene) {
				data, err := os.ReadFile(s.file("id_ed25519"))
				if err != nil {
					t.Fatal(err)
				}
				put(t, s.file("id_ed25519"), string(data[:len(data)/2]), 0o600)
			},
			text: []string{"id_ed25519 (it is not a private key that can be read"},
		},
		{
			name: "a directory", want: "denied",
			prepare: func(t *testing.T, s *scene) { s.configure(t, "IdentityFile "+s.Home+"\n") },
			text:    []string{"(it is not a regular file)"},
		},
		{
			name: "an empty file", want: "denied",
			prepare: func(t *testing.T, s *scene) { put(t, s.file("id_ed25519"), "", 0o600) },
			text:    []string{"no key found"},
		},
		{name: "rsa", want: "in", prepare: func(t *testing.T, s *scene) {
			key := sshtest.NewKey(t, "rsa")
			key.Write(t, s.file("id_ed25519"), "")
			s.Authorize(t, key)
		}},
		{name: "rsa of the agent", want: "in", prepare: func(t *testing.T, s *scene) {
			key := sshtest.NewKey(t, "rsa")
			s.agent = sshtest.Agent(t, key)
			s.Authorize(t, key)
			s.configure(t, "IdentityFile none\n")
		}},
		{name: "ecdsa", want: "in", prepare: func(t *testing.T, s *scene) {
			key := sshtest.NewKey(t, "ecdsa")
			key.Write(t, s.file("id_ed25519"), "")
			s.Authorize(t, key)
		}},
	}
	for _, test := range tests {
		t.Run(test.name, test.run)
	}
}

// What a server wants is not always a key, or not one alone.
func TestAuthServers(t *testing.T) {
	t.Parallel()
	tests := []contest{
		{
			name: "passwords only", options: sshtest.Options{Config: "PubkeyAuthentication no\nPasswordAuthentication yes"}, want: "denied",
			text: []string{"permission denied (password); no key was offered"},
		},
		{
			name: "a key and a password", options: sshtest.Options{Config: "AuthenticationMethods publickey,password\nPasswordAuthentication yes"}, want: "denied",
			text: []string{"permission denied (password): the server wants more than a key"},
		},
		{name: "two keys", options: sshtest.Options{Config: "AuthenticationMethods publickey,publickey"}, want: "in", prepare: func(t *testing.T, s *scene) {
			key := sshtest.NewKey(t, "ed25519")
			key.Write(t, s.file("second"), "")
			s.Authorize(t, key)
			s.SetConfig(t, "IdentityFile "+s.file("second")+"\n")
		}},
		{
			name: "another user", want: "denied",
			prepare: func(_ *testing.T, s *scene) { s.target = strings.Replace(s.Target(), s.User+"@", "nosuchuser@", 1) },
			text:    []string{"nosuchuser@127.0.0.1 port"},
		},
		{name: "the user of ssh_config", want: "denied", prepare: func(t *testing.T, s *scene) {
			s.SetConfig(t, "User nosuchuser\n")
			s.target = strings.TrimPrefix(s.Target(), s.User+"@")
		}},
	}
	for _, test := range tests {
		t.Run(test.name, test.run)
	}
}

func TestAuthCertificates(t *testing.T) {
	t.Parallel()
	key := sshtest.NewKey(t, "ed25519")
	ca := sshtest.NewKey(t, "ed25519")
	caFile := filepath.Join(t.TempDir(), "ca.pub")
	put(t, caFile, ca.Line+"\n", 0o644)
	trusting := sshtest.Options{Config: "TrustedUserCAKeys " + caFile}
	tests := []contest{
		{name: "a certificate beside the key", options: trusting, want: "in", prepare: func(t *testing.T, s *scene) {
			key.Write(t, s.file("id_ed25519"), "")
			sshtest.Certificate{CA: ca, Principals: []string{s.User}}.Write(t, key, s.file("id_ed25519-cert.pub"))
		}},
		{name: "a certificate, rsa", options: trusting, want: "in", prepare: func(t *testing.T, s *scene) {
			key := sshtest.NewKey(t, "rsa")
			key.Write(t, s.file("id_ed25519"), "")
			sshtest.Certificate{CA: ca, Principals: []string{s.User}}.Write(t, key, s.file("id_ed25519-cert.pub"))
		}},
		{name: "a configured certificate", options: trusting, want: "in", prepare: func(t *testing.T, s *scene) {
			key.Write(t, s.file("id_ed25519"), "")
			sshtest.Certificate{CA: ca, Principals: []string{s.User}}.Write(t, key, s.file("other.pub"))
			s.SetConfig(t, "CertificateFile "+s.file("other.pub")+"\n")
		}},
		{name: "a configured certificate for a key of the agent", options: trusting, want: "in", prepare: func(t *testing.T, s *scene) {
			s.agent = sshtest.Agent(t, key)
			sshtest.Certificate{CA: ca, Principals: []string{s.User}}.Write(t, key, s.file("other.pub"))
			s.configure(t, "IdentityFile none\nCertificateFile "+s.file("other.pub")+"\n")
		}},
		{name: "a certificate that has expired", options: trusting, want: "denied", prepare: func(t *testing.T, s *scene) {
			key.Write(t, s.file("id_ed25519"), "")
			sshtest.Certificate{CA: ca, Principals: []string{s.User}, Until: time.Now().Add(-time.Hour)}.Write(t, key, s.file("id_ed25519-cert.pub"))
		}},
		{
			name: "a certificate without its key", options: trusting, want: "denied",
			prepare: func(t *testing.T, s *scene) {
				sshtest.Certificate{CA: ca, Principals: []string{s.User}}.Write(t, key, s.file("other.pub"))
				s.configure(t, "IdentityFile none\nCertificateFile "+s.file("other.pub")+"\nCertificateFile "+s.KnownHosts()+"\n")
			},
			text: []string{"other.pub (its private key is in no file", "known_hosts (it is not a certificate that can be read)"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, test.run)
	}
}
