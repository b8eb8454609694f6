package sshdial

import (
	"errors"
	"strings"
)

// Lines of ssh_config are taken apart as OpenSSH's readconf.c and misc.c do:
// the keyword may be quoted and may be followed by one =, arguments may be
// quoted, and # outside quotes ends the line.

const configSpace = " \t\r\n"

var errQuotes = errors.New("a quote is not closed")

// keyword takes the first word of a line off it. A line without one is a
// comment or blank.
func keyword(line string) (word, rest string, err error) {
	line = strings.TrimRight(line, configSpace+"\f")
	line = strings.TrimLeft(line, configSpace)
	if line == "" || line[0] == '#' {
		return "", "", nil
	}
	if line[0] == '"' {
		word, rest, ok := strings.Cut(line[1:], `"`)
		if !ok {
			return "", "", errQuotes
		}
		return word, strings.TrimLeft(rest, configSpace), nil
	}
	end := strings.IndexAny(line, configSpace+`="`)
	if end < 0 {
		return line, "", nil
	}
	word, rest = line[:end], line[end:]
	rest = strings.TrimLeft(rest, configSpace)
	if r, ok := strings.CutPrefix(rest, "="); ok {
		rest = strings.TrimLeft(r, configSpace)
	}
	return word, rest, nil
}

// arguments splits what follows a keyword.
func arguments(rest string) ([]string, error) {
	var words []string
	for i := 0; i < len(rest); {
		switch rest[i] {
		case ' ', '\t':
			i++
			continue
		case '#':
			return words, nil
		}
		word, n, ok := argument(rest[i:])
		if !ok {
			return nil, errQuotes
		}
		words = append(words, word)
		i += n
	}
	return words, nil
}

// argument reads one word and says how many bytes it took.
func argument(s string) (word string, n int, ok bool) {
	var b strings.Builder
	var quote byte
	for ; n < len(s); n++ {
		c := s[n]
		switch {
		case c == '\\' && n+1 < len(s) && escapes(s[n+1], quote):
			n++
			b.WriteByte(s[n])
		case quote == 0 && (c == ' ' || c == '\t'):
			return b.String(), n, true
		case quote == 0 && (c == '"' || c == '\''):
			quote = c
		case quote != 0 && c == quote:
			quote = 0
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), n, quote == 0
}

func escapes(c, quote byte) bool {
	return c == '\'' || c == '"' || c == '\\' || quote == 0 && c == ' '
}
