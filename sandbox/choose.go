package sandbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/hermesbox/hermesbox/internal/cube"
	"github.com/hermesbox/hermesbox/internal/node"
)

// ErrNoTemplate means that there is no READY template to make a sandbox from.
var ErrNoTemplate = errors.New("no READY template")

// HeldError is a home or a name that another live sandbox holds.
type HeldError struct {
	// What is home or name, ID the home-id or name.
	What, ID string
	Holder   Sandbox
}

func (e *HeldError) Error() string {
	return fmt.Sprintf("%s %s is held by sandbox %s (%s, %s)", e.What, e.ID, e.Holder.Title(), e.Holder.ID, orUnknown(e.Holder.State))
}

// choose finds out what the sandbox is made from and where. It changes nothing.
func (m *making) choose(ctx context.Context) (outcome, error) {
	template := cmp.Or(m.spec.Template, m.Latest.ID)
	if template == "" {
		return outcome{}, ErrNoTemplate
	}
	m.made.Sandbox = Sandbox{Name: m.spec.name(), Home: m.spec.Home, Workspace: m.spec.Workspace, Template: template}
	m.mounts = m.Layout.Mounts(m.spec.Home, m.spec.Workspace)
	for _, mount := range m.mounts {
		m.made.Mounts = append(m.made.Mounts, Mount(mount))
	}
	looks, err := m.survey(ctx)
	if err != nil {
		return outcome{}, err
	}
	if err := m.free(); err != nil {
		return outcome{}, err
	}
	if err := m.pick(looks); err != nil {
		return outcome{}, err
	}
	if err := m.pin(ctx); err != nil {
		return outcome{}, err
	}
	where := "no node access"
	if m.node != nil {
		where = "node " + m.node.Name()
	}
	return done("template %s, name %s, home %s, workspace %s, %s", template, m.made.Name, m.made.Home, m.made.Workspace, where)
}

// look is how one node stands.
type look struct {
	node node.Node
	Found
	err error
}

// survey asks Cube and all nodes at once.
func (m *making) survey(ctx context.Context) ([]look, error) {
	var mu sync.Mutex
	var looks []look
	var listing error
	var wait sync.WaitGroup
	wait.Go(func() { m.before, listing = m.listed(ctx) })
	m.everywhere(func(n node.Node) {
		found, err := Look(ctx, n, Place{m.Layout, m.spec.Home, m.spec.Workspace})
		mu.Lock()
		defer mu.Unlock()
		looks = append(looks, look{n, found, err})
	})
	wait.Wait()
	if listing != nil {
		return nil, listing
	}
	records := map[string]Record{}
	for _, l := range looks {
		maps.Copy(records, m.parseRecords(l.Records))
	}
	m.fill(m.before, records)
	m.judge(m.before)
	slices.SortFunc(looks, func(a, b look) int { return strings.Compare(a.node.Name(), b.node.Name()) })
	return looks, nil
}

// free refuses a name or home that another live sandbox holds.
func (m *making) free() error { return m.held(m.before, func(Sandbox) bool { return true }) }

// held is the first live sandbox among those that count that has our name or
// our home.
func (m *making) held(all []Sandbox, counts func(Sandbox) bool) error {
	for _, s := range all {
		if s.ID == m.made.ID || m.replaces != nil && s.ID == m.replaces.ID || !s.Live() || !counts(s) {
			continue
		}
		if s.Name == m.made.Name {
			return &HeldError{"name", s.Name, s}
		}
		if s.Home == m.made.Home && !m.spec.ShareHome {
			return &HeldError{"home", s.Home, s}
		}
	}
	return nil
}

// sharer is a live sandbox that has our home too, which only ShareHome allows.
func (m *making) sharer() *Sandbox {
	for i, s := range m.before {
		if s.Live() && s.Home == m.made.Home && (m.replaces == nil || s.ID != m.replaces.ID) {
			return &m.before[i]
		}
	}
	return nil
}

// pick chooses the node: the one that has the home, else the one with most room.
func (m *making) pick(looks []look) error {
	if len(looks) == 0 {
		return nil
	}
	var usable, others []look
	var errs []error
	for _, l := range looks {
		switch {
		case m.spec.Node != "" && l.node.Name() != m.spec.Node:
			others = append(others, l)
		case l.err != nil:
			errs = append(errs, l.err)
		case l.Root == Unusable:
			errs = append(errs, &PathError{l.node.Name(), m.Layout.Root, l.RootProblem})
		default:
			usable = append(usable, l)
		}
	}
	having, elsewhere := withHome(usable), withHome(others)
	switch {
	case len(having) > 1:
		return &TwiceError{m.spec.Home, names(having)}
	case len(having) == 1:
		return m.settleOn(having[0])
	case len(errs) > 0: // one of these may have the home
		return errors.Join(errs...)
	case len(usable) == 0:
		return fmt.Errorf("%w: no node is called %q", ErrSpec, m.spec.Node)
	case len(elsewhere) > 0:
		return &ElsewhereError{m.spec.Home, m.spec.Node, names(elsewhere)}
	}
	return m.settleOn(slices.MaxFunc(usable, func(a, b look) int { return cmp.Compare(a.Free, b.Free) }))
}

// withHome are those that have something of the home; a look that failed has
// nothing.
func withHome(looks []look) []look {
	return slices.DeleteFunc(slices.Clone(looks), func(l look) bool { return l.err != nil || !l.Home.There() })
}

// settleOn takes a node, unless what it has for us cannot be used.
func (m *making) settleOn(l look) error {
	switch {
	case l.Home.State == Uninitialised:
		return &NotInitialisedError{l.node.Name(), l.Home.ID, l.Home.Entries, l.Home.Count}
	case l.Home.State == Unusable:
		return &PathError{l.node.Name(), m.Layout.Home(m.spec.Home), l.Home.Problem}
	case l.Workspace == Unusable:
		return &PathError{l.node.Name(), m.Layout.Workspace(m.spec.Workspace), l.WorkspaceProblem}
	}
	if holder := m.sharer(); holder != nil && l.Home.State == Empty {
		return &PathError{l.node.Name(), m.Layout.Home(m.spec.Home), "it is empty, and to seed it would take it away from sandbox " + holder.Title() + ", which has it mounted"}
	}
	m.node, m.made.On = l.node, l.node.Name()
	return nil
}

// TwiceError is a home that several nodes have.
type TwiceError struct {
	Home  string
	Nodes []string
}

func (e *TwiceError) Error() string {
	return fmt.Sprintf("home %s is on several nodes: %s", e.Home, strings.Join(e.Nodes, ", "))
}

// ElsewhereError is a home that other nodes have, and not the one asked for.
type ElsewhereError struct {
	Home, Node string
	Has        []string // the nodes that have it
}

func (e *ElsewhereError) Error() string {
	return fmt.Sprintf("home %s is not on node %s, but on %s", e.Home, e.Node, strings.Join(e.Has, ", "))
}

func names(looks []look) []string {
	out := make([]string, 0, len(looks))
	for _, l := range looks {
		out = append(out, l.node.Name())
	}
	return out
}

// pin makes sure that Cube puts the sandbox where its directories are, as far
// as Cube can be told; else it says what the risk is.
func (m *making) pin(ctx context.Context) error {
	since, err := m.since(ctx)
	if err != nil {
		return err
	}
	if !AtLeast(since, "0.7.0") && m.spec.OnTimeout == cube.OnTimeoutPause {
		m.warn("this Cube (%s) cannot pause a sandbox with directories of the node: after %s idle it may end or hang; use --on-timeout kill, or Cube 0.7.0 or later", since, m.spec.Timeout)
	}
	known, err := m.Cube.Nodes(ctx)
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	if m.node == nil {
		if len(known) > 1 {
			m.warn("the cluster has %d nodes, and hermesbox has access to none: the directories must be on each, or on a shared file system", len(known))
		}
		return nil
	}
	if len(m.Nodes) == 1 && err == nil && len(known) == 1 {
		return nil
	}
	m.scope = m.ScopeAmong(ctx, m.node.Name(), known)
	if len(m.scope) > 0 && AtLeast(since, "0.7.0") {
		return nil
	}
	m.scope = nil
	if len(m.Nodes) > 1 || len(known) > 1 {
		m.warn("Cube may put the sandbox on another node than %s, which has its directories: %s", m.node.Name(), m.whyNotPinned(since))
	}
	return nil
}

func (m *making) whyNotPinned(since string) string {
	if !AtLeast(since, "0.7.0") {
		return "this Cube (" + since + ") cannot be told, 0.7.0 can"
	}
	return "Cube does not list a node of this name or address"
}

// since is the version from which on Cube has what this one has.
func (c *Client) since(ctx context.Context) (string, error) {
	if c.Version != "" {
		return c.Version, nil
	}
	since, err := c.Cube.Since(ctx)
	if err != nil {
		return "", fmt.Errorf("asking for Cube's version: %w", err)
	}
	return since, nil
}

func orUnknown(s string) string { return cmp.Or(s, "unknown") }
