package sshdial

import "strings"

// matchPattern matches OpenSSH's patterns: * is any run of characters, ? is
// one, all else is itself.
func matchPattern(s, pattern string) bool {
	// star and mark are where the last * was and what it has swallowed so far.
	star, mark := -1, 0
	i, p := 0, 0
	for i < len(s) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, mark = p, i
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == s[i]):
			i++
			p++
		case star >= 0:
			mark++
			i, p = mark, star+1
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}

// matchAny tells whether one of the patterns matches and none with ! before it does.
func matchAny(s string, patterns []string) bool {
	found := false
	for _, p := range patterns {
		not, negated := strings.CutPrefix(p, "!")
		switch {
		case negated && matchPattern(s, not):
			return false
		case !negated && matchPattern(s, p):
			found = true
		}
	}
	return found
}
