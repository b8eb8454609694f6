package cmd

import (
	"context"
	"errors"
	"io"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hermesbox/hermesbox/sandbox"
)

// sandboxRebuildOptions are the flags of sandbox rebuild.
type sandboxRebuildOptions struct {
	sandboxOptions
	outdated bool
	node     string
}

func (o *sandboxRebuildOptions) AddFlags(flags *pflag.FlagSet) {
	o.sandboxOptions.AddFlags(flags)
	flags.BoolVar(&o.outdated, "outdated", false, "rebuild all that were made from an older template, one after the other")
	flags.StringVar(&o.node, "node", "", "configured `node` to use, where several share one file system (default: the one that has the home)")
}

func newSandboxRebuild(app *app) *cobra.Command {
	var opts sandboxRebuildOptions
	cmd := &cobra.Command{
		Use:   "rebuild SANDBOX | --outdated",
		Short: "Make a sandbox anew, with the same name, home and workspace",
		Long: `Rebuild stops a sandbox and makes it anew from the newest template, as after a change of
template or mounts, or when a paused sandbox cannot be resumed. Home, workspace, name and the
variables kept in the home stay, and so do --timeout, --on-timeout and --no-web-ui, as they
were given for it, where they are not given anew (--no-web-ui=false starts the Web UI). Where Cube cannot stop the old one, that one is left over,
and the new one takes the name. With --outdated it stops at the first failure.`,
		Example: "  hermesbox sandbox rebuild alice\n  hermesbox sandbox rebuild --outdated",
		Args:    maxArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runSandboxRebuild(cmd.Context(), app, app.out, args, opts)
		},
	}
	opts.AddFlags(cmd.Flags())
	return cmd
}

func runSandboxRebuild(ctx context.Context, app *app, out io.Writer, args []string, opts sandboxRebuildOptions) error {
	if opts.outdated == (len(args) > 0) {
		return usagef("name one sandbox, or give --outdated").withHint("hermesbox sandbox ls lists sandboxes, and which are outdated")
	}
	loaded, err := app.config(opts.overrides()...)
	if err != nil {
		return err
	}
	spec, err := opts.spec(app, loaded.Config.Sandbox)
	if err != nil {
		return err
	}
	if err := checkNode(loaded.Config, opts.node); err != nil {
		return err
	}
	spec.Node = opts.node
	s, err := app.makeSandboxes(ctx, loaded.Config, opts.template, &spec)
	if err != nil {
		return err
	}
	defer s.close()
	if opts.outdated {
		return s.rebuildOutdated(ctx, out, spec)
	}
	old, err := s.find(ctx, args[0])
	if err != nil {
		return err
	}
	made, err := s.rebuild(ctx, old, spec)
	return errors.Join(app.printCreated(out, made), err)
}

// rebuild makes one anew; where the old one is gone and the new one not there,
// it says how to go on.
func (s *sandboxes) rebuild(ctx context.Context, old sandbox.Sandbox, spec sandbox.Spec) (sandbox.Created, error) {
	made, err := s.client.Rebuild(ctx, old, spec)
	var step *sandbox.StepError
	if errors.As(err, &step) && step.ID == "" && step.Step > 1 {
		s.app.note("%s is stopped, its home and workspace are intact; to go on: %s sandbox create --name %s --home %s --workspace %s%s",
			old.Name, s.app.again(), old.Name, old.Home, old.Workspace, chosenFlags(old.Chosen))
	}
	return made, s.createEnded(ctx, made, err)
}

// chosenFlags ask again for what was chosen.
func chosenFlags(c sandbox.Chosen) string {
	var flags string
	if c.Timeout != "" {
		flags += " --timeout " + printable(c.Timeout)
	}
	if c.OnTimeout != "" {
		flags += " --on-timeout " + printable(c.OnTimeout)
	}
	if c.WebUI == sandbox.WebUINo {
		flags += " --no-web-ui"
	}
	return flags
}

// rebuildOutdated stops at the first failure: what broke one would break the
// next.
func (s *sandboxes) rebuildOutdated(ctx context.Context, out io.Writer, spec sandbox.Spec) error {
	all, err := s.client.List(ctx)
	if err != nil {
		return sandboxFailed(err)
	}
	old := slices.DeleteFunc(sandbox.Outdated(all), func(one sandbox.Sandbox) bool { return throwaway(one.Name) })
	if len(old) == 0 {
		s.app.note("no sandbox is outdated")
	}
	made := []sandbox.Created{}
	for i, one := range old {
		s.app.note("rebuilding %s, %d of %d", one.Title(), i+1, len(old))
		var created sandbox.Created
		created, err = s.rebuild(ctx, one, spec)
		if err == nil || created.ID != "" {
			made = append(made, created)
		}
		if err != nil {
			if left := len(old) - i - 1; left > 0 {
				s.app.note("%d rebuilt, %d left as they are", i, left)
			}
			err = partly(i, err)
			break
		}
	}
	return errors.Join(s.app.printRebuilt(out, made), err)
}

func (a *app) printRebuilt(out io.Writer, made []sandbox.Created) error {
	if a.output == "json" {
		return a.printJSON(made)
	}
	for _, one := range made {
		if err := a.printCreated(out, one); err != nil {
			return err
		}
	}
	return nil
}
