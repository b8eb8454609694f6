package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hermesbox/hermesbox/internal/config"
	"github.com/hermesbox/hermesbox/sandbox"
)

// sandboxCreateOptions are the flags of sandbox create.
type sandboxCreateOptions struct {
	sandboxOptions
	name, home, workspace, node string
}

func (o *sandboxCreateOptions) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.name, "name", "", "`name` of the sandbox (default: the home-id)")
	flags.StringVar(&o.home, "home", "", "`id` of the home (default sandbox.home)")
	flags.StringVar(&o.workspace, "workspace", "", "`id` of the workspace (default sandbox.workspace)")
	flags.StringVar(&o.node, "node", "", "configured `node` to use (default: the one that has the home)")
	o.sandboxOptions.AddFlags(flags)
}

func newSandboxCreate(app *app) *cobra.Command {
	var opts sandboxCreateOptions
	cmd := &cobra.Command{
		Use:   "create",
		Short: "Make a sandbox with a home and a workspace, and start its Web UI",
		Long: `Create makes the directories on the node, seeds a first-used home, has Cube make the
sandbox, proves that it sees those directories, links the public skills and starts the Web
UI. It reports each of its ten steps and prints the sandbox's id. What fails after the
sandbox was made never destroys it: it stays to be looked at.

Variables given with --env and --env-file are kept in the home, for rebuilds too. A secret
is never a flag value: --env NAME takes the caller's value.`,
		Example: `  hermesbox sandbox create --home alice --workspace alice
  OPENAI_API_KEY=… hermesbox sandbox create --home bob --workspace team --env OPENAI_API_KEY`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runSandboxCreate(cmd.Context(), app, app.out, opts)
		},
	}
	opts.AddFlags(cmd.Flags())
	return cmd
}

// runSandboxCreate checks all that can be checked before anybody is asked.
func runSandboxCreate(ctx context.Context, app *app, out io.Writer, opts sandboxCreateOptions) error {
	loaded, err := app.config(append(opts.overrides(), plainOverrides(map[string][2]string{
		"--home": {"sandbox.home", opts.home}, "--workspace": {"sandbox.workspace", opts.workspace},
	})...)...)
	if err != nil {
		return err
	}
	cfg := loaded.Config
	for what, id := range map[string]string{"home": cfg.Sandbox.Home, "workspace": cfg.Sandbox.Workspace} {
		if id == "" {
			return usagef("no %s is named", what).withHint("give --home and --workspace, or set sandbox.home and sandbox.workspace in hermesbox.yaml")
		}
	}
	spec, err := opts.spec(app, cfg.Sandbox)
	if err != nil {
		return err
	}
	spec.Name, spec.Home, spec.Workspace, spec.Node = opts.name, cfg.Sandbox.Home, cfg.Sandbox.Workspace, opts.node
	if err := spec.Check(); err != nil {
		return sandboxFailed(err)
	}
	if err := checkNode(cfg, opts.node); err != nil {
		return err
	}
	all, err := app.makeSandboxes(ctx, cfg, opts.template, &spec)
	if err != nil {
		return err
	}
	defer all.close()
	made, err := all.client.Create(ctx, spec)
	return errors.Join(app.printCreated(out, made), all.createEnded(ctx, made, err))
}

// checkNode refuses a node that is not configured.
func checkNode(cfg config.Config, name string) error {
	if name == "" || cfg.Cube.Engine == "local" {
		return nil
	}
	for _, n := range cfg.Nodes {
		if n.Name == name {
			return nil
		}
	}
	return usagef("--node %q is not configured", name).withHint("name one of those under nodes in hermesbox.yaml")
}

// makeSandboxes connects to make sandboxes: with nodes, and the template that
// was asked for in spec.
func (a *app) makeSandboxes(ctx context.Context, cfg config.Config, given string, spec *sandbox.Spec) (*sandboxes, error) {
	local, err := a.pickCube(cfg.Cube)
	if err == nil {
		err = checkShared(cfg.SharedRoot, local)
	}
	if err != nil {
		return nil, err
	}
	s, err := a.openSandboxes(ctx, cfg, local, true)
	if err != nil {
		return nil, err
	}
	if err := s.prepare(ctx, cfg, given, spec); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *sandboxes) prepare(ctx context.Context, cfg config.Config, given string, spec *sandbox.Spec) error {
	latest, all, err := s.latest(ctx, cfg.Template.Name)
	if err != nil {
		return cubeFailed(err)
	}
	s.client.Latest = latest
	spec.Template, err = s.app.chosenTemplate(all, given)
	return err
}

// printCreated prints what was made, also where something failed afterwards.
func (a *app) printCreated(out io.Writer, made sandbox.Created) error {
	if made.ID == "" {
		return nil
	}
	if a.output == "json" {
		return a.printJSON(made)
	}
	if _, err := fmt.Fprintln(out, printable(made.ID)); err != nil {
		return fmt.Errorf("writing output: %w", err)
	}
	return nil
}
