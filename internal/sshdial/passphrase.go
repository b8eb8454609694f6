package sshdial

import (
	"bytes"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"sync"

	"golang.org/x/crypto/ssh"
)

// passphraseTries is how often OpenSSH asks.
const passphraseTries = 3

// keyring keeps what was unlocked, so that a key is asked for once however many
// servers take it, and one question at a time is on the terminal.
type keyring struct {
	mu   sync.Mutex
	keys map[string]unlocked // by path
}

// unlocked is a key, or why it could not be had.
type unlocked struct {
	data   []byte // the file, which may have changed since
	signer ssh.Signer
	err    error
}

// unlock gives the key of an encrypted file, or asks for its passphrase. The
// clock of the connection stands still meanwhile.
func (a *auth) unlock(path string, data []byte) (ssh.Signer, error) {
	a.guard.pause()
	defer a.guard.resume()
	a.ring.mu.Lock()
	defer a.ring.mu.Unlock()
	if known, ok := a.ring.keys[path]; ok && bytes.Equal(known.data, data) {
		return known.signer, known.err
	}
	signer, err := a.decrypt(path, data)
	if a.guard.ctx.Err() != nil {
		return signer, err // who was asked may have had no time to answer
	}
	if a.ring.keys == nil {
		a.ring.keys = map[string]unlocked{}
	}
	a.ring.keys[path] = unlocked{data, signer, err}
	return signer, err
}

// decrypt asks for a passphrase until it is right.
func (a *auth) decrypt(path string, data []byte) (ssh.Signer, error) {
	prompt := fmt.Sprintf("Enter passphrase for key '%s': ", path)
	for range passphraseTries {
		phrase, err := a.ask(prompt)
		if err != nil {
			return nil, fmt.Errorf("asking for its passphrase: %w", err)
		}
		if len(phrase) == 0 {
			return nil, errors.New("no passphrase was given")
		}
		signer, err := ssh.ParsePrivateKeyWithPassphrase(data, phrase)
		clear(phrase)
		if err == nil {
			return signer, nil
		}
		if !errors.Is(err, x509.IncorrectPasswordError) {
			return nil, fmt.Errorf("decrypting it: %w", err)
		}
		prompt = fmt.Sprintf("Bad passphrase, try again for '%s': ", path)
	}
	return nil, errors.New("its passphrase was wrong")
}

// lockedSigner is an encrypted key whose public part is known.
type lockedSigner struct {
	public ssh.PublicKey
	unlock func() (ssh.Signer, error)
}

// PublicKey is of the file, unencrypted.
func (l *lockedSigner) PublicKey() ssh.PublicKey { return l.public }

// Sign asks for the passphrase.
func (l *lockedSigner) Sign(rand io.Reader, data []byte) (*ssh.Signature, error) {
	return l.SignWithAlgorithm(rand, data, "")
}

// SignWithAlgorithm asks for the passphrase.
func (l *lockedSigner) SignWithAlgorithm(rand io.Reader, data []byte, algorithm string) (*ssh.Signature, error) {
	signer, err := l.unlock()
	if err != nil {
		return nil, err
	}
	with, ok := signer.(ssh.AlgorithmSigner)
	if !ok || algorithm == "" {
		return signer.Sign(rand, data)
	}
	return with.SignWithAlgorithm(rand, data, algorithm)
}
