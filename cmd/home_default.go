package cmd

import (
	"cmp"
	"context"

	"github.com/hermesbox/hermesbox/internal/node"
	"github.com/hermesbox/hermesbox/sandbox"
)

// seedTemplate is the template whose image's home becomes the default home:
// that which was asked for, else the newest READY one.
func (s *sandboxes) seedTemplate(ctx context.Context, given string) (string, error) {
	latest, all, err := s.latest(ctx, s.cfg.Template.Name)
	if err != nil {
		return "", cubeFailed(err)
	}
	chosen, err := s.app.chosenTemplate(all, given)
	if err != nil {
		return "", err
	}
	if chosen = cmp.Or(chosen, latest.ID); chosen == "" {
		return "", homeFailed(sandbox.ErrNoTemplate)
	}
	return chosen, nil
}

// seedDefault makes the default home of a node, and says what did not go in.
func (s *sandboxes) seedDefault(ctx context.Context, n node.Node, template string, refresh bool) (sandbox.Default, error) {
	seed := sandbox.Seed{Cube: s.link.Client, Route: s.client.Route, Template: template, Refresh: refresh, Note: s.app.note}
	if len(s.client.Nodes)+len(s.others) > 1 {
		seed.Hosts = s.client.Scope(ctx, n)
	}
	made, err := sandbox.SeedDefault(ctx, n, s.client.Layout, seed)
	if err != nil {
		return made, err
	}
	switch {
	case !made.Made:
		s.app.note("node %s has a default home", n.Name())
	case len(made.Left) > 0:
		s.app.note("node %s has a new default home; of the image's home %d names were left out: %s", n.Name(), len(made.Left), firstNames(made.Left, 10))
	default:
		s.app.note("node %s has a new default home", n.Name())
	}
	return made, nil
}

// firstNames lists names that somebody else chose.
func firstNames(names []string, most int) string {
	var shown []string
	for _, name := range names[:min(len(names), most)] {
		shown = append(shown, printable(name))
	}
	if len(names) > most {
		shown = append(shown, "…")
	}
	return joined(shown)
}
