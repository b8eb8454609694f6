package verify

import (
	"context"
	"crypto/rand"
	_ "embed" // for the script
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hermesbox/hermesbox/internal/check"
	"github.com/hermesbox/hermesbox/internal/node"
	"github.com/hermesbox/hermesbox/sandbox"
)

//go:embed node.sh
var nodeScript string

// planted are nonces on nodes, which the sandbox is to show.
type planted struct {
	nodes []plantedNode
}

// plantedNode is one node and what it has. Its nonce is in a file of its own
// name: nodes that share a file system would write to one.
type plantedNode struct {
	node            node.Node
	file, nonce     string
	home, workspace string // planted, absent, or what was said
	defaults        []kindName
	skills          []kindName
	secrets         []string // files of the default home
	config          string   // its settings, which may have a secret in them
	err             error    // why it could not be looked at
}

// kindName is an entry of a directory: link, dir or file.
type kindName struct{ kind, name string }

var (
	errNoNodes = errors.New("no node access")
	errForeign = errors.New("hermesbox did not make it, so that its home and workspace are not known")
)

// files are where the sandbox sees the nonces.
func (p planted) files() []string {
	all := []string{}
	for _, n := range p.nodes {
		all = append(all, n.files()...)
	}
	return all
}

// files are where the sandbox sees the nonces of the node.
func (n plantedNode) files() []string {
	return []string{sandbox.HomeMount + "/" + n.file, sandbox.WorkspaceMount + "/" + n.file}
}

// nonces are what the sandbox saw of them, by path, and which it removed.
type nonces struct {
	Seen    map[string]string `json:"seen"`
	Removed []string          `json:"removed"`
}

// on tells whether both nonces of a node were seen.
func (s nonces) on(n plantedNode) bool {
	return !slices.ContainsFunc(n.files(), func(path string) bool { return s.Seen[path] != n.nonce })
}

// removed tells whether both nonces of a node were seen and removed.
func (s nonces) removed(n plantedNode) bool {
	return s.on(n) && !slices.ContainsFunc(n.files(), func(path string) bool { return !slices.Contains(s.Removed, path) })
}

// left are the nonces that the sandbox did not remove.
func (p planted) left(found facts) planted {
	var s nonces
	if found.read("nonces", &s) != nil {
		return p
	}
	p.nodes = slices.DeleteFunc(slices.Clone(p.nodes), s.removed)
	return p
}

// plant writes a nonce of its own on each node, and fails where that goes on
// none. It must be uprooted.
func (s *subject) plant(ctx context.Context) (planted, error) {
	switch {
	case len(s.client.Nodes) == 0:
		return planted{}, errNoNodes
	case s.box.Home == "" || s.box.Workspace == "":
		return planted{}, errForeign
	}
	p := planted{nodes: make([]plantedNode, len(s.client.Nodes))}
	var wait sync.WaitGroup
	for i, n := range s.client.Nodes {
		wait.Go(func() { p.nodes[i] = s.plantOn(ctx, n) })
	}
	wait.Wait()
	var errs []error
	for _, n := range p.nodes {
		if n.err == nil {
			return p, nil
		}
		errs = append(errs, n.err)
	}
	return p, errors.Join(errs...)
}

func (s *subject) plantOn(ctx context.Context, n node.Node) plantedNode {
	l := s.client.Layout
	p := plantedNode{node: n, file: ".hermesbox-nonce-" + strings.ToLower(rand.Text()), nonce: rand.Text()}
	all, err := tell(ctx, n, nodeScript, l.Home(s.box.Home), l.Workspace(s.box.Workspace), p.file, p.nonce, l.Default(), l.Skills())
	for _, t := range all {
		kind, name, _ := strings.Cut(t.Value, " ")
		switch t.Key {
		case "home":
			p.home = t.Value
		case "workspace":
			p.workspace = t.Value
		case "default":
			p.defaults = append(p.defaults, kindName{kind, name})
		case "secret":
			p.secrets = append(p.secrets, strings.TrimPrefix(t.Value, l.Default()+"/"))
		case "config":
			p.config = t.Value
		case "skills":
			p.skills = append(p.skills, kindName{kind, name})
		}
	}
	if err != nil {
		p.err = fmt.Errorf("leaving a mark on node %s: %w", n.Name(), err)
	}
	return p
}

const uprootScript = `for dir; do [ "$dir" = "$1" ] || [ -L "$dir" ] || rm -f "$dir/$1"; done; printf 'end\0\0'`

// uproot removes the nonces, also after ctx has ended.
func (s *subject) uproot(ctx context.Context, p planted) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	var wait sync.WaitGroup
	for _, n := range p.nodes {
		if n.node == nil {
			continue
		}
		wait.Go(func() {
			if _, err := tell(ctx, n.node, uprootScript, n.file, s.client.Layout.Home(s.box.Home), s.client.Layout.Workspace(s.box.Workspace)); err != nil {
				s.options.note("the mark %s stays on node %s, which does no harm: %v", n.file, n.node.Name(), err)
			}
		})
	}
	wait.Wait()
}

// here is the node whose nonces the sandbox shows, both of them.
func (s *subject) here() (plantedNode, bool) {
	var seen nonces
	p, err := s.nonces.get()
	if err != nil || s.read("facts", "nonces", &seen) != nil {
		return plantedNode{}, false
	}
	for _, n := range p.nodes {
		if seen.on(n) {
			return n, true
		}
	}
	return plantedNode{}, false
}

func (s *subject) nodes(context.Context) check.Result {
	p, err := s.nonces.get()
	switch {
	case errors.Is(err, errNoNodes), errors.Is(err, errForeign):
		return skipped(err.Error())
	case err != nil:
		return failing("hermesbox node check looks at the nodes", "%v", err)
	}
	var seen nonces
	if err := s.read("facts", "nonces", &seen); err != nil {
		return unknown(err)
	}
	if n, ok := s.here(); ok {
		return passed("what was written on node %s is read in home and workspace", n.node.Name())
	}
	var said []string
	for _, n := range p.nodes {
		if n.err != nil {
			said = append(said, n.err.Error())
			continue
		}
		for i, dir := range []struct{ mount, state string }{{sandbox.HomeMount, n.home}, {sandbox.WorkspaceMount, n.workspace}} {
			switch {
			case dir.state != "planted":
				said = append(said, fmt.Sprintf("node %s, %s: %.80q", n.node.Name(), dir.mount, dir.state))
			case seen.Seen[n.files()[i]] != n.nonce:
				said = append(said, fmt.Sprintf("node %s: %s is another directory", n.node.Name(), dir.mount))
			}
		}
	}
	return failing("it runs on another node, or was made with other directories: hermesbox sandbox rebuild makes it anew", "%s", strings.Join(said, "; "))
}
