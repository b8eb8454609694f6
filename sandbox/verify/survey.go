package verify

import (
	"context"
	"crypto/rand"
	_ "embed" // for the script
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hermesbox/hermesbox/internal/answer"
	"github.com/hermesbox/hermesbox/internal/node"
)

//go:embed survey.sh
var surveyScript string

// surveyed is what must not change on the nodes: path to what tells a change;
// and the homes of verify's own, of other runs too.
type surveyed struct {
	entries map[string]string
	homes   []ownHome
}

// ownHome is a home that a run of verify made, and when something in it changed.
type ownHome struct {
	node, id string
	at       time.Time
}

// survey is what must not change on the nodes. Homes that a sandbox holds may.
func (m *own) survey(ctx context.Context) (surveyed, error) {
	busy, err := m.busy(ctx)
	if err != nil {
		return surveyed{}, err
	}
	all := surveyed{entries: map[string]string{}}
	for _, n := range m.client.Nodes {
		mark := rand.Text()
		out, said := &answer.Buffer{Left: probeBytes}, &answer.Buffer{Left: saidBytes}
		code, err := n.Run(ctx, node.Script{Text: surveyScript, Args: append([]string{m.client.Layout.Root, mark}, busy...), Stdout: out, Stderr: said})
		if err == nil && code != 0 {
			err = fmt.Errorf("exit code %d: %s", code, lastLine(said.String()))
		}
		if err != nil {
			return surveyed{}, fmt.Errorf("looking at the homes of node %s: %w", n.Name(), err)
		}
		all.read(n.Name(), mark, out.String())
	}
	return all, nil
}

// read adds what survey.sh printed on a node.
func (s *surveyed) read(node, mark, out string) {
	dir := ""
	for line := range strings.Lines(out) {
		line = strings.TrimSuffix(line, "\n")
		if ours, ok := strings.CutPrefix(line, mark+" "); ok {
			kind, rest, _ := strings.Cut(ours, " ")
			at, id, _ := strings.Cut(rest, " ")
			seconds, err := strconv.ParseInt(at, 10, 64)
			switch {
			case kind == "dir":
				dir = rest
			case kind == "left" && err == nil:
				s.homes = append(s.homes, ownHome{node, id, time.Unix(seconds, 0)})
			}
			continue
		}
		below, what := dir, line // a part of a name, where that has a line end in it
		if at := strings.Index(line, dir); at > 0 {
			below, what = line[at:], line[:at]
		}
		s.entries[node+":"+below] += what + "\n"
	}
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
