package sshdial

import (
	"fmt"
	"strings"
)

// A HostKeyKind is what is wrong with a server's key.
type HostKeyKind string

// The kinds of a HostKeyError.
const (
	Unknown HostKeyKind = "unknown" // no file has a key for the host
	Changed HostKeyKind = "changed" // files have other keys for the host, and not this one
	Revoked HostKeyKind = "revoked" // a file says that the key is not to be trusted
	Weak    HostKeyKind = "weak"    // an RSA key shorter than RequiredRSASize
)

// HostKeyError is a server whose key known_hosts does not vouch for.
type HostKeyError struct {
	// Host and Port are where the connection went; Name is what was looked up
	// in known_hosts: host, [host]:port or HostKeyAlias.
	Host, Name string
	Port       int
	Kind       HostKeyKind
	// KeyType is as OpenSSH prints it (ED25519, ECDSA, RSA), Fingerprint
	// SHA256:….
	KeyType, Fingerprint string
	// Files are those that were looked through, in order.
	Files []string
	// File and Line are the entry that contradicts the key, Other the type of
	// the key there; empty where none does.
	File  string
	Line  int
	Other string
	// Bits is the length of a Weak key.
	Bits int
	// Cert is why a certificate of the host was not taken; empty without one.
	Cert string
	// Lax is where ssh_config would have OpenSSH take the key all the same
	// (StrictHostKeyChecking no or accept-new), as file:line.
	Lax string
}

// Error says what OpenSSH says with StrictHostKeyChecking yes.
func (e *HostKeyError) Error() string {
	var b strings.Builder
	b.WriteString("host key verification failed: ")
	switch e.Kind {
	case Changed:
		fmt.Fprintf(&b, "the %s host key of %s has changed: it is %s, and %s:%d has another %s key", e.KeyType, e.Name, e.Fingerprint, e.File, e.Line, e.Other)
	case Revoked:
		fmt.Fprintf(&b, "the %s host key of %s (%s) is marked as revoked in %s:%d", e.KeyType, e.Name, e.Fingerprint, e.File, e.Line)
	case Weak:
		fmt.Fprintf(&b, "the RSA host key of %s (%s) has %d bits, which are too few", e.Name, e.Fingerprint, e.Bits)
	default:
		fmt.Fprintf(&b, "no %s host key is known for %s (it is %s) %s", e.KeyType, e.Name, e.Fingerprint, e.searched())
	}
	if e.Cert != "" {
		b.WriteString("; its certificate was not taken: " + e.Cert)
	}
	if e.Lax != "" {
		b.WriteString("; StrictHostKeyChecking at " + e.Lax + " is not followed, host keys are always checked")
	}
	return b.String()
}

func (e *HostKeyError) searched() string {
	if len(e.Files) == 0 {
		return "since ssh_config names no file of known hosts"
	}
	return "in " + strings.Join(e.Files, ", ")
}
