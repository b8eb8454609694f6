package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/hermesbox/hermesbox/internal/cube"
	"github.com/hermesbox/hermesbox/sandbox"
	"github.com/hermesbox/hermesbox/skills"
)

func newSkillsRefresh(app *app) *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   "refresh SANDBOX...|--all",
		Short: "Link new public skills into sandboxes, and remove links to those that are gone",
		Long: `Refresh links each public skill whose name is free in the sandbox's home, and removes links
to public skills that are no more. Whatever else is in the home is private, wins and stays;
a private skill in a category counts too. Content of skills that are linked needs no
refresh. It prints what it did, a line a skill. --all is every sandbox with a home that
runs; a paused one is left for sandbox resume, and named ones are resumed as any access does.`,
		Example: "  hermesbox skills refresh alice\n  hermesbox skills refresh --all",
		RunE: func(cmd *cobra.Command, args []string) error {
			if all == (len(args) > 0) {
				return usagef("skills refresh wants sandboxes, or --all").withHint("hermesbox sandbox ls lists what there is")
			}
			return runSkillsRefresh(cmd.Context(), app, app.out, args)
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "all sandboxes with a home that run")
	return cmd
}

// overlaidBox is the overlay of one sandbox; nil, and no part of the JSON, where
// it is not known.
type overlaidBox struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	*skills.Overlaid
	Error string `json:"error,omitempty"`
	title string
}

func runSkillsRefresh(ctx context.Context, app *app, out io.Writer, names []string) error {
	s, err := app.sandboxes(ctx)
	if err != nil {
		return err
	}
	defer s.close()
	boxes, err := s.chosen(ctx, names)
	if err != nil {
		return err
	}
	done, errs := s.overlays(ctx, boxes, (*target).refresh)
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if app.output == "json" {
		err = app.printJSON(done)
	} else {
		err = app.printOverlaid(out, done)
	}
	return errors.Join(err, partly(len(boxes)-len(errs), errs...))
}

// chosen are the sandboxes of the names, or all that run and have a home.
func (s *sandboxes) chosen(ctx context.Context, names []string) ([]sandbox.Sandbox, error) {
	all, err := s.client.List(ctx)
	if err != nil {
		return nil, sandboxFailed(err)
	}
	var out []sandbox.Sandbox
	for _, name := range names {
		one, err := s.pick(all, name)
		if err != nil {
			return nil, err
		}
		out = append(out, one)
	}
	if len(names) > 0 {
		return out, nil
	}
	for _, one := range all {
		switch {
		case one.Home == "":
		case one.State == cube.Running:
			out = append(out, one)
		default:
			s.app.note("%s is left out: it is %s", one.Title(), one.State)
		}
	}
	return out, nil
}

// overlays does something in each sandbox, some at a time. A sandbox that fails
// has its error, and is among the errors.
func (s *sandboxes) overlays(ctx context.Context, boxes []sandbox.Sandbox, do func(*target, context.Context) (skills.Overlaid, error)) ([]overlaidBox, []error) {
	done, failures := make([]overlaidBox, len(boxes)), make([]error, len(boxes))
	atOnce(len(boxes), asksAtOnce, func(i int) {
		one := boxes[i]
		done[i] = overlaidBox{ID: one.ID, Name: one.Name, title: one.Title()}
		var err error
		if done[i].Overlaid, err = s.overlayOf(ctx, one, do); err != nil {
			done[i].Error = err.Error()
			failures[i] = boxFailed(one.Title(), fmt.Errorf("sandbox %s: %w", one.Title(), err))
		}
	})
	var errs []error
	for _, err := range failures {
		if err != nil {
			errs = append(errs, err)
		}
	}
	return done, errs
}

// overlayOf does something in a sandbox that was listed.
func (s *sandboxes) overlayOf(ctx context.Context, one sandbox.Sandbox, do func(*target, context.Context) (skills.Overlaid, error)) (*skills.Overlaid, error) {
	found, err := s.client.Refresh(ctx, one)
	if err != nil {
		return nil, err
	}
	service, err := s.client.Route.Service(found)
	if err != nil {
		return nil, err
	}
	defer service.Close()
	o, err := do(&target{found, s, service}, ctx)
	if err != nil && len(o.Failed) == 0 {
		return nil, err
	}
	return &o, err
}

// refresh makes the overlay. Links that could not be made are an error, too.
func (t *target) refresh(ctx context.Context) (skills.Overlaid, error) {
	o, err := skills.Overlay(ctx, t.service)
	if err == nil && len(o.Failed) > 0 {
		err = fmt.Errorf("%d links could not be made or removed, such as %s: %s", len(o.Failed), firstNames(o.Failed, 3), printable(o.Said))
	}
	return o, err
}

// printOverlaid prints what was done or found; what stayed as it was only in words.
func (a *app) printOverlaid(out io.Writer, done []overlaidBox) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, d := range done {
		if d.Overlaid == nil {
			continue
		}
		for _, list := range d.lists() {
			for _, name := range list.names {
				fmt.Fprintf(table, "%s\t%s\t%s\n", printable(d.title), list.word, printable(name))
			}
		}
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("writing output: %w", err)
	}
	for _, d := range done {
		if d.Error == "" {
			a.note("%s: %s", d.title, d.Overlaid)
			a.warnOverlaid(d)
		}
	}
	return nil
}

// wordedNames are names with what became of them.
type wordedNames struct {
	word  string
	names []string
}

func (d overlaidBox) lists() []wordedNames {
	return []wordedNames{
		{"linked", d.Linked},
		{"removed", d.Removed},
		{"private", d.Private},
		{"private elsewhere", d.Elsewhere},
		{"twice", d.Twice},
		{"missing", d.Missing},
		{"dangling", d.Dangling},
		{"failed", d.Failed},
	}
}

func (a *app) warnOverlaid(d overlaidBox) {
	if len(d.Twice) > 0 {
		a.warn("%s: %s: linked, and a private skill calls itself so: Hermes refuses to open what is there twice; rename the private one", d.title, firstNames(d.Twice, 3))
	}
	if d.Unnamed {
		a.warn("%s: config.yaml does not name %s in skills.external_dirs: Hermes warns of each public skill, and an agent that makes one of the same name tries to write through the link; add it there", d.title, skills.Public)
	}
}
