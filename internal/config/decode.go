package config

import (
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"time"

	"go.yaml.in/yaml/v3"
)

// maxNodes bounds the work that aliases can ask for.
const maxNodes = 100_000

// wholeNumber leaves out the octal, hexadecimal and underscored forms of
// YAML, which versions of YAML read differently.
var wholeNumber = regexp.MustCompile(`^(0|-?[1-9][0-9]*)$`)

// decoder lays YAML nodes over Go values. It is stricter than the yaml
// package: every value is written in its own type, every key is known.
type decoder struct {
	name   string
	origin map[string]string
	budget int
}

// at is the origin of a node.
func (d *decoder) at(n *yaml.Node) string { return fmt.Sprintf("%s:%d", d.name, n.Line) }

// value sets v from n, recording where as its origin. A null leaves v as the
// layer before made it.
func (d *decoder) value(n *yaml.Node, key, where string, v reflect.Value) error {
	n, err := d.resolve(n)
	if err != nil || n.ShortTag() == "!!null" {
		return err
	}
	if v.Kind() == reflect.Struct {
		return d.structure(n, key, v)
	}
	d.origin[key] = where
	switch v.Kind() {
	case reflect.Map:
		return d.names(n, key, v)
	case reflect.Slice:
		return d.list(n, key, v)
	default:
		return d.scalar(n, key, v)
	}
}

// resolve follows an alias and charges the node to the budget.
func (d *decoder) resolve(n *yaml.Node) (*yaml.Node, error) {
	if d.budget--; d.budget < 0 {
		return nil, &Error{Origin: d.at(n), Problem: "too many values", Hint: "write the values out instead of nesting aliases"}
	}
	if n.Kind == yaml.AliasNode {
		return n.Alias, nil
	}
	return n, nil
}

// structure sets the fields of v from a mapping.
func (d *decoder) structure(n *yaml.Node, key string, v reflect.Value) error {
	entries, err := d.mapping(n, key)
	if err != nil {
		return err
	}
	for _, e := range entries {
		f, ok := field(v, e.name)
		if !ok {
			return unknownKey(d.at(e.key), key, e.name, v.Type())
		}
		if err := d.value(e.value, join(key, e.name), d.at(e.key), f); err != nil {
			return err
		}
	}
	return nil
}

// names sets a map of strings from a mapping. Numbers and booleans are taken
// as they are written, since an environment has only text.
func (d *decoder) names(n *yaml.Node, key string, v reflect.Value) error {
	entries, err := d.mapping(n, key)
	if err != nil {
		return err
	}
	m := make(map[string]string, len(entries))
	for _, e := range entries {
		at := join(key, e.name)
		d.origin[at] = d.at(e.key)
		value, err := d.resolve(e.value)
		if err != nil {
			return err
		}
		switch value.ShortTag() {
		case "!!str", "!!int", "!!float", "!!bool", "!!timestamp":
			m[e.name] = value.Value
		default:
			return d.wrongType(value, at, "a string")
		}
	}
	v.Set(reflect.ValueOf(m))
	return nil
}

// list sets a slice from a sequence; the layer before is replaced whole.
func (d *decoder) list(n *yaml.Node, key string, v reflect.Value) error {
	if n.Kind != yaml.SequenceNode || n.ShortTag() != "!!seq" {
		return d.wrongType(n, key, "a list")
	}
	items := reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content))
	for i, item := range n.Content {
		at := fmt.Sprintf("%s[%d]", key, i)
		d.origin[at] = d.at(item)
		if value, err := d.resolve(item); err != nil {
			return err
		} else if value.ShortTag() == "!!null" {
			return d.wrongType(value, at, "a value")
		}
		if err := d.value(item, at, d.at(item), items.Index(i)); err != nil {
			return err
		}
	}
	v.Set(items)
	return nil
}

// scalar sets a string, number, boolean or duration.
func (d *decoder) scalar(n *yaml.Node, key string, v reflect.Value) error {
	tag := n.ShortTag()
	switch {
	case isDuration(v.Type()):
		parsed, err := time.ParseDuration(n.Value)
		if tag != "!!str" || err != nil {
			return d.wrongType(n, key, "a duration such as 15m or 90s")
		}
		v.SetInt(int64(parsed))
	case v.Kind() == reflect.Bool:
		if tag != "!!bool" || n.Value != "true" && n.Value != "false" {
			return d.wrongType(n, key, "true or false")
		}
		v.SetBool(n.Value == "true")
	case v.Kind() == reflect.Int:
		number, err := strconv.Atoi(n.Value)
		if tag != "!!int" || err != nil || !wholeNumber.MatchString(n.Value) {
			return d.wrongType(n, key, "a whole number")
		}
		v.SetInt(int64(number))
	case tag == "!!str" || tag == "!!timestamp":
		v.SetString(n.Value)
	default:
		return d.wrongType(n, key, "a string")
	}
	return nil
}
