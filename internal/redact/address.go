package redact

import "strings"

// userinfoLimit is the longest user name or password, in bytes, that is
// looked for in an address. It bounds what is held back of one that is still
// arriving.
const userinfoLimit = 256

// address follows a text to the places where an address can hold a
// credential. The zero value is outside of any address.
type address struct {
	// last are the latest eight bytes of the text, the newest lowest.
	last uint64
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
	a.last = a.last<<8 | uint64(b)
	if b == '/' && a.follows("://") {
		a.user = userinfoLimit
	}
}

// idle tells that no credential can be near until the next slash.
func (a *address) idle() bool { return a.user == 0 && !a.password }

// skip moves over text without a slash, while idle.
func (a *address) skip(text []byte) {
	for _, b := range text[max(0, len(text)-8):] {
		a.last = a.last<<8 | uint64(b)
	}
}

// follows tells whether s, of at most eight bytes, was read last.
func (a *address) follows(s string) bool {
	last := a.last
	for i := len(s) - 1; i >= 0; i-- {
		if byte(last) != s[i] {
			return false
		}
		last >>= 8
	}
	return true
}

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
