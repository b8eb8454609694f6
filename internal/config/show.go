package config

import (
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/hermesbox/hermesbox/internal/redact"
)

// Value is one line of what Show prints.
type Value struct {
	// Key is dotted; each entry of a map has a line of its own.
	Key string `json:"key"`
	// Value is masked where the name of the key is a secret's.
	Value any `json:"value"`
	// Origin is as in Loaded.Origin.
	Origin string `json:"origin"`
}

// Values lists all keys in the order of the file, secrets masked.
func (l *Loaded) Values() []Value {
	var all []Value
	for _, leaf := range leaves(reflect.ValueOf(&l.Config).Elem(), "") {
		names, isMap := leaf.value.Interface().(map[string]string)
		if !isMap || len(names) == 0 {
			all = append(all, Value{leaf.key, withoutUserinfo(leaf.value.Interface()), l.Origin[leaf.key]})
			continue
		}
		for _, name := range sortedNames(names) {
			key := join(leaf.key, name)
			all = append(all, Value{key, redact.Named(name, names[name]), l.originOf(key)})
		}
	}
	return all
}

// withoutUserinfo masks what the values of well-known keys can hide. Their
// names are ours and none is a secret's.
func withoutUserinfo(value any) any {
	switch v := value.(type) {
	case string:
		return redact.URL(v)
	case []string:
		masked := make([]string, len(v))
		for i, s := range v {
			masked[i] = redact.URL(s)
		}
		return masked
	}
	return value
}

// Show writes all keys as a table with their origins, secrets masked.
func (l *Loaded) Show(w io.Writer) error {
	lines := []string{"KEY\tVALUE\tORIGIN\n"}
	for _, v := range l.Values() {
		text, err := cell(v.Value)
		if err != nil {
			return fmt.Errorf("printing %s: %w", v.Key, err)
		}
		lines = append(lines, fmt.Sprintf("%s\t%s\t%s\n", printable(v.Key), text, v.Origin))
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	if _, err := io.WriteString(table, strings.Join(lines, "")); err != nil {
		return err
	}
	return table.Flush()
}

// cell writes a value as hermesbox.yaml could hold it, on one line.
func cell(value any) (string, error) {
	switch v := value.(type) {
	case string:
		if v == "" || strconv.Quote(v) != `"`+v+`"` {
			return strconv.Quote(v), nil
		}
		return v, nil
	case Duration:
		return v.String(), nil
	}
	text, err := json.Marshal(value)
	return string(text), err
}

// ShowJSON writes all keys as a JSON list of Value, secrets masked.
func (l *Loaded) ShowJSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(l.Values())
}

// Secrets lists the values of env and build_args whose names are secrets',
// for a redactor to mask wherever they turn up.
func (l *Loaded) Secrets() []string {
	var all []string
	for _, m := range []map[string]string{l.Config.Image.BuildArgs, l.Config.Sandbox.Env} {
		for _, name := range sortedNames(m) {
			if redact.IsSecretName(name) && m[name] != "" {
				all = append(all, m[name])
			}
		}
	}
	return all
}
