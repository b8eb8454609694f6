package verify

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/hermesbox/hermesbox/internal/answer"
	"github.com/hermesbox/hermesbox/internal/check"
	"github.com/hermesbox/hermesbox/sandbox"
)

func (s *subject) seeded(context.Context) check.Result {
	var home struct {
		Config *string           `json:"config"`
		Names  map[string]string `json:"names"`
	}
	if err := s.read("facts", "home", &home); err != nil {
		return unknown(err)
	}
	if home.Config == nil {
		return failing("stop the sandbox, and give the home what it lacks with hermesbox home seed --adopt", "%s/config.yaml is no file, so that Hermes runs with its defaults", sandbox.HomeMount)
	}
	config, err := base64.StdEncoding.DecodeString(*home.Config)
	if err != nil {
		return unknown(fmt.Errorf("%w: %w", answer.Err, err))
	}
	if problem := configProblem(config); problem != "" {
		return failing("correct it; Hermes ignores all of it otherwise", "%s/config.yaml %s", sandbox.HomeMount, problem)
	}
	n, ok := s.here()
	if !ok {
		return passed("config.yaml can be read; the default home was not compared")
	}
	var lacking, hidden []string
	for _, want := range n.defaults {
		switch have, ok := home.Names[want.name]; {
		case !ok:
			lacking = append(lacking, want.name)
		case have != want.kind:
			hidden = append(hidden, fmt.Sprintf("%s is a %s", want.name, have))
		}
	}
	if len(lacking)+len(hidden) > 0 {
		return failing("hermesbox home show tells of the home; what it lacks can be copied from the default home",
			"the default home has more: missing %s; another kind %s", shown(lacking), shown(hidden))
	}
	return passed("config.yaml can be read; all %d names of the default home are there", len(n.defaults))
}

var yamlLine = regexp.MustCompile(`line (\d+)`)

// configProblem says what is wrong with settings; it quotes none of them, which
// may be secret.
func configProblem(text []byte) string {
	var doc yaml.Node
	all := yaml.NewDecoder(bytes.NewReader(text))
	if err := all.Decode(&doc); err != nil && !errors.Is(err, io.EOF) {
		return strings.TrimSpace("is broken " + yamlLine.FindString(err.Error()))
	}
	if err := all.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return "has more than one document"
	}
	if len(doc.Content) > 0 && doc.Content[0].Kind != yaml.MappingNode && doc.Content[0].ShortTag() != "!!null" {
		return "is no mapping"
	}
	return ""
}
