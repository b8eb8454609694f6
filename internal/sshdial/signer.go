package sshdial

import (
	"fmt"
	"io"

	"golang.org/x/crypto/ssh"
)

// notedSigner keeps why a key did not sign. The clock stands still while it does.
type notedSigner struct {
	ssh.Signer
	guard *guard
	note  func(reason string)
}

// algorithms gives the signer with the algorithms that it has.
func (n *notedSigner) algorithms() ssh.Signer {
	if multi, ok := n.Signer.(ssh.MultiAlgorithmSigner); ok {
		return &notedMulti{n, multi}
	}
	return n
}

// SignWithAlgorithm signs, or notes why not.
func (n *notedSigner) SignWithAlgorithm(rand io.Reader, data []byte, algorithm string) (*ssh.Signature, error) {
	n.guard.pause()
	defer n.guard.resume()
	var signature *ssh.Signature
	var err error
	if with, ok := n.Signer.(ssh.AlgorithmSigner); ok {
		signature, err = with.SignWithAlgorithm(rand, data, algorithm)
	} else {
		signature, err = n.Sign(rand, data)
	}
	if err != nil {
		n.note(fmt.Sprintf("it did not sign: %v", err))
	}
	return signature, err
}

type notedMulti struct {
	*notedSigner
	multi ssh.MultiAlgorithmSigner
}

// Algorithms are those of the signer.
func (n *notedMulti) Algorithms() []string { return n.multi.Algorithms() }
