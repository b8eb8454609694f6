package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hermesbox/hermesbox/internal/cube"
	"github.com/hermesbox/hermesbox/sandbox"
	"github.com/hermesbox/hermesbox/template"
)

// latest is how the templates of the cluster stand.
func (s *sandboxes) latest(ctx context.Context, name string) (sandbox.Latest, []template.Summary, error) {
	all, err := s.app.templateClient(s.link).List(ctx)
	if err != nil {
		return sandbox.Latest{}, nil, err
	}
	l := sandbox.Latest{Previous: map[string]bool{}, Known: map[string]bool{}}
	for _, t := range all {
		l.Known[t.ID] = true
	}
	for _, t := range template.Old(all, name, 0) {
		if l.ID == "" {
			l.ID = t.ID
		} else {
			l.Previous[t.ID] = true
		}
	}
	return l, all, nil
}

// chosenTemplate is the template that was asked for, by id or name; empty where
// none was. It must be READY.
func (a *app) chosenTemplate(all []template.Summary, given string) (string, error) {
	given = cmp.Or(given, a.getenv("CUBE_TEMPLATE_ID"))
	if given == "" || strings.HasPrefix(given, "snap-") { // snapshots are in no list
		return given, nil
	}
	i := slices.IndexFunc(all, func(t template.Summary) bool { return t.ID == given })
	if i < 0 {
		named := template.Old(all, given, 0)
		if len(named) == 0 {
			return "", &failure{
				err:  fmt.Errorf("looking for template %q: %w", given, cube.ErrNotFound),
				code: exitFailed, hint: a.again() + " template ls lists what there is",
			}
		}
		return named[0].ID, nil
	}
	if all[i].Status != cube.StatusReady {
		return "", &failure{
			err:  fmt.Errorf("template %s is %s, not READY", given, cmp.Or(all[i].Status, "unknown")),
			code: exitFailed, hint: a.again() + " template watch " + given + " waits for it",
		}
	}
	return given, nil
}

// knowLatest tells the client how the templates stand, where Cube tells; for a
// look that is not worth an error.
func (s *sandboxes) knowLatest(ctx context.Context, name string) error {
	latest, _, err := s.latest(ctx, name)
	if err == nil {
		s.client.Latest = latest
		return nil
	}
	if errors.Is(err, cube.ErrUnauthorized) || ctx.Err() != nil {
		return cubeFailed(err)
	}
	s.app.warn("what is outdated is not known: %v", err)
	return nil
}
