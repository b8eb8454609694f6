package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hermesbox/hermesbox/internal/node"
	"github.com/hermesbox/hermesbox/sandbox"
)

// homeSeedOptions are the flags of home seed.
type homeSeedOptions struct {
	home                         string
	fromTemplate, refresh, adopt bool
	template, node               string
}

func (o *homeSeedOptions) AddFlags(flags *pflag.FlagSet) {
	flags.BoolVar(&o.fromTemplate, "from-template", false, "make the default home from the home in a template's image, where there is none")
	flags.BoolVar(&o.refresh, "refresh", false, "with --from-template: replace the default home; homes already seeded are not touched")
	flags.BoolVar(&o.adopt, "adopt", false, "add what is missing to a directory that has entries but no config.yaml; nothing there is overwritten")
	flags.StringVar(&o.template, "template", "", "`template` to use, by id or name (default CUBE_TEMPLATE_ID, else the newest READY one of template.name)")
	flags.StringVar(&o.node, "node", "", "configured `node` to work on (default: the one that has the home; all for --from-template alone)")
}

func newHomeSeed(app *app) *cobra.Command {
	var opts homeSeedOptions
	cmd := &cobra.Command{
		Use:   "seed [HOME]",
		Short: "Make a home, or the default home that others are made from",
		Long: `Seed copies the node's default home to a home that is absent or empty, in one step. An
initialised home is left as it is. Where there is no default home, it is made first, from
the home in the template's image, by a sandbox that lives only for that; it gets no
secrets, databases, sessions, logs and memories.

Without HOME, --from-template makes the default home alone. Seeding waits for other runs on
the node, and a run that was killed leaves nothing that the next does not clean up.`,
		Example: `  hermesbox home seed alice
  hermesbox home seed --from-template --refresh --yes
  hermesbox home seed bob --adopt`,
		Args: maxArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				opts.home = args[0]
			}
			return runHomeSeed(cmd.Context(), app, app.out, opts, len(args) == 1)
		},
	}
	opts.AddFlags(cmd.Flags())
	return cmd
}

// seeding is what became of a home.
type seeding struct {
	Home string `json:"home"`
	Node string `json:"node"`
	Did  string `json:"did"` // kept, seeded, added; made for a default home
	// Left are names of the image's home that did not go into a default home
	// made now.
	Left []string `json:"left"`
}

func (o homeSeedOptions) check(named bool) error {
	switch {
	case !named && o.adopt:
		return usagef("--adopt is about a home").withHint("name its home-id: hermesbox home seed HOME --adopt")
	case !named && !o.fromTemplate:
		return usagef("no home is named").withHint("name a home-id, or make the default home with --from-template")
	case o.refresh && !o.fromTemplate:
		return usagef("--refresh is about the default home").withHint("give it with --from-template")
	case named && o.fromTemplate && strings.HasPrefix(o.home, "tpl-"):
		return usagef("HOME %q looks like a template", o.home).withHint("name a template with --template %s", o.home)
	case named:
		return checkHome(o.home)
	}
	return nil
}

func runHomeSeed(ctx context.Context, app *app, out io.Writer, opts homeSeedOptions, named bool) error {
	if err := opts.check(named); err != nil {
		return err
	}
	s, err := app.homes(ctx, opts.node)
	if err != nil {
		return err
	}
	defer s.close()
	if opts.refresh {
		if err := app.confirm(ctx, "replacing the default home"); err != nil {
			return err
		}
	}
	var done []seeding
	var errs []error
	if named {
		var one seeding
		if one, err = s.seedHome(ctx, opts); err == nil {
			done = []seeding{one}
		} else {
			errs = []error{homeFailed(err)}
		}
	} else {
		done, errs = s.seedDefaults(ctx, opts)
	}
	return errors.Join(app.printSeedings(out, done), partly(len(done), errs...))
}

// seedDefaults makes the default home of each node.
func (s *sandboxes) seedDefaults(ctx context.Context, opts homeSeedOptions) ([]seeding, []error) {
	template, err := s.seedTemplate(ctx, opts.template)
	if err != nil {
		return nil, []error{err}
	}
	return onNodes(s.client.Nodes, func(n node.Node) (seeding, error) {
		made, err := s.seedDefault(ctx, n, template, opts.refresh)
		did := sandbox.Kept
		if made.Made {
			did = "made"
		}
		return seeding{sandbox.DefaultHome, n.Name(), did, made.Left}, err
	})
}

// seedHome makes one home, and the default home before it where that is needed.
func (s *sandboxes) seedHome(ctx context.Context, opts homeSeedOptions) (seeding, error) {
	n, err := s.nodeOfHome(ctx, opts.home)
	if err != nil {
		return seeding{}, err
	}
	out := seeding{Home: opts.home, Node: n.Name(), Left: []string{}}
	kept, err := s.heldHome(ctx, n, opts.home)
	if err != nil || kept && !opts.refresh {
		out.Did = sandbox.Kept
		return out, err
	}
	seed := sandbox.SeedHome
	if opts.adopt {
		seed = sandbox.AdoptHome
	}
	err = sandbox.ErrNoDefaultHome
	if !opts.fromTemplate {
		out.Did, err = seed(ctx, n, s.client.Layout, opts.home)
	}
	if errors.Is(err, sandbox.ErrNoDefaultHome) {
		if out.Left, err = s.defaultFirst(ctx, n, opts); err == nil {
			out.Did, err = seed(ctx, n, s.client.Layout, opts.home)
		}
	}
	if err == nil {
		s.app.note("home %s on node %s: %s", opts.home, n.Name(), out.Did)
	}
	return out, err
}

func (s *sandboxes) defaultFirst(ctx context.Context, n node.Node, opts homeSeedOptions) ([]string, error) {
	template, err := s.seedTemplate(ctx, opts.template)
	if err != nil {
		return nil, err
	}
	made, err := s.seedDefault(ctx, n, template, opts.refresh)
	return made.Left, err
}

func (a *app) printSeedings(out io.Writer, done []seeding) error {
	if a.output == "json" && len(done) > 0 {
		return a.printJSON(done)
	}
	for i, d := range done {
		if i > 0 && d.Home == done[i-1].Home {
			continue
		}
		if _, err := fmt.Fprintln(out, d.Home); err != nil {
			return fmt.Errorf("writing output: %w", err)
		}
	}
	return nil
}
