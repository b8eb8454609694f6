package sandbox

import (
	"context"
	"fmt"

	"github.com/hermesbox/hermesbox/internal/answer"
	"github.com/hermesbox/hermesbox/internal/node"
)

// Found is what a node has for a place. Looking changes nothing.
type Found struct {
	Node string `json:"node"`
	// Root is the shared root; Problem says what is wrong with an unusable one.
	Root        State  `json:"root"`
	RootProblem string `json:"root_problem"`
	// Free bytes and inodes where the homes are; -1 where the node does not tell.
	Free  int64 `json:"free"`
	Files int64 `json:"files"`
	Home  Home  `json:"home"`
	// Default is the default home.
	Default Home `json:"default"`
	// Workspace is absent, usable or unusable.
	Workspace        State  `json:"workspace"`
	WorkspaceProblem string `json:"workspace_problem"`
	// Records are those of all sandboxes by file name, as they are; Records are
	// hostile until [ParseRecord] has read them.
	Records map[string][]byte `json:"-"`
}

// Look finds out how a node stands for a place, in one script.
func Look(ctx context.Context, n node.Node, p Place) (Found, error) {
	f := Found{Node: n.Name(), Free: -1, Files: -1, Records: map[string][]byte{}}
	f.Home.ID, f.Default.ID = p.Home, DefaultHome
	err := ask(ctx, n, nodeScript{name: "look.sh", args: []string{p.Layout.Root, p.Home, p.Workspace}}, f.take)
	if err != nil {
		return Found{}, fmt.Errorf("looking at node %s: %w", n.Name(), err)
	}
	return f, nil
}

// take reads one answer of look.sh.
func (f *Found) take(a answer.Pair) error {
	switch a.Key {
	case "root":
		return takeState(a, &f.Root, &f.RootProblem)
	case "workspace":
		return takeState(a, &f.Workspace, &f.WorkspaceProblem)
	case "free":
		return a.Number(&f.Free, 1024)
	case "files":
		return a.Number(&f.Files, 1)
	case "record":
		name, text, err := a.Split()
		f.Records[name] = []byte(text)
		return err
	}
	return takeHome(a, map[string]*Home{"home": &f.Home, "default": &f.Default})
}
