package cmd

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/hermesbox/hermesbox/internal/redact"
)

// secretSet are the secrets that were found in files of a sandbox.
type secretSet struct{ all []string }

// add takes a secret. Those beyond the limit are dropped.
func (s *secretSet) add(value string) {
	if value = strings.TrimSpace(value); value != "" && len(s.all) < secretsLimit && !slices.Contains(s.all, value) {
		s.all = append(s.all, value)
	}
}

// assignment reads a line NAME=VALUE, or NAME: VALUE, with or without quotes.
func (s *secretSet) assignment(line string) {
	at := strings.IndexAny(line, "=:")
	if at < 0 || !secretName(line[:at]) {
		return
	}
	value := strings.TrimSpace(line[at+1:])
	s.add(value)
	if len(value) > 1 && (value[0] == '"' || value[0] == '\'') {
		if end := strings.LastIndexByte(value, value[0]); end > 0 {
			s.add(value[1:end])
		}
	}
}

// secretName is redact's rule, less names of variables that hold the secret, and
// with the header that carries one.
func secretName(name string) bool {
	lower := strings.ToLower(strings.TrimSpace(name))
	return redact.IsSecretName(lower) && !strings.HasSuffix(lower, "_env") || lower == "authorization"
}

// document reads YAML or JSON, line by line where it is broken.
func (s *secretSet) document(text string) {
	var root yaml.Node
	if err := yaml.Unmarshal([]byte(text), &root); err == nil {
		s.node(&root, false)
		return
	}
	for line := range strings.SplitSeq(text, "\n") {
		s.assignment(line)
	}
}

// least is the length from which a text below a secret's name is taken for one:
// shorter ones are words such as bearer.
const least = 8

// node walks a document. below tells that the name of a secret is above.
func (s *secretSet) node(n *yaml.Node, below bool) {
	if n.Kind == yaml.ScalarNode && below && len(n.Value) >= least {
		s.add(n.Value)
	}
	if n.Kind != yaml.MappingNode {
		for _, inner := range n.Content {
			s.node(inner, below)
		}
		return
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		name, value := n.Content[i].Value, n.Content[i+1]
		secret := secretName(name)
		if secret && value.Kind == yaml.ScalarNode {
			s.scalar(name, value)
			continue
		}
		s.node(value, below || secret)
	}
}

// scalar takes the value of a secret's name. max_tokens: 4096 is none.
func (s *secretSet) scalar(name string, value *yaml.Node) {
	if strings.HasSuffix(strings.ToLower(name), "tokens") && value.Tag != "!!str" || value.Tag == "!!bool" || value.Tag == "!!null" {
		return
	}
	s.add(value.Value)
	if scheme, token, ok := strings.Cut(value.Value, " "); ok && strings.EqualFold(scheme, "bearer") {
		s.add(token)
	}
}
