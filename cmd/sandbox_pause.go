package cmd

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/hermesbox/hermesbox/internal/cube"
	"github.com/hermesbox/hermesbox/sandbox"
)

func newSandboxPause(app *app) *cobra.Command {
	return &cobra.Command{
		Use:   "pause SANDBOX...",
		Short: "Pause sandboxes: memory and disk stay, nothing runs",
		Long:  "Pause waits until each is paused, and prints its id. One that is paused already is left so.",
		Args:  someArgs("sandboxes, by name or id"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runEach(cmd.Context(), app, app.out, args, (*sandboxes).pause)
		},
	}
}

func (s *sandboxes) pause(ctx context.Context, one sandbox.Sandbox) error {
	changed, err := s.client.Pause(ctx, one)
	if err == nil && !changed {
		s.app.note("%s is paused already", one.Title())
	}
	var refused *cube.Error
	old := s.client.Version == "" || !sandbox.AtLeast(s.client.Version, "0.7.0")
	if old && errors.As(err, &refused) && !errors.Is(err, cube.ErrNotFound) && !errors.Is(err, cube.ErrUnauthorized) {
		return &failure{err: err, code: exitFailed, hint: "Cube before 0.7.0 cannot pause a sandbox with directories of its node; sandbox stop ends it, and home and workspace stay"}
	}
	return err
}

func newSandboxResume(app *app) *cobra.Command {
	return &cobra.Command{
		Use:   "resume SANDBOX...",
		Short: "Resume paused sandboxes",
		Long: `Resume waits until each runs, and prints its id. One that runs is left so. Cube before
0.7.0 may be unable to resume a sandbox after its own services were restarted; then
sandbox rebuild makes it anew with the same home and workspace. A superseded one is resumed
with a warning where the sandbox that has its name has its home too.`,
		Args: someArgs("sandboxes, by name or id"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runEach(cmd.Context(), app, app.out, args, (*sandboxes).resume)
		},
	}
}

func (s *sandboxes) resume(ctx context.Context, one sandbox.Sandbox) error {
	if one.Superseded {
		s.warnWriters(ctx, one)
	}
	changed, err := s.client.Resume(ctx, one, one.Chosen.Window(s.cfg.Sandbox.Timeout.Std()))
	if err == nil && !changed {
		s.app.note("%s runs already", one.Title())
	}
	if errors.Is(err, cube.ErrNotFound) && one.Home != "" && !s.gone(ctx, one.ID) {
		return &failure{
			err: err, code: exitFailed,
			hint: "this Cube lists it and does not find it (0.7.0 can lose a paused one); home and workspace are intact: " +
				s.app.again() + " sandbox rebuild " + printable(one.Title()),
		}
	}
	return s.busy(one, err)
}

// warnWriters says that a sandbox left over from a rebuild is about to write to
// the home of the one that took its place.
func (s *sandboxes) warnWriters(ctx context.Context, left sandbox.Sandbox) {
	all, err := s.client.List(ctx)
	if err != nil {
		return // what follows asks the same Cube, and says it
	}
	for _, other := range all {
		if other.Live() && other.ID != left.ID && other.Home == left.Home && left.Home != "" {
			s.app.warn("%s is left over, and sandbox %s (%s) has its home %s now: two writers on one SQLite file lose data; %s sandbox stop %s ends it",
				left.ID, printable(other.Title()), other.ID, left.Home, s.app.again(), left.ID)
		}
	}
}

// busy offers a rebuild where nothing else helps.
func (s *sandboxes) busy(one sandbox.Sandbox, err error) error {
	if err == nil || one.Home == "" || !sandbox.Unstoppable(err) {
		return err
	}
	return &failure{
		err: err, code: exitFailed,
		hint: "this Cube cannot bring it back (before 0.7.0, after its services were restarted); home and workspace are intact: " +
			s.app.again() + " sandbox rebuild " + printable(one.Title()),
	}
}
