package config

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// Reference returns the table of all keys for the documentation, in Markdown.
func Reference() (string, error) {
	var out strings.Builder
	out.WriteString("| key | default | |\n|---|---|---|\n")
	docs := keyDocs()
	c := Default()
	for _, l := range leaves(reflect.ValueOf(c), "") {
		value, err := json.Marshal(l.value.Interface())
		if err != nil {
			return "", fmt.Errorf("printing %s: %w", l.key, err)
		}
		fmt.Fprintf(&out, "| `%s` | `%s` | %s |\n", l.key, value, sentence(docs[l.key]))
		if l.key != "nodes" {
			continue
		}
		for _, name := range siblings(reflect.TypeFor[Node]()) {
			fmt.Fprintf(&out, "| `nodes[].%s` | | %s |\n", name, sentence(docs["nodes."+name]))
		}
	}
	return out.String(), nil
}

// sentence is a description for a table, with the words that a key takes.
func sentence(d keyDoc) string {
	text := strings.ReplaceAll(d.text, "|", `\|`)
	if len(d.values) == 0 {
		return text
	}
	words := make([]string, len(d.values))
	for i, word := range d.values {
		words[i] = fmt.Sprintf("`%q`", word)
	}
	return text + " One of " + strings.Join(words, ", ") + "."
}
