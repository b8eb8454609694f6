package redact

import "bytes"

// masker masks a text that comes in pieces.
type masker struct {
	kind Kind
	// pending is how many of the next bytes belong to a secret.
	pending int
	// shown is how many of the next bytes were shown already, since nobody could
	// wait for what follows them.
	shown int
	// masked tells that the byte before was part of a secret.
	masked bool
	// binary tells that a NUL byte came by, in a text that may hold one.
	binary bool
	// count is how many times something was masked.
	count int
	url   address
}

// mask appends the masked form of buf to out and returns how much of buf it
// took. What may be the beginning of a secret is left, unless final says that
// nothing follows.
func (m *masker) mask(secrets *index, out, buf []byte, final bool) (masked []byte, taken int) {
	for i := 0; i < len(buf); i++ {
		if n := m.plain(secrets, buf[i:]); n > 0 {
			out = append(out, buf[i:i+n]...)
			m.url.skip(buf[i : i+n])
			m.masked = false
			i += n
		}
		n, partial := longest(secrets, buf[i:])
		credential, more := m.url.credential(buf[i:])
		if m.binary {
			credential, more = 0, false
		}
		if (partial || more) && !final {
			return out, i
		}
		m.pending = max(m.pending, n, credential)
		m.url.next(buf[i])
		m.binary = m.binary || m.kind.Binary && buf[i] == 0
		out = m.emit(out, buf[i])
	}
	return out, len(buf)
}

// plain returns how many bytes from the beginning of text are certainly no part
// of a secret. The last byte of text is never among them.
func (m *masker) plain(secrets *index, text []byte) int {
	if m.pending > 0 || m.shown > 0 || !m.url.idle() {
		return 0
	}
	end := len(text) - 1
	if i := bytes.IndexByte(text[:end], '/'); i >= 0 {
		end = i
	}
	if m.kind.Binary && !m.binary {
		if i := bytes.IndexByte(text[:end], 0); i >= 0 {
			end = i
		}
	}
	if secrets == nil {
		return end
	}
	for i := range end {
		if secrets.begins(text[i], text[i+1]) {
			return i
		}
	}
	return end
}

// emit appends a byte, or what stands for it.
func (m *masker) emit(out []byte, b byte) []byte {
	if m.shown > 0 {
		m.shown--
		m.pending, m.masked = max(0, m.pending-1), false
		return out
	}
	if m.pending == 0 {
		m.masked = false
		return append(out, b)
	}
	m.pending--
	if !m.masked {
		m.count++
	}
	switch {
	case m.binary || m.kind.Screen:
		out = append(out, '*')
	case !m.masked:
		out = append(out, Mask...)
	}
	m.masked = true
	return out
}

// longest returns the length of the longest secret at the beginning of text,
// and whether more text could make a longer one.
func longest(secrets *index, text []byte) (length int, partial bool) {
	if secrets == nil {
		return 0, false
	}
	for _, p := range secrets.first[text[0]] {
		n, more := match(text, p)
		length, partial = max(length, n), partial || more
	}
	return length, partial
}
