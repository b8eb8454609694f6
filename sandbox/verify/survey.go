package verify

import (
	"context"
	_ "embed" // for the script
	"fmt"
	"slices"
	"strings"

	"github.com/hermesbox/hermesbox/internal/answer"
	"github.com/hermesbox/hermesbox/internal/node"
)

//go:embed survey.sh
var surveyScript string

// survey is what must not change on the nodes: path to what tells a change.
// Homes that a sandbox holds may change.
func (m *own) survey(ctx context.Context) (map[string]string, error) {
	busy, err := m.busy(ctx)
	if err != nil {
		return nil, err
	}
	all := map[string]string{}
	for _, n := range m.client.Nodes {
		out, said := &answer.Buffer{Left: probeBytes}, &answer.Buffer{Left: saidBytes}
		code, err := n.Run(ctx, node.Script{Text: surveyScript, Args: append([]string{m.client.Layout.Root}, busy...), Stdout: out, Stderr: said})
		if err == nil && code != 0 {
			err = fmt.Errorf("exit code %d: %s", code, lastLine(said.String()))
		}
		if err != nil {
			return nil, fmt.Errorf("looking at the homes of node %s: %w", n.Name(), err)
		}
		for line := range strings.Lines(out.String()) {
			if at := strings.IndexByte(line, '/'); at > 0 {
				all[n.Name()+":"+strings.TrimSuffix(line[at:], "\n")] = line[:at]
			}
		}
	}
	return all, nil
}

// busy are the homes that sandboxes may write to.
func (m *own) busy(ctx context.Context) ([]string, error) {
	all, err := m.client.List(ctx)
	var ids []string
	for _, box := range all {
		if box.Home != "" {
			ids = append(ids, box.Home)
		}
	}
	return ids, err
}

// changed are the paths in which two surveys differ, but for homes that one of
// them does not have: somebody began to use them, or made them.
func changed(before, after map[string]string) []string {
	olds, news := map[string]bool{}, map[string]bool{}
	for path := range before {
		olds[homeOf(path)] = true
	}
	for path := range after {
		news[homeOf(path)] = true
	}
	var paths []string
	for path, was := range before {
		if news[homeOf(path)] && after[path] != was {
			paths = append(paths, path)
		}
	}
	for path := range after {
		if _, ok := before[path]; !ok && olds[homeOf(path)] {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return paths
}

// homeOf is the home that a path of a survey is in; all else counts as one.
func homeOf(path string) string {
	_, rest, ok := strings.Cut(path, "/hermes-homes/")
	if !ok {
		return ""
	}
	id, _, _ := strings.Cut(rest, "/")
	return id
}
