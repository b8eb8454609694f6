package sshdial

import (
	"errors"
	"net"
	"slices"
	"strings"

	"golang.org/x/crypto/ssh"
)

// agentSource is where keys of the agent come from.
const agentSource = "agent"

// auth offers the user's keys to one server, one after the other within the
// publickey method.
type auth struct {
	set   *settings
	ask   func(prompt string) ([]byte, error)
	ring  *keyring
	guard *guard // its clock stops while someone is asked

	gathered bool
	agent    net.Conn // held until close
	keys     []offer  // still to be offered
	failure  AuthError
}

// offer is a key that can be offered.
type offer struct {
	key    Key
	signer ssh.Signer
}

// newAuth makes an auth that is to be closed.
func (d *Dialer) newAuth(s *settings, g *guard) *auth {
	a := &auth{set: s, ask: d.AskPassphrase, ring: &d.ring, guard: g}
	if s.batch {
		a.ask = nil
	}
	a.failure = AuthError{User: s.user, Host: s.host, Port: s.port}
	return a
}

// gather finds the keys. It waits for the server's own key to be checked: before
// that nobody is asked for anything.
func (a *auth) gather() {
	a.gathered = true
	held := a.agentKeys()
	a.order(a.files(held), held)
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

// next is an ssh.ClientAuthCallback: it offers one key more, or ends with an
// *AuthError.
func (a *auth) next(c *ssh.ClientAuthContext) (ssh.AuthMethod, error) {
	a.failure.Methods = c.AllowedMethods
	a.failure.Partial = len(c.PartialSuccessMethods) > 0
	if !slices.Contains(c.AllowedMethods, "publickey") {
		return nil, &a.failure
	}
	if !a.gathered {
		a.gather()
	}
	if len(a.keys) == 0 {
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
	if strings.Contains(strings.ToLower(err.Error()), "too many authentication") { // the server's words, or the library's
		a.failure.TooMany = true
		for _, o := range a.keys {
			a.skip(o.key, "the server hung up before")
		}
		return &a.failure
	}
	return nil
}
