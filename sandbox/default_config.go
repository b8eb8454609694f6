package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// secretKeys are the names whose values are secrets: words of settings and of
// HTTP headers, the same in camelCase, and names of variables. Not key_env, which
// names a variable, and not max_tokens.
var secretKeys = []*regexp.Regexp{
	regexp.MustCompile(`(?i)(^|_|-)((api|access|private|secret)[_-]?keys?|token|secret|passw(or)?d|passphrase|credentials?|authorization|cookie)$`),
	regexp.MustCompile(`[a-z0-9](([aA]pi|[aA]ccess|[pP]rivate|[sS]ecret)Keys?|Token|Secret|Passw(or)?d|Passphrase|Credentials?|Authorization)$`),
	regexp.MustCompile(`^[A-Z][A-Z0-9_]*(KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)$`),
}

func isSecretKey(name string) bool {
	return slices.ContainsFunc(secretKeys, func(k *regexp.Regexp) bool { return k.MatchString(name) })
}

// SecretIn finds a secret in the settings of a default home, which no such home
// may have, and names its key; "" for none. An error quotes nothing of them.
func SecretIn(config []byte) (key string, err error) {
	if key, err = secretIn(config); err != nil {
		return "", errors.New("config.yaml is broken")
	}
	return key, nil
}

// secretIn finds a secret in Hermes's settings and names its key; "" for none.
func secretIn(config []byte) (key string, err error) {
	root, err := parseConfig(config)
	if err != nil || root == nil {
		return "", err
	}
	return secretBelow(root, ""), nil
}

// secretBelow looks at a node. Aliases are not followed into mappings: what they
// stand for is looked at where it is written.
func secretBelow(n *yaml.Node, at string) string {
	for i, child := range n.Content {
		key := at
		if n.Kind == yaml.MappingNode {
			if i%2 == 0 {
				continue
			}
			name := n.Content[i-1].Value
			key = strings.TrimPrefix(at+"."+name, ".")
			if isSecretKey(name) && holdsSecret(child) {
				return key
			}
		}
		if found := secretBelow(child, key); found != "" {
			return found
		}
	}
	return ""
}

// holdsSecret tells whether a value is a secret, or a list that has one.
func holdsSecret(n *yaml.Node) bool {
	return isSecret(n) || n.Kind == yaml.SequenceNode && slices.ContainsFunc(n.Content, isSecret)
}

// isSecret tells a secret from a number, a switch, a reference to a variable
// and the words that stand for no key.
func isSecret(n *yaml.Node) bool {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	v := strings.TrimSpace(n.Value)
	named := strings.HasPrefix(v, "$") || strings.Contains(v, "${") // such as Bearer ${TOKEN}
	return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!str" && len(v) >= 8 && !named && v != "no-key-required"
}

// parseConfig reads settings, nil where there are none.
func parseConfig(config []byte) (*yaml.Node, error) {
	var doc yaml.Node
	all := yaml.NewDecoder(bytes.NewReader(config))
	if err := all.Decode(&doc); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("config.yaml is broken: %w", err)
	}
	if err := all.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, errors.New("config.yaml is broken: it has more than one document")
	}
	if len(doc.Content) == 0 || doc.Content[0].ShortTag() == "!!null" {
		return nil, nil //nolint:nilnil // an empty file is as good as none
	}
	if doc.Content[0].Kind != yaml.MappingNode {
		return nil, fmt.Errorf("config.yaml is broken: it is no mapping")
	}
	return doc.Content[0], nil
}

// withSkills adds the directory of the public skills to skills.external_dirs;
// settings that have it stay byte for byte.
func withSkills(config []byte) ([]byte, error) {
	root, err := parseConfig(config)
	if err != nil {
		return nil, err
	}
	if root == nil {
		root = &yaml.Node{Kind: yaml.MappingNode}
	}
	skills := entry(root, "skills", yaml.MappingNode)
	if skills.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("config.yaml is broken: skills is no mapping")
	}
	dirs := entry(skills, "external_dirs", yaml.SequenceNode)
	if dirs.Kind != yaml.SequenceNode {
		return nil, fmt.Errorf("config.yaml is broken: skills.external_dirs is no list")
	}
	for _, dir := range dirs.Content {
		if dir.Value == SkillsMount {
			return config, nil
		}
	}
	dirs.Content = append(dirs.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: SkillsMount})
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := enc.Encode(root); err != nil {
		return nil, fmt.Errorf("writing config.yaml: %w", err)
	}
	return b.Bytes(), enc.Close()
}

// entry is the value of a key, made where there is none.
func entry(mapping *yaml.Node, key string, kind yaml.Kind) *yaml.Node {
	for i := 1; i < len(mapping.Content); i += 2 {
		if mapping.Content[i-1].Value == key {
			if v := mapping.Content[i]; v.ShortTag() != "!!null" {
				return v
			}
			mapping.Content[i] = &yaml.Node{Kind: kind}
			return mapping.Content[i]
		}
	}
	v := &yaml.Node{Kind: kind}
	mapping.Content = append(mapping.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: key}, v)
	return v
}
