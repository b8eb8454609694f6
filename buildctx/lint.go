package buildctx

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// lint warns of lines that do not do what they seem to.
func lint(patterns []pattern) []Warning {
	var odd []Warning
	for _, p := range patterns {
		if detail := p.lint(); detail != "" {
			where := ""
			if p.line > 0 {
				where = fmt.Sprintf("line %d: ", p.line)
			}
			odd = append(odd, Warning{Kind: WarnIgnore, Path: p.file, Detail: fmt.Sprintf("%s%q %s", where, p.text, detail)})
		}
	}
	return odd
}

func (p *pattern) lint() string {
	switch {
	case !utf8.ValidString(p.text):
		return "is not UTF-8; it is taken as bytes"
	case strings.Contains(p.text, " #"):
		return "holds a comment, which is part of the pattern: only a line that begins with # is a comment"
	case p.clean == "." || p.clean == "/" || p.clean == ".." || strings.HasPrefix(p.clean, "../"):
		return "matches nothing"
	case strings.HasPrefix(p.text, "!!"):
		return "matches nothing but a name that begins with an exclamation mark"
	}
	return ""
}
