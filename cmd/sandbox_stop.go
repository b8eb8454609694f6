package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/hermesbox/hermesbox/internal/cube"
	"github.com/hermesbox/hermesbox/sandbox"
)

func newSandboxStop(app *app) *cobra.Command {
	return &cobra.Command{
		Use:   "stop SANDBOX...",
		Short: "End sandboxes; their homes and workspaces stay",
		Long: `Stop ends sandboxes and prints their ids. What was written outside of /root/.hermes and
/workspace is gone with them. A sandbox made again with the same home and workspace goes on
where this one ended.`,
		Args: someArgs("sandboxes, by name or id"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runEach(cmd.Context(), app, app.out, args, (*sandboxes).stop)
		},
	}
}

func (s *sandboxes) stop(ctx context.Context, one sandbox.Sandbox) error {
	return s.busy(one, s.client.Stop(ctx, one))
}

// runEach does something to each of the sandboxes named and prints the ids of
// those done. It goes on after one that fails: exit 5 where others were done.
func runEach(ctx context.Context, app *app, out io.Writer, args []string, do func(*sandboxes, context.Context, sandbox.Sandbox) error) error {
	s, err := app.sandboxes(ctx)
	if err != nil {
		return err
	}
	defer s.close()
	all, err := s.client.List(ctx)
	if err != nil {
		return sandboxFailed(err)
	}
	var errs []error
	ids := []string{}
	for _, arg := range args {
		one, err := s.pick(all, arg)
		if err == nil && slices.Contains(ids, one.ID) {
			continue // named twice
		}
		if err == nil {
			err = sandboxFailed(do(s, ctx, one))
		}
		switch {
		case err == nil:
			ids = append(ids, one.ID)
		case errors.Is(err, cube.ErrUnreachable), errors.Is(err, cube.ErrUnauthorized), ctx.Err() != nil:
			return errors.Join(app.printIDs(out, ids), partly(len(ids), err))
		default:
			errs = append(errs, err)
		}
	}
	return errors.Join(app.printIDs(out, ids), partly(len(ids), errs...))
}

// partly is the error of a command that did some of what it was to do.
func partly(done int, errs ...error) error {
	if len(errs) == 0 {
		return nil
	}
	first := failed(errs[0])
	code := first.code
	if done > 0 {
		code = exitPartly
	}
	if len(errs) == 1 {
		return &failure{err: first.err, code: code, hint: first.hint}
	}
	return &failure{err: errors.Join(errs...), code: code, hint: first.hint}
}

func (a *app) printIDs(out io.Writer, ids []string) error {
	if a.output == "json" {
		return a.printJSON(ids)
	}
	for _, id := range ids {
		if _, err := fmt.Fprintln(out, printable(id)); err != nil {
			return fmt.Errorf("writing output: %w", err)
		}
	}
	return nil
}

// someArgs wants one argument or more, named what.
func someArgs(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return nil
		}
		return usagef("%s wants %s", cmd.CommandPath(), what).withHint("see %s --help", cmd.CommandPath())
	}
}
