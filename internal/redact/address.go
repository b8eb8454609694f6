package redact

import (
	"bytes"
	"strings"
)

// userinfoLimit is the longest user name or password, in bytes, that is
// looked for in an address. It bounds what is held back of one that is still
// arriving.
const userinfoLimit = 256

// address follows a text to the places where an address can hold a
// credential. The zero value is outside of any address.
type address struct {
	// last are the latest bytes of the text.
	last [6]byte
	// user is how many bytes of a user name may still follow.
	user int
	// password tells that a password may follow.
	password bool
}

// next moves on by one byte.
func (a *address) next(b byte) {
	a.password = a.user > 0 && b == ':'
	if a.user--; a.user < 0 || ends(b) || b == '@' || b == ':' {
		a.user = 0
	}
	copy(a.last[:], a.last[1:])
	a.last[len(a.last)-1] = b
	if a.follows("://") {
		a.user = userinfoLimit
	}
}

// follows tells whether s was read last.
func (a *address) follows(s string) bool { return bytes.HasSuffix(a.last[:], []byte(s)) }

// credential returns the length of the credential that text begins with, and
// whether it takes more text to tell.
func (a *address) credential(text []byte) (length int, more bool) {
	if !a.password && !a.follows("tp://") && !a.follows("tps://") {
		return 0, false
	}
	for i, b := range text {
		if ends(b) || i > userinfoLimit {
			return length, false
		}
		if b == '@' {
			length = i
		}
	}
	return length, true
}

// ends tells whether b ends the part of an address that can hold userinfo.
func ends(b byte) bool { return b <= ' ' || strings.IndexByte("/?#\"'<>\\`", b) >= 0 }
