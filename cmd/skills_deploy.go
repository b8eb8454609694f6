package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"text/tabwriter"

	"github.com/docker/go-units"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hermesbox/hermesbox/internal/check"
	"github.com/hermesbox/hermesbox/internal/config"
	"github.com/hermesbox/hermesbox/internal/node"
	"github.com/hermesbox/hermesbox/skills"
)

// skillsDeployOptions are the flags of skills deploy.
type skillsDeployOptions struct {
	nodes  []string
	dryRun bool
}

func (o *skillsDeployOptions) AddFlags(flags *pflag.FlagSet) {
	flags.StringArrayVar(&o.nodes, "node", nil, "configured `node` to deploy to (repeatable; default all)")
	flags.BoolVar(&o.dryRun, "dry-run", false, "only say what would be done")
}

func newSkillsDeploy(app *app) *cobra.Command {
	var opts skillsDeployOptions
	cmd := &cobra.Command{
		Use:   "deploy [DIR]",
		Short: "Bring the public skills to the nodes; only what changed is sent",
		Long: `Deploy makes the public skills of all nodes at once those of DIR, by default skills.source.
Each skill is swapped in whole; sandboxes that run see the new content at once, and a new
skill after skills refresh. Nothing is replaced or removed but what an earlier deploy put
there: a directory of somebody else stays, and is reported as a conflict (exit code 5). A
skill that was changed on the node is put right, and what was there is kept aside.

It prints what it did, or with --dry-run would do, a line a skill. One deploy waits for
another, and finishes one that was cut short.`,
		Example: "  hermesbox skills deploy --dry-run\n  hermesbox skills deploy --node node-1 ~/src/skills",
		Args:    maxArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runSkillsDeploy(cmd.Context(), app, app.out, args, opts)
		},
	}
	opts.AddFlags(cmd.Flags())
	return cmd
}

// deployedNode is what came of one node.
type deployedNode struct {
	skills.Deployed
	Error string `json:"error,omitempty"`
}

func runSkillsDeploy(ctx context.Context, app *app, out io.Writer, args []string, opts skillsDeployOptions) (err error) {
	loaded, err := app.config()
	if err != nil {
		return err
	}
	f, err := app.fleet(ctx, opts.nodes)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.close()) }()
	app.waiting(f.nodes)
	release := sync.OnceValues(func() (skills.Release, error) { return app.release(ctx, loaded, args) })
	do := skills.Deploy
	if opts.dryRun {
		do = skills.Plan
	}
	done, errs := make([]deployedNode, len(f.nodes)), make([]error, len(f.nodes))
	f.each(func(i int, n node.Node) {
		var failed error
		done[i].Deployed, failed = do(ctx, n, skillsPlace(f.layout()), release)
		if failed != nil {
			done[i].Error = failed.Error()
			done[i].Actions = []skills.Action{} // what was done of them is not known
			errs[i] = skillsFailed(failed)
		}
	})
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if _, err := release(); err != nil {
		return err // of no node
	}
	if app.output == "json" {
		err = app.printJSON(done)
	} else {
		err = app.printDeployed(out, done, opts.dryRun)
	}
	if err != nil {
		return err
	}
	if err := nodesFailed(errs, anyWell(errs)); err != nil {
		return err
	}
	return conflicts(done)
}

// release is what is deployed: skills in which nothing is wrong.
func (a *app) release(ctx context.Context, loaded *config.Loaded, args []string) (skills.Release, error) {
	set, err := loadSkills(loaded, args)
	if err != nil {
		return skills.Release{}, err
	}
	for _, c := range skills.Lint(set, bundledOf(loaded.Config.Source)) {
		switch c.Status {
		case check.Fail:
			return skills.Release{}, &failure{
				err: fmt.Errorf("the skills in %s cannot be deployed: %s", printable(set.Dir), c.Evidence), code: exitFailed,
				hint: strings.TrimSpace(a.again()+" skills lint "+strings.Join(args, " ")) + " tells all that is wrong; nothing was sent",
			}
		case check.Warn:
			a.warn("%s", c.Evidence)
		}
	}
	revision, err := skills.ReadRevision(ctx, set.Dir)
	if err != nil && ctx.Err() == nil {
		a.warn("the ledger will name no revision: %v", err)
	}
	return skills.Release{Set: set, Revision: revision, Hermesbox: ownVersion()}, nil
}

func (a *app) printDeployed(out io.Writer, done []deployedNode, dry bool) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, d := range done {
		for _, action := range d.Actions {
			size := ""
			if action.Files > 0 {
				size = fmt.Sprintf("\t%d files, %s", action.Files, units.HumanSize(float64(action.Bytes)))
			}
			fmt.Fprintf(table, "%s\t%s\t%s%s\n", printable(d.Node), action.Action, printable(action.Skill), size)
		}
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("writing output: %w", err)
	}
	for _, d := range done {
		if d.Error == "" {
			a.noteDeployed(d.Deployed, dry)
		}
	}
	return nil
}

// noteDeployed says what the table does not.
func (a *app) noteDeployed(d skills.Deployed, dry bool) {
	if d.Finished {
		a.note("node %s: an earlier deploy was cut short, and is finished now", d.Node)
	}
	if d.Unfinished {
		a.note("node %s: an earlier deploy was cut short; the next one finishes it first", d.Node)
	}
	switch {
	case d.Kept == "":
	case dry:
		a.note("node %s: what was changed there would be kept in %s", d.Node, d.Kept)
	default:
		a.note("node %s: what was changed there is kept in %s", d.Node, d.Kept)
	}
	switch {
	case dry:
		a.note("node %s: %d skills are there as they are here", d.Node, d.Same)
	case len(d.Actions) == 0:
		a.note("node %s: nothing changed, %d skills", d.Node, d.Same)
	default:
		a.note("node %s: %d skills unchanged, %s sent", d.Node, d.Same, units.HumanSize(float64(d.Sent)))
	}
}

// conflicts is an error where something else had a skill's name.
func conflicts(done []deployedNode) error {
	var where []string
	for _, d := range done {
		if names := d.Conflicts(); len(names) > 0 {
			where = append(where, fmt.Sprintf("node %s has something else named %s", d.Node, firstNames(names, 5)))
		}
	}
	if len(where) == 0 {
		return nil
	}
	return &failure{
		err: fmt.Errorf("not deployed, and untouched: %s", strings.Join(where, "; ")), code: exitPartly,
		hint: "hermesbox did not put it there: move it away on the node, or rename the skill",
	}
}
