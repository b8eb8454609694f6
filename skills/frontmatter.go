package skills

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Frontmatter is what Hermes reads of a SKILL.md to know the skill.
type Frontmatter struct {
	Name        string
	Description string
	// Odd are what keeps the two from being read, by key.
	Odd map[string]string
	// Gates are what Hermes lists the skill for only, by key: platforms and
	// environments. Such a key is missing where it says nothing.
	Gates map[string][]string
}

// The bounds of a frontmatter. None of Hermes's own skills comes near.
const (
	frontLimit = 64 << 10
	frontAlias = 16
	frontDepth = 16
)

var (
	errNoFront    = errors.New("does not begin with ---")
	errMarkFront  = errors.New("begins with a byte order mark, which not every part of Hermes passes over")
	errOpenFront  = errors.New("has no second --- line that ends")
	errFrontSize  = errors.New("is longer than 64 KiB")
	errFrontBound = errors.New("is nested too deep, or has too many aliases")
	errFrontKind  = errors.New("is no mapping")
)

// ParseFrontmatter reads the YAML between the first line, ---, and the next of
// the kind. Aliases are counted and never followed.
func ParseFrontmatter(file []byte) (Frontmatter, error) {
	block, err := frontBlock(file)
	if err != nil {
		return Frontmatter{}, err
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(block, &doc); err != nil {
		return Frontmatter{}, fmt.Errorf("cannot be read: %w", err)
	}
	if len(doc.Content) == 0 || doc.Content[0].Kind != yaml.MappingNode {
		return Frontmatter{}, errFrontKind
	}
	aliases := 0
	if !bounded(&doc, 0, &aliases) {
		return Frontmatter{}, errFrontBound
	}
	f := Frontmatter{Odd: map[string]string{}, Gates: map[string][]string{}}
	f.Name = f.word(doc.Content[0], "name")
	f.Description = f.word(doc.Content[0], "description")
	f.gates(doc.Content[0])
	return f, nil
}

// frontBlock cuts the YAML out.
func frontBlock(file []byte) ([]byte, error) {
	if bytes.HasPrefix(file, []byte("\ufeff")) {
		return nil, errMarkFront
	}
	first, rest, _ := bytes.Cut(file, []byte("\n"))
	if string(bytes.TrimRight(first, " \t\r")) != "---" {
		return nil, errNoFront
	}
	for at := 0; at < len(rest); {
		line, _, ended := bytes.Cut(rest[at:], []byte("\n"))
		if ended && string(bytes.TrimRight(line, " \t\r")) == "---" {
			return rest[:at], nil
		}
		if at += len(line) + 1; at > frontLimit {
			return nil, errFrontSize
		}
	}
	return nil, errOpenFront
}

// bounded tells whether a tree is one that people write.
func bounded(n *yaml.Node, depth int, aliases *int) bool {
	if n.Kind == yaml.AliasNode {
		*aliases++
	}
	if depth > frontDepth || *aliases > frontAlias {
		return false
	}
	for _, c := range n.Content {
		if !bounded(c, depth+1, aliases) {
			return false
		}
	}
	return true
}

// switches are words that Hermes, which reads YAML 1.1, takes for true or false
// where they stand without quotes.
var switches = map[string]bool{"yes": true, "no": true, "on": true, "off": true}

// word is the string of a key; anything else about it is odd.
func (f *Frontmatter) word(mapping *yaml.Node, key string) string {
	var found *yaml.Node
	for i := 1; i < len(mapping.Content); i += 2 {
		if mapping.Content[i-1].Value != key {
			continue
		}
		if found != nil {
			f.Odd[key] = "is there twice"
			return ""
		}
		found = mapping.Content[i]
	}
	switch {
	case found == nil || found.ShortTag() == "!!null":
		f.Odd[key] = "is missing"
	case found.Kind != yaml.ScalarNode || found.ShortTag() != "!!str" || found.Style == 0 && switches[strings.ToLower(found.Value)]:
		f.Odd[key] = "is no string"
	default:
		return found.Value
	}
	return ""
}

// gates reads the lists, or single words, of what the skill is for.
func (f *Frontmatter) gates(mapping *yaml.Node) {
	for i := 1; i < len(mapping.Content); i += 2 {
		key, value := mapping.Content[i-1].Value, mapping.Content[i]
		if key != "platforms" && key != "environments" {
			continue
		}
		words := []*yaml.Node{value}
		if value.Kind == yaml.SequenceNode {
			words = value.Content
		}
		f.Gates[key] = nil
		for _, word := range words {
			if word.Kind == yaml.ScalarNode && word.ShortTag() != "!!null" && word.Value != "" {
				f.Gates[key] = append(f.Gates[key], strings.ToLower(strings.TrimSpace(word.Value)))
			}
		}
		if len(f.Gates[key]) == 0 {
			delete(f.Gates, key)
		}
	}
}
