package config

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/hermesbox/hermesbox/internal/redact"
)

// finding is one value that cannot be right.
type finding struct{ key, problem, hint string }

// check returns the first finding as an *Error.
func (l *Loaded) check() error {
	c := &l.Config
	findings := slices.Concat(
		checkPaths(c), checkImage(c.Image), checkCube(c.Cube), checkTemplate(c.Template),
		checkEgress(c.Template.Egress), checkNodes(c.Nodes), checkSharedRoot(c.SharedRoot), checkSandbox(c.Sandbox),
	)
	if len(findings) == 0 {
		return nil
	}
	first := findings[0]
	return &Error{Origin: l.originOf(first.key), Key: first.key, Problem: first.problem, Hint: first.hint}
}

// originOf returns the origin of a key, or of what holds it: an entry that
// was never written belongs to the list or node above it.
func (l *Loaded) originOf(key string) string {
	for key != "" {
		if origin, ok := l.Origin[key]; ok {
			return origin
		}
		key = key[:max(strings.LastIndexAny(key, ".["), 0)]
	}
	return l.Path
}

// unless makes a finding of a value that does not hold. The value is shown
// unless its name is a secret's.
func unless(holds bool, key, value, wanted string) []finding {
	if holds {
		return nil
	}
	shown := strconv.Quote(short(redact.Named(key, value)))
	return []finding{{key: key, problem: "wanted " + wanted + ", got " + shown}}
}

// matches makes a finding of a value that the pattern does not match.
func matches(pattern *regexp.Regexp, key, value, wanted string) []finding {
	return unless(pattern.MatchString(value), key, value, wanted)
}

// oneOf makes a finding of a value that is none of the words.
func oneOf(key, value string, words ...string) []finding {
	shown := make([]string, len(words))
	for i, word := range words {
		shown[i] = word
		if word == "" {
			shown[i] = `""`
		}
	}
	return unless(slices.Contains(words, value), key, value, strings.Join(shown, " or "))
}

// each runs a check over the entries of a list.
func each(key string, values []string, check func(key, value string) []finding) []finding {
	var all []finding
	for i, value := range values {
		all = append(all, check(fmt.Sprintf("%s[%d]", key, i), value)...)
	}
	return all
}

// checkPaths refuses the one path that only looks right: no shell stands
// between the file and us to put a home directory for ~.
func checkPaths(c *Config) []finding {
	var all []finding
	for _, p := range c.paths() {
		if isTilde(*p.value) {
			all = append(all, finding{key: p.key, problem: "~ is not expanded here", hint: "write the whole path"})
		}
		if strings.ContainsRune(*p.value, 0) {
			all = append(all, finding{key: p.key, problem: "a path cannot hold a NUL byte"})
		}
	}
	return append(all, unless(c.Source != "", "source", "", "a directory")...)
}
