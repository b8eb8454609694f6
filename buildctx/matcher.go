package buildctx

import (
	"fmt"
	"strings"
)

// matcher answers for a list of patterns as patternmatcher's MatchesUsingParentResults does, which is what BuildKit
// asks, and says which pattern decided. It is not safe for concurrent use: patterns compile when first asked.
type matcher struct {
	patterns []pattern
	scratch  []bool
	// taken back by name alone; nil where some pattern takes back by wildcard, since then any directory may matter
	exceptions []string
	wild       bool
}

// wildcards are the characters that end BuildKit's reasoning by prefix.
const wildcards = `*[]?^\`

func newMatcher(patterns []pattern) *matcher {
	m := &matcher{patterns: patterns, scratch: make([]bool, len(patterns))}
	for _, p := range patterns {
		if !p.negated {
			continue
		}
		prefix := strings.TrimSuffix(strings.TrimSuffix(p.clean, "/**"), "/*")
		m.wild = m.wild || strings.ContainsAny(prefix, wildcards)
		m.exceptions = append(m.exceptions, prefix+"/")
	}
	return m
}

// verdicts holds which patterns matched a directory or one of its parents; nil for the root.
type verdicts []bool

// decide returns the pattern that leaves path out, or nil. The result for its children is written to own, which has
// one element for each pattern.
//
// A pattern that could not change the outcome is not asked, and then counts as not matched for the children either.
// That is the library's own behaviour and BuildKit's, and differs from MatchesOrParentMatches: after "a/b", "!a" does
// not bring a/b back.
func (m *matcher) decide(path string, parent, own verdicts) (*pattern, error) {
	var by *pattern
	for i := range m.patterns {
		p := &m.patterns[i]
		hit := parent != nil && parent[i]
		if !hit && p.negated == (by != nil) {
			var err error
			if hit, err = p.match(path); err != nil {
				return nil, err
			}
		}
		own[i] = hit
		if !hit {
			continue
		}
		if p.negated {
			by = nil
		} else if by == nil {
			by = p
		}
	}
	return by, nil
}

// decideFile is decide for what has no children.
func (m *matcher) decideFile(path string, parent verdicts) (*pattern, error) {
	return m.decide(path, parent, m.scratch)
}

// use notes which patterns a rule was overridden by: the one that decided, and others that name the path itself.
func (m *matcher) use(by *pattern, rule, path string) error {
	if rule == "" {
		return nil
	}
	by.used = true
	for i := range m.patterns {
		p := &m.patterns[i]
		if p.used {
			continue
		}
		var err error
		if p.used, err = p.match(path); err != nil {
			return err
		}
	}
	return nil
}

// unused warns of patterns of context.keep that brought nothing back.
func (m *matcher) unused(rep *report) {
	for _, p := range m.patterns {
		if !p.used && !p.negated {
			rep.warn(Warning{Kind: WarnIgnore, Path: p.file, Detail: fmt.Sprintf(
				"%q brings nothing back: it matches no look-alike, and neither .git nor .venv", p.text)})
		}
	}
}

// prunes says that nothing below an excluded directory can come back, by BuildKit's rule.
func (m *matcher) prunes(dir string) bool {
	if m.wild {
		return false
	}
	return !hasPrefix(m.exceptions, dir+"/")
}

// classicPrunes is the rule of the classic builder, which compares patterns as plain strings.
func (m *matcher) classicPrunes(dir string) bool {
	for _, p := range m.patterns {
		if p.negated && strings.HasPrefix(p.clean+"/", dir+"/") {
			return false
		}
	}
	return true
}

func hasPrefix(all []string, prefix string) bool {
	for _, s := range all {
		if strings.HasPrefix(s, prefix) {
			return true
		}
	}
	return false
}
