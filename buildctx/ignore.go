package buildctx

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/moby/patternmatcher"
	"github.com/moby/patternmatcher/ignorefile"
)

// BuildKit's frontend refuses larger ignore files; a line may have 64 KiB less one byte.
const maxIgnoreFile = 16 << 20

// pattern is one line of an ignore file that decides something.
type pattern struct {
	text    string // the line as it is in the file, without surrounding space
	file    string
	line    int
	negated bool
	clean   string // as the library cleaned it
	literal bool   // matched here and not by the library; see newPattern
	single  *patternmatcher.PatternMatcher
	info    patternmatcher.MatchInfo
	used    bool // overrode a rule, as a pattern of context.keep
}

// readIgnore parses an ignore file as BuildKit does. The name is for messages.
func readIgnore(r io.Reader, name string) ([]pattern, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxIgnoreFile+1))
	if err != nil {
		return nil, &IgnoreError{File: name, Err: err}
	}
	if len(data) > maxIgnoreFile {
		return nil, &IgnoreError{File: name, Err: errors.New("is larger than 16 MiB, the limit of the builder")}
	}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	lines := bufio.NewScanner(bytes.NewReader(data))
	var all []pattern
	n := 1
	for ; lines.Scan(); n++ {
		p, err := parseLine(lines.Text(), name, n)
		if err != nil {
			return nil, err
		}
		if p != nil {
			all = append(all, *p)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, &IgnoreError{File: name, Line: n, Err: fmt.Errorf("the line is longer than 64 KiB: %w", err)}
	}
	return all, nil
}

// parsePatterns parses patterns of the configuration; key names it in messages.
func parsePatterns(lines []string, key string) ([]pattern, error) {
	var all []pattern
	for _, line := range lines {
		p, err := parseLine(line, key, 0)
		if err != nil {
			return nil, err
		}
		if p != nil {
			all = append(all, *p)
		}
	}
	return all, nil
}

// parseLine returns nil for a line that is blank or a comment.
func parseLine(line, file string, n int) (*pattern, error) {
	// The empty line before it keeps the reader from taking a byte order mark off a line that is not the first.
	read, err := ignorefile.ReadAll(strings.NewReader("\n" + line))
	if err != nil {
		return nil, &IgnoreError{File: file, Line: n, Err: err}
	}
	if len(read) == 0 {
		return nil, nil
	}
	text := strings.TrimSpace(line)
	if strings.Contains(line, "\x00") {
		return nil, &IgnoreError{File: file, Line: n, Pattern: text, Err: errors.New("it holds a NUL byte; write the file as UTF-8")}
	}
	p, err := newPattern(read[0])
	if err != nil {
		return nil, &IgnoreError{File: file, Line: n, Pattern: text, Err: err}
	}
	if p != nil {
		p.text, p.file, p.line = text, file, n
	}
	return p, nil
}

// newPattern compiles one cleaned line. Each pattern has a matcher of its own, which is how the deciding line is known;
// one that takes back is put behind a pattern that matches everything, since alone it would never be asked.
func newPattern(line string) (*pattern, error) {
	lone, err := patternmatcher.New([]string{line})
	if err != nil {
		return nil, err
	}
	if len(lone.Patterns()) == 0 {
		return nil, nil
	}
	p := &pattern{negated: lone.Patterns()[0].Exclusion(), clean: lone.Patterns()[0].String(), single: lone}
	if !utf8.ValidString(line) {
		// The library compiles such a pattern with a complaint on stderr. What it would compare as bytes is compared
		// here, and for what it makes a regular expression of, the same expression comes from the replacement character.
		if p.literal = isLiteral(p.clean); p.literal {
			return p, nil
		}
		line = strings.Map(func(r rune) rune { return r }, line)
	}
	lines := []string{line}
	if p.negated {
		lines = []string{"**", line}
	}
	if p.single, err = patternmatcher.New(lines); err != nil {
		return nil, err
	}
	p.info = noParent(p.negated)
	// The first question compiles, so a range like [z-a] is found here.
	_, err = p.match("x")
	return p, err
}

// noParent is what tells the library that no parent directory matched, so that it does not ask about them again.
func noParent(negated bool) patternmatcher.MatchInfo {
	lines := []string{"x"}
	if negated {
		lines = []string{"**", "!x"}
	}
	none, _ := patternmatcher.New(lines)
	_, info, _ := none.MatchesUsingParentResults("y", patternmatcher.MatchInfo{}) // two plain names are no error
	return info
}

// isLiteral says that the library compares this pattern by bytes: no wildcards but one ** at an end.
func isLiteral(clean string) bool {
	body, found := strings.CutPrefix(clean, "**")
	if !found {
		body = strings.TrimSuffix(clean, "**")
	}
	return !strings.ContainsAny(body, `*?[]\`)
}

// match says whether the pattern names this path itself; parents are the caller's matter.
func (p *pattern) match(path string) (bool, error) {
	if p.literal {
		return matchLiteral(p.clean, path), nil
	}
	excluded, _, err := p.single.MatchesUsingParentResults(path, p.info)
	return excluded != p.negated, err
}

func matchLiteral(clean, path string) bool {
	if suffix, ok := strings.CutPrefix(clean, "**"); ok {
		return strings.HasSuffix(path, suffix) || strings.HasPrefix(suffix, "/") && path == suffix[1:]
	}
	if prefix, ok := strings.CutSuffix(clean, "**"); ok {
		return strings.HasPrefix(path, prefix)
	}
	return path == clean
}
