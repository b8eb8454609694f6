package sshdial

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
)

// agentSource is where keys of the agent come from.
const agentSource = "agent"

// An agent lists its keys at once; before it signs, its user may be asked, or
// have to touch a security key. sshd waits for two minutes.
const (
	agentTime  = 5 * time.Second
	askingTime = 2 * time.Minute
)

// auth offers the user's keys to one server, one after the other within the
// publickey method.
type auth struct {
	set   *settings
	ask   func(prompt string) ([]byte, error)
	ring  *keyring
	guard *guard // its clock stops while someone is asked

	agent   net.Conn
	keys    []offer // still to be offered
	failure AuthError
}

// offer is a key that can be offered.
type offer struct {
	key    Key
	signer ssh.Signer
}

// newAuth finds the keys. The agent is held until close.
func (d *Dialer) newAuth(ctx context.Context, s *settings, g *guard) *auth {
	a := &auth{set: s, ask: d.AskPassphrase, ring: &d.ring, guard: g}
	if s.batch {
		a.ask = nil
	}
	a.failure = AuthError{User: s.user, Host: s.host, Port: s.port}
	held := a.agentKeys(ctx)
	a.order(a.files(held), held)
	return a
}

func (a *auth) close() {
	if a.agent != nil {
		_ = a.agent.Close() // only read from
	}
}

func (a *auth) skip(key Key, reason string) {
	key.Reason = reason
	a.failure.Skipped = append(a.failure.Skipped, key)
}

// files are the keys and certificates of files. Certificates that are not
// configured lie beside their keys.
func (a *auth) files(held []ssh.Signer) []identity {
	var ids []identity
	for _, path := range a.set.identities {
		id := a.readIdentity(path)
		if id.absent {
			if a.set.explicit {
				a.skip(Key{From: path}, "no such file")
			}
			continue
		}
		ids = append(ids, id)
		if len(a.set.certificates) > 0 {
			continue
		}
		for _, name := range []string{path + "-cert.pub", strings.TrimSuffix(path, ".pub") + "-cert.pub"} {
			if cert, ok := readPublic(name).(*ssh.Certificate); ok && !hasKey(ids, cert) {
				ids = append(ids, certified(name, cert, ids, held))
			}
		}
	}
	for _, path := range a.set.certificates {
		cert, ok := readPublic(path).(*ssh.Certificate)
		if !ok {
			a.skip(Key{From: path}, "it is not a certificate that can be read")
			continue
		}
		ids = append(ids, certified(path, cert, ids, held))
	}
	return ids
}

func hasKey(ids []identity, key ssh.PublicKey) bool {
	return slices.ContainsFunc(ids, func(id identity) bool { return id.public != nil && equal(id.public, key) })
}

// certified joins a certificate with the private key it is for, of a file or
// else of the agent.
func certified(path string, cert *ssh.Certificate, ids []identity, held []ssh.Signer) identity {
	id := identity{path: path, public: cert, reason: "its private key is in no file and not in the agent"}
	for _, other := range ids {
		if other.public != nil && equal(other.public, cert.Key) && other.signer == nil {
			id.reason = other.reason
		} else if other.signer != nil {
			held = append([]ssh.Signer{other.signer}, held...)
		}
	}
	for _, signer := range held {
		if !equal(signer.PublicKey(), cert.Key) {
			continue
		}
		joined, err := ssh.NewCertSigner(cert, signer)
		if err != nil {
			id.reason = err.Error()
			continue
		}
		id.signer = joined
		return id
	}
	return id
}

// order puts the keys in OpenSSH's order: those of the agent that are
// configured, the agent's others unless IdentitiesOnly, then files.
func (a *auth) order(files []identity, held []ssh.Signer) {
	var others []ssh.Signer
	for _, signer := range held {
		i := slices.IndexFunc(files, func(id identity) bool { return id.public != nil && equal(id.public, signer.PublicKey()) })
		switch {
		case i >= 0:
			files = slices.Delete(files, i, i+1)
			a.add(agentSource, signer)
		case a.set.identitiesOnly:
			a.skip(keyOf(agentSource, signer.PublicKey()), "IdentitiesOnly")
		default:
			others = append(others, signer)
		}
	}
	for _, signer := range others {
		a.add(agentSource, signer)
	}
	for _, id := range files {
		if id.signer == nil {
			a.skip(keyOf(id.path, id.public), id.reason)
			continue
		}
		a.add(id.path, id.signer)
	}
}

// add has a key offered, with the algorithms that may be used.
func (a *auth) add(from string, signer ssh.Signer) {
	key := keyOf(from, signer.PublicKey())
	limited, reason := a.set.algorithms.limit(signer)
	if reason != "" {
		a.skip(key, reason)
		return
	}
	a.keys = append(a.keys, offer{key, limited})
}

func keyOf(from string, public ssh.PublicKey) Key {
	k := Key{From: from}
	if public != nil {
		k.Type, k.Fingerprint = typeName(public), ssh.FingerprintSHA256(public)
	}
	return k
}

// agentKeys are those the agent holds; one that does not answer holds none.
func (a *auth) agentKeys(ctx context.Context) []ssh.Signer {
	if a.set.agent == "" {
		return nil
	}
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "unix", a.set.agent)
	if err != nil {
		a.skip(Key{From: agentSource}, "it does not answer: "+plainCause(err).Error())
		return nil
	}
	a.agent = conn
	a.guard.watch(conn)
	_ = conn.SetDeadline(time.Now().Add(agentTime)) // sockets have deadlines
	signers, err := agent.NewClient(conn).Signers()
	if err != nil {
		a.skip(Key{From: agentSource}, "it does not answer: "+agentReason(err))
		return nil
	}
	_ = conn.SetDeadline(time.Now().Add(askingTime))
	return signers
}

func agentReason(err error) string {
	if strings.HasSuffix(err.Error(), os.ErrDeadlineExceeded.Error()) { // it is not wrapped
		return "timed out"
	}
	return strings.TrimPrefix(err.Error(), "agent: ")
}

// next is an ssh.ClientAuthCallback: it offers one key more, or ends with an
// *AuthError.
func (a *auth) next(c *ssh.ClientAuthContext) (ssh.AuthMethod, error) {
	a.failure.Methods = c.AllowedMethods
	a.failure.Partial = len(c.PartialSuccessMethods) > 0
	if len(a.keys) == 0 || !slices.Contains(c.AllowedMethods, "publickey") {
		return nil, &a.failure
	}
	o := a.keys[0]
	a.keys = a.keys[1:]
	a.failure.Offered = append(a.failure.Offered, o.key)
	place := len(a.failure.Offered) - 1
	noted := &notedSigner{o.signer, a.guard, func(reason string) { a.failure.Offered[place].Reason = reason }}
	return ssh.PublicKeys(noted.algorithms()), nil
}

// refused makes an AuthError of a server that hung up while keys were offered.
func (a *auth) refused(err error) error {
	var refusal *AuthError
	if errors.As(err, &refusal) {
		return refusal
	}
	if strings.Contains(err.Error(), "Too many authentication failures") {
		a.failure.TooMany = true
		for _, o := range a.keys {
			a.skip(o.key, "the server hung up before")
		}
		return &a.failure
	}
	return nil
}

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
