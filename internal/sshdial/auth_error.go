package sshdial

import (
	"fmt"
	"slices"
	"strings"
)

// Key is a key that could be offered to a server.
type Key struct {
	// From is its file, or "agent".
	From string
	// Type and Fingerprint are empty where the key could not be read.
	Type, Fingerprint string
	// Reason is why it was not offered, or failed to sign.
	Reason string
}

// String names the key by file or fingerprint.
func (k Key) String() string {
	name := k.From
	if k.From == agentSource && k.Fingerprint != "" {
		name += " key " + k.Fingerprint
	}
	if k.Reason != "" {
		name += " (" + k.Reason + ")"
	}
	return name
}

// AuthError is a server that was reached and refused the user.
type AuthError struct {
	User, Host string
	Port       int
	// Methods are those that the server offers, in its own order.
	Methods []string
	// Offered are the keys the server was asked about; Skipped those it was not.
	Offered, Skipped []Key
	// TooMany: the server hung up before all keys were offered (MaxAuthTries).
	TooMany bool
	// Partial: a key was accepted, and the server wants more than a key.
	Partial bool
}

// Error says what OpenSSH would say, and which keys had a part in it.
func (e *AuthError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s@%s port %d: ", e.User, e.Host, e.Port)
	switch {
	case e.TooMany:
		b.WriteString("too many authentication failures")
	case e.Partial:
		fmt.Fprintf(&b, "permission denied (%s): the server wants more than a key", strings.Join(e.Methods, ","))
	default:
		fmt.Fprintf(&b, "permission denied (%s)", strings.Join(e.Methods, ","))
	}
	if len(e.Offered) > 0 {
		b.WriteString("; offered: " + listKeys(e.Offered))
	} else {
		b.WriteString("; no key was offered")
	}
	if len(e.Skipped) > 0 {
		b.WriteString("; not offered: " + listKeys(e.Skipped))
	}
	return b.String()
}

// RefusesKeys tells whether the server takes no keys, only methods that this
// package does not speak, such as passwords.
func (e *AuthError) RefusesKeys() bool {
	return len(e.Methods) > 0 && !slices.Contains(e.Methods, "publickey")
}

// openEnd is how the reason ends for a file that others can read.
const openEnd = "are too open"

// TooOpen is a file whose key was not offered since others can read it; empty
// for none.
func (e *AuthError) TooOpen() string {
	i := slices.IndexFunc(e.Skipped, func(k Key) bool { return strings.HasSuffix(k.Reason, openEnd) })
	if i < 0 {
		return ""
	}
	return e.Skipped[i].From
}

func listKeys(keys []Key) string {
	names := make([]string, len(keys))
	for i, k := range keys {
		names[i] = k.String()
	}
	return strings.Join(names, ", ")
}
