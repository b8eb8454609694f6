package cmd

import (
	"fmt"
	"strings"
	"unicode"
)

// visible writes control characters as escapes, so that no name of a file or
// answer of a server can move the cursor; line ends and tabs pass.
func visible(text string) string {
	plain := func(r rune) bool { return r == '\n' || r == '\t' || !unicode.IsControl(r) }
	if strings.IndexFunc(text, func(r rune) bool { return !plain(r) }) < 0 {
		return text
	}
	var out strings.Builder
	for _, r := range text {
		if plain(r) {
			out.WriteRune(r)
			continue
		}
		fmt.Fprintf(&out, "\\x%02x", r)
	}
	return out.String()
}
