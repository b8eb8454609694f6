package sshdial

import (
	"crypto/x509"
	"errors"
	"fmt"
	"io"

	"golang.org/x/crypto/ssh"
)

// passphraseTries is how often OpenSSH asks.
const passphraseTries = 3

// unlock asks for the passphrase of a key file. The clock of the connection
// stands still meanwhile.
func (a *auth) unlock(path string, data []byte) (ssh.Signer, error) {
	prompt := fmt.Sprintf("Enter passphrase for key '%s': ", path)
	for range passphraseTries {
		phrase, err := a.askUnhurried(prompt)
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
