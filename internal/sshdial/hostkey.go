package sshdial

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	"golang.org/x/crypto/ssh"
)

// hostKeys judge the key of one server.
type hostKeys struct {
	set  *settings
	keys []knownKey // for the host's name
	bare []knownKey // for the name without its port, which OpenSSH takes too
}

func loadHostKeys(s *settings) (*hostKeys, error) {
	h := &hostKeys{set: s}
	var err error
	if h.keys, err = readKnownHosts(s.knownHosts, s.name()); err != nil {
		return nil, err
	}
	if bare := strings.ToLower(s.host); s.keyAlias == "" && bare != s.name() {
		h.bare, err = readKnownHosts(s.knownHosts, bare)
	}
	return h, err
}

// algorithms puts those first that known_hosts can vouch for, so that a server
// with several keys shows one that is known.
func (h *hostKeys) algorithms() []string {
	var known, others []string
	if !h.set.algorithms.reorder {
		return h.set.algorithms.hostKeys
	}
	for _, a := range h.set.algorithms.hostKeys {
		if h.vouches(a) {
			known = append(known, a)
		} else {
			others = append(others, a)
		}
	}
	return append(known, others...)
}

func (h *hostKeys) vouches(algorithm string) bool {
	return slices.ContainsFunc(h.keys, func(k knownKey) bool {
		if strings.HasSuffix(algorithm, "-cert-v01@openssh.com") {
			return k.marker == authority
		}
		return k.marker == trustedKey && k.key.Type() == keyType(algorithm)
	})
}

// check is an ssh.HostKeyCallback. Its error is a *HostKeyError.
func (h *hostKeys) check(_ string, _ net.Addr, key ssh.PublicKey) error {
	failure := &HostKeyError{
		Host: h.set.host, Port: h.set.port, Name: h.set.name(), Kind: Unknown,
		Files: h.set.knownHosts, Lax: h.set.lax,
	}
	if bits := rsaBits(key); bits > 0 && bits < h.set.algorithms.rsaBits {
		failure.Bits = bits
		return failure.of(key, Weak, knownKey{})
	}
	if cert, ok := key.(*ssh.Certificate); ok {
		reason := h.checkCert(cert)
		if reason == nil {
			return nil
		}
		var revoked *revokedError
		if errors.As(reason, &revoked) {
			return failure.of(cert.Key, Revoked, revoked.by)
		}
		failure.Cert = reason.Error()
		key = cert.Key // OpenSSH too goes on with the key itself
	}
	kind, by := judge(h.keys, key)
	if kind == Unknown {
		if k, _ := judge(h.bare, key); k == good {
			return nil
		}
	}
	if kind == good {
		return nil
	}
	return failure.of(key, kind, by)
}

func (e *HostKeyError) of(key ssh.PublicKey, kind HostKeyKind, by knownKey) *HostKeyError {
	e.Kind, e.KeyType, e.Fingerprint = kind, typeName(key), ssh.FingerprintSHA256(key)
	if by.key != nil {
		e.File, e.Line, e.Other = by.file, by.line, typeName(by.key)
	}
	return e
}

const good HostKeyKind = ""

// judge says what the lines say of a key, and which line says so. A host that
// only other keys are known of has changed, whatever their type: its known
// types were asked for first.
func judge(keys []knownKey, key ssh.PublicKey) (HostKeyKind, knownKey) {
	kind, by := Unknown, knownKey{}
	for _, k := range keys {
		switch {
		case k.marker == revokedMark && equal(k.key, key):
			return Revoked, k
		case k.marker != trustedKey:
		case equal(k.key, key):
			kind, by = good, k
		case kind == Unknown:
			kind, by = Changed, k
		}
	}
	return kind, by
}

func equal(a, b ssh.PublicKey) bool { return bytes.Equal(a.Marshal(), b.Marshal()) }

// revokedError is a certificate whose key or authority is marked @revoked.
type revokedError struct{ by knownKey }

func (e *revokedError) Error() string { return "it is marked as revoked" }

// checkCert takes a certificate of an authority that known_hosts names for the host.
func (h *hostKeys) checkCert(cert *ssh.Certificate) error {
	known := false
	for _, k := range h.keys {
		switch {
		case k.marker == revokedMark && (equal(k.key, cert.SignatureKey) || equal(k.key, cert) || equal(k.key, cert.Key)):
			return &revokedError{k}
		case k.marker == authority && equal(k.key, cert.SignatureKey):
			known = true
		}
	}
	if !known {
		return fmt.Errorf("known_hosts has no @cert-authority for %s with the key %s", h.set.name(), ssh.FingerprintSHA256(cert.SignatureKey))
	}
	if cert.CertType != ssh.HostCert {
		return errors.New("it is no host certificate")
	}
	return h.checkPrincipal(cert)
}

func (h *hostKeys) checkPrincipal(cert *ssh.Certificate) error {
	name := strings.ToLower(h.set.host)
	if h.set.keyAlias != "" {
		name = h.set.keyAlias
	}
	if !slices.Contains(cert.ValidPrincipals, name) {
		return fmt.Errorf("it is not for %s, but for %s", name, strings.Join(cert.ValidPrincipals, ", "))
	}
	if format := cert.Signature.Format; !slices.Contains(h.set.algorithms.authorities, format) {
		return fmt.Errorf("it is signed with %s, which is not taken (CASignatureAlgorithms)", format)
	}
	var checker ssh.CertChecker
	if err := checker.CheckCert(name, cert); err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), "ssh: "))
	}
	return nil
}

// typeName is a key's type as OpenSSH prints it.
func typeName(key ssh.PublicKey) string {
	switch t := key.Type(); {
	case strings.Contains(t, "ed25519"):
		return "ED25519"
	case strings.Contains(t, "ecdsa"):
		return "ECDSA"
	case strings.Contains(t, "rsa"):
		return "RSA"
	default:
		return t
	}
}
