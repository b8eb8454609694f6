package serde

import (
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// text reads a JSON string; the position is at its opening quote.
func (p *parser) text(path string) (string, error) {
	p.pos++
	start := p.pos
	var out []byte
	for {
		if p.pos >= len(p.data) {
			return "", p.syntax(path, "EOF while parsing a string", p.pos)
		}
		c := p.data[p.pos]
		switch {
		case c == '"':
			p.pos++
			if !utf8.Valid(out) {
				return "", p.syntax(path, "invalid unicode code point", start+len(out)+1)
			}
			return string(out), nil
		case c < 0x20:
			return "", p.syntax(path, `control character (\u0000-\u001F) found while parsing a string`, p.pos+1)
		case c == '\\':
			r, err := p.escape(path)
			if err != nil {
				return "", err
			}
			out = utf8.AppendRune(out, r)
		default:
			out = append(out, c)
			p.pos++
		}
	}
}

// escape reads one escape; the position is at its backslash.
func (p *parser) escape(path string) (rune, error) {
	p.pos++
	if p.pos >= len(p.data) {
		return 0, p.syntax(path, "EOF while parsing a string", p.pos)
	}
	c := p.data[p.pos]
	p.pos++
	if c == 'u' {
		return p.unicode(path)
	}
	plain := map[byte]rune{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}
	r, ok := plain[c]
	if !ok {
		return 0, p.syntax(path, "invalid escape", p.pos)
	}
	return r, nil
}

func (p *parser) unicode(path string) (rune, error) {
	r, err := p.hex(path)
	if err != nil || !utf16.IsSurrogate(r) {
		return r, err
	}
	if p.peek() != '\\' || p.pos+1 >= len(p.data) || p.data[p.pos+1] != 'u' {
		return 0, p.syntax(path, "unexpected end of hex escape", p.pos)
	}
	p.pos += 2
	low, err := p.hex(path)
	if err != nil {
		return 0, err
	}
	if r = utf16.DecodeRune(r, low); r == utf8.RuneError {
		return 0, p.syntax(path, "lone leading surrogate in hex escape", p.pos)
	}
	return r, nil
}

func (p *parser) hex(path string) (rune, error) {
	if p.pos+4 > len(p.data) {
		return 0, p.syntax(path, "EOF while parsing a string", len(p.data))
	}
	n, err := strconv.ParseUint(string(p.data[p.pos:p.pos+4]), 16, 16)
	p.pos += 4
	if err != nil {
		return 0, p.syntax(path, "invalid escape", p.pos)
	}
	return rune(n), nil
}
