package sshtest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/pem"
	"os"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"
)

// Key is a key pair.
type Key struct {
	Private crypto.PrivateKey
	Signer  ssh.Signer
	// Line is "type base64", as authorized_keys and known_hosts have it.
	Line string
}

// NewKey makes a key: ed25519, ecdsa or rsa.
func NewKey(t testing.TB, kind string) Key {
	t.Helper()
	private, err := generate(kind)
	if err != nil {
		t.Fatalf("making a key of type %q: %v", kind, err)
	}
	signer, err := ssh.NewSignerFromKey(private)
	if err != nil {
		t.Fatalf("making a signer of type %q: %v", kind, err)
	}
	return Key{private, signer, strings.TrimSpace(string(ssh.MarshalAuthorizedKey(signer.PublicKey())))}
}

func generate(kind string) (crypto.PrivateKey, error) {
	switch kind {
	case "ecdsa":
		return ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	case "rsa":
		return rsa.GenerateKey(rand.Reader, 2048)
	}
	_, private, err := ed25519.GenerateKey(rand.Reader)
	return private, err
}

// Write writes the private key to a file that only the user can read. A
// passphrase that is not empty encrypts it.
func (k Key) Write(t testing.TB, path, passphrase string) {
	t.Helper()
	block, err := ssh.MarshalPrivateKey(k.Private, "")
	if passphrase != "" {
		block, err = ssh.MarshalPrivateKeyWithPassphrase(k.Private, "", []byte(passphrase))
	}
	if err != nil {
		t.Fatalf("writing %s: %v", path, err)
	}
	writeFile(t, path, string(pem.EncodeToMemory(block)), 0o600)
}

// Fingerprint is the key's, as SHA256:….
func (k Key) Fingerprint() string { return ssh.FingerprintSHA256(k.Signer.PublicKey()) }

func writeFile(t testing.TB, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}
