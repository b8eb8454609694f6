package sshdial

import (
	"crypto/rand"
	"encoding/pem"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/crypto/ssh"

	"github.com/hermesbox/hermesbox/internal/sshtest"
)

func TestIdentityReasons(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	fifo, large, sk := filepath.Join(dir, "fifo"), filepath.Join(dir, "large"), filepath.Join(dir, "sk")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(large, make([]byte, maxKeyFile+1), 0o600); err != nil {
		t.Fatal(err)
	}
	write(t, sk, securityKey())
	open := filepath.Join(dir, "open")
	key := sshtest.NewKey(t, "ed25519")
	key.Write(t, open, "secret")
	chmod(t, open, 0o640)
	for path, want := range map[string]string{
		fifo:               "it is not a regular file",
		large:              "it is too large for a key",
		sk:                 "it is of a type that needs a security key or is not supported: add it to the agent",
		open:               "permissions 0640 are too open",
		dir + "/none":      "no such file or directory",
		open + "/x":        "not a directory",
		dir + "/none.pub/": "no such file or directory",
	} {
		id := (&auth{}).readIdentity(path)
		if id.signer != nil || id.reason != want || id.absent != strings.Contains(path, "none") {
			t.Errorf("%s: %+v, want %s", path, id, want)
		}
		if path == open && (id.public == nil || !equal(id.public, key.Signer.PublicKey())) {
			t.Errorf("%s: public part %v", path, id.public)
		}
	}
}

// securityKey is a private key of a security key's, in OpenSSH's format, as far
// as reading it goes.
func securityKey() string {
	public := ssh.Marshal(struct {
		Type, Key, Application string
	}{ssh.KeyAlgoSKED25519, strings.Repeat("k", 32), "ssh:"})
	private := ssh.Marshal(struct {
		Check1, Check2 uint32
		Type, Rest     string
	}{1, 1, ssh.KeyAlgoSKED25519, "rest"})
	for pad := byte(1); len(private)%8 != 0; pad++ {
		private = append(private, pad)
	}
	file := ssh.Marshal(struct {
		Cipher, KDF, Options string
		Keys                 uint32
		Public, Private      []byte
	}{"none", "none", "", 1, public, private})
	block := pem.Block{Type: "OPENSSH PRIVATE KEY", Bytes: append([]byte("openssh-key-v1\x00"), file...)}
	return string(pem.EncodeToMemory(&block))
}

func TestLockedSigner(t *testing.T) {
	t.Parallel()
	key := sshtest.NewKey(t, "ed25519")
	l := &lockedSigner{public: key.Signer.PublicKey(), unlock: func() (ssh.Signer, error) { return key.Signer, nil }}
	signature, err := l.Sign(rand.Reader, []byte("x"))
	if err != nil || l.PublicKey().Verify([]byte("x"), signature) != nil {
		t.Errorf("Sign: %v", err)
	}
	wrong := errors.New("wrong")
	l.unlock = func() (ssh.Signer, error) { return nil, wrong }
	if _, err := l.Sign(rand.Reader, nil); !errors.Is(err, wrong) {
		t.Errorf("error %v", err)
	}
}
