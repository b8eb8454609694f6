package redact

// masker masks a text that comes in pieces.
type masker struct {
	// pending is how many of the next bytes belong to a secret.
	pending int
	// masked tells that the byte before was part of a secret.
	masked bool
	url    address
}

// mask appends the masked form of buf to out and returns how much of buf it
// took. What may be the beginning of a secret is left, unless final says that
// nothing follows.
func (m *masker) mask(secrets *index, out, buf []byte, final bool) (masked []byte, taken int) {
	for i, b := range buf {
		n, partial := longest(secrets, buf[i:])
		credential, more := m.url.credential(buf[i:])
		if (partial || more) && !final {
			return out, i
		}
		m.pending = max(m.pending, n, credential)
		m.url.next(b)
		switch {
		case m.pending == 0:
			out = append(out, b)
			m.masked = false
			continue
		case !m.masked:
			out = append(out, Mask...)
		}
		m.masked = true
		m.pending--
	}
	return out, len(buf)
}

// longest returns the length of the longest secret at the beginning of text,
// and whether more text could make a longer one.
func longest(secrets *index, text []byte) (length int, partial bool) {
	if secrets == nil {
		return 0, false
	}
	for _, secret := range secrets[text[0]] {
		n, more := match(text, secret)
		length, partial = max(length, n), partial || more
	}
	return length, partial
}
