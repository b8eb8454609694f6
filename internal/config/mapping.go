package config

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/hermesbox/hermesbox/internal/redact"
	"go.yaml.in/yaml/v3"
)

// entry is one line of a mapping.
type entry struct {
	name       string
	key, value *yaml.Node
}

// mapping lists the entries of n, those of merge keys last and only where
// the mapping itself has no such key.
func (d *decoder) mapping(n *yaml.Node, key string) ([]entry, error) {
	if n.Kind != yaml.MappingNode || n.ShortTag() != "!!map" {
		return nil, d.wrongType(n, key, "a mapping of keys to values")
	}
	d.budget -= len(n.Content)
	var own, merged []entry
	lines := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		if k.ShortTag() == "!!merge" {
			from, err := d.merge(v, key)
			if err != nil {
				return nil, err
			}
			merged = append(merged, from...)
			continue
		}
		if k.Kind != yaml.ScalarNode {
			return nil, d.wrongType(k, key, "a key")
		}
		if line, twice := lines[k.Value]; twice {
			return nil, &Error{
				Origin: d.at(k), Key: join(key, k.Value),
				Problem: fmt.Sprintf("the key is given twice, first in line %d", line),
				Hint:    "keep one of the two",
			}
		}
		lines[k.Value] = k.Line
		own = append(own, entry{name: k.Value, key: k, value: v})
	}
	return withoutOverridden(own, merged), nil
}

// withoutOverridden appends to own the merged entries of other names; of two
// with one name the first wins, as YAML's merge key has it.
func withoutOverridden(own, merged []entry) []entry {
	have := make(map[string]bool, len(own))
	for _, e := range own {
		have[e.name] = true
	}
	for _, m := range merged {
		if !have[m.name] {
			own, have[m.name] = append(own, m), true
		}
	}
	return own
}

// merge lists the entries that the value of a merge key stands for.
func (d *decoder) merge(n *yaml.Node, key string) ([]entry, error) {
	n, err := d.resolve(n)
	if err != nil {
		return nil, err
	}
	if n.Kind != yaml.SequenceNode {
		return d.mapping(n, key)
	}
	var all []entry
	for _, item := range n.Content {
		from, err := d.merge(item, key)
		if err != nil {
			return nil, err
		}
		all = append(all, from...)
	}
	return all, nil
}

// wrongType says what was wanted and what stands there, the latter never
// where it may be a secret.
func (d *decoder) wrongType(n *yaml.Node, key, wanted string) error {
	return &Error{Origin: d.at(n), Key: key, Problem: "wanted " + wanted + ", got " + describe(n, key), Hint: quoteHint(n, wanted)}
}

// describe names the type of a node, and a short scalar itself.
func describe(n *yaml.Node, key string) string {
	kinds := map[string]string{
		"!!map": "a mapping", "!!seq": "a list", "!!null": "nothing", "!!int": "the number",
		"!!float": "the number", "!!bool": "the boolean", "!!str": "the string", "!!timestamp": "the date",
	}
	kind, ok := kinds[n.ShortTag()]
	if !ok {
		return "a value with the tag " + n.Tag
	}
	if n.Kind != yaml.ScalarNode || n.ShortTag() == "!!null" || redact.IsSecretName(key) {
		return kind
	}
	return fmt.Sprintf("%s %q", kind, short(redact.URL(n.Value)))
}

// short cuts text that would fill the terminal.
func short(s string) string {
	if runes := []rune(s); len(runes) > 40 {
		return string(runes[:40]) + "…"
	}
	return s
}

// quoteHint knows the one slip that YAML itself causes.
func quoteHint(n *yaml.Node, wanted string) string {
	switch {
	case n.Kind != yaml.ScalarNode:
		return ""
	case wanted == "a string":
		return "put the value in quotes"
	case wanted == "a list":
		return "write one entry as [entry], more as lines that begin with a dash"
	default:
		return ""
	}
}

// unknownKey names the key that was probably meant.
func unknownKey(origin, parent, name string, t reflect.Type) error {
	meant := known(name)
	if meant == "" {
		meant = join(parent, nearest(short(name), siblings(t)))
	}
	problem := fmt.Sprintf("unknown key %q, did you mean %q?", short(name), meant)
	return &Error{Origin: origin, Key: parent, Problem: problem, Hint: "keys nest: image.base is the line base: below image:"}
}

// known returns the dotted key that is name or ends in it, "" if none does.
func known(name string) string {
	c := Default()
	for _, l := range leaves(reflect.ValueOf(&c).Elem(), "") {
		if l.key == name || strings.HasSuffix(l.key, "."+name) {
			return l.key
		}
	}
	return ""
}
