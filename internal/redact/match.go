package redact

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// pattern is a text to look for. One that wraps may have line ends in it, as
// base64 has in mail and from the command of that name.
type pattern struct {
	text  string
	wraps bool
}

// state is a point of a match: so much of the text read as so much of the
// secret.
type state struct{ text, secret int }

// beginnings lists the bytes that a secret can begin with in a text.
func beginnings(secret string) []byte {
	all := []byte{secret[0]}
	if secret[0] == ' ' {
		all = append(all, '+')
	}
	for _, b := range []byte{'%', '\\'} {
		if secret[0] != b {
			all = append(all, b)
		}
	}
	return all
}

// match reads a pattern at the beginning of text, each byte of it as it is,
// URL-encoded, JSON-escaped or quoted for a shell. It returns the longest reading, 0 for none,
// and whether more text could make one that is longer.
func match(text []byte, p pattern) (length int, partial bool) {
	secret := p.text
	if differs(text, secret) {
		return 0, false
	}
	open := []state{{}}
	// Only a secret with % or \ in it can be read in two ways; without a
	// memory of what was tried those would multiply.
	var seen map[state]bool
	if strings.ContainsAny(secret, `%\`) {
		seen = map[state]bool{}
	}
	for len(open) > 0 {
		s := open[len(open)-1]
		open = open[:len(open)-1]
		if s.secret == len(secret) {
			length = max(length, s.text)
			continue
		}
		if s.text == len(text) {
			partial = true
			continue
		}
		if seen != nil {
			if seen[s] {
				continue
			}
			seen[s] = true
		}
		if b := text[s.text]; p.wraps && s.secret > 0 && (b == '\n' || b == '\r') {
			open = append(open, state{s.text + 1, s.secret})
			continue
		}
		var cut bool
		open, cut = step(open, s, text[s.text:], secret[s.secret:])
		partial = partial || cut
	}
	return length, partial
}

// differs tells cheaply, for most texts, that the second byte is another.
func differs(text []byte, secret string) bool {
	return len(text) > 1 && text[0] == secret[0] && text[1] != secret[1] &&
		text[0] != '%' && text[0] != '\\' && text[1] != '%' && text[1] != '\\' && text[1] != '+' && text[1] != '\r' && text[1] != '\n'
}

// step appends the states that one unit of text leads to; cut tells that the
// text ended inside a unit. Neither text nor secret is empty.
func step(open []state, s state, text []byte, secret string) (next []state, cut bool) {
	want := secret[0]
	if text[0] == want || text[0] == '+' && want == ' ' {
		open = append(open, state{s.text + 1, s.secret + 1})
	}
	switch text[0] {
	case '\'':
		n, short := quote(text)
		if n > 0 && want == '\'' {
			open = append(open, state{s.text + n, s.secret + 1})
		}
		return open, short && want == '\''
	case '%':
		b, n, short := hexUnit(text, 1, 2)
		if n > 0 && byte(b) == want {
			open = append(open, state{s.text + n, s.secret + 1})
		}
		return open, short
	case '\\':
		n, used, short := backslash(text, secret)
		if n > 0 {
			open = append(open, state{s.text + n, s.secret + used})
		}
		return open, short
	}
	return open, false
}

// quote reads a quote inside a quoted word of a shell.
func quote(text []byte) (n int, short bool) {
	const form = `'\''`
	got := string(text[:min(len(text), len(form))])
	switch {
	case got == form:
		return len(form), false
	case len(got) < len(form) && strings.HasPrefix(form, got):
		return 0, true
	}
	return 0, false
}

// hexUnit reads digits hexadecimal digits at from. n is where the unit ends,
// 0 if it is none; short tells that the text ends inside it.
func hexUnit(text []byte, from, digits int) (value uint64, n int, short bool) {
	end := min(from+digits, len(text))
	for _, c := range text[from:end] {
		if !strings.ContainsRune("0123456789abcdefABCDEF", rune(c)) {
			return 0, 0, false
		}
	}
	if end < from+digits {
		return 0, 0, true
	}
	value, err := strconv.ParseUint(string(text[from:end]), 16, 32)
	if err != nil {
		return 0, 0, false
	}
	return value, end, false
}

// backslash reads an escape of JSON, of Go or of a shell: \n, \", \x41,
// \u0041, \U00000041. n bytes of text stand for used bytes of the secret.
func backslash(text []byte, secret string) (n, used int, short bool) {
	if len(text) == 1 {
		return 0, 0, true
	}
	switch c := text[1]; c {
	case 'u':
		return unicodeUnit(text, secret)
	case 'U':
		value, n, short := hexUnit(text, 2, 8)
		if got, size := utf8.DecodeRuneInString(secret); n > 0 && uint64(got) == value && size > 1 { //nolint:gosec // runes are not negative
			return n, size, false
		}
		return 0, 0, short
	case 'x':
		b, n, short := hexUnit(text, 2, 2)
		if n > 0 && byte(b) == secret[0] {
			return n, 1, false
		}
		return 0, 0, short
	default:
		if i := strings.IndexByte("abfnrtv", c); i >= 0 {
			c = "\a\b\f\n\r\t\v"[i]
		} else if c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' {
			return 0, 0, false
		}
		if c == secret[0] {
			return 2, 1, false
		}
		return 0, 0, false
	}
}

// unicodeUnit reads \uXXXX, or the two of a surrogate pair.
func unicodeUnit(text []byte, secret string) (n, used int, short bool) {
	value, n, short := hexUnit(text, 2, 4)
	if n == 0 {
		return 0, 0, short
	}
	r := rune(value)
	if utf16.IsSurrogate(r) {
		low, end, short := lowSurrogate(text, n)
		if end == 0 {
			return 0, 0, short
		}
		r, n = utf16.DecodeRune(r, low), end
	}
	if got, size := utf8.DecodeRuneInString(secret); got == r && (r != utf8.RuneError || size > 1) {
		return n, size, false
	}
	return 0, 0, false
}

// lowSurrogate reads the second \uXXXX of a pair, which begins at from.
func lowSurrogate(text []byte, from int) (low rune, end int, short bool) {
	for i, c := range []byte(`\u`) {
		if from+i >= len(text) {
			return 0, 0, true
		}
		if text[from+i] != c {
			return 0, 0, false
		}
	}
	value, end, short := hexUnit(text, from+2, 4)
	return rune(value), end, short
}
