package cmd

import (
	"context"
	"fmt"
	"io"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/docker/go-units"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hermesbox/hermesbox/internal/cube"
	"github.com/hermesbox/hermesbox/sandbox"
)

// sandboxLsOptions are the flags of sandbox ls.
type sandboxLsOptions struct{ health, watch bool }

func (o *sandboxLsOptions) AddFlags(flags *pflag.FlagSet) {
	flags.BoolVar(&o.health, "health", false, "ask the Web UI of each running sandbox how it is")
	flags.BoolVar(&o.watch, "watch", false, "list again every two seconds, until interrupted")
}

func newSandboxLs(app *app) *cobra.Command {
	var opts sandboxLsOptions
	cmd := &cobra.Command{
		Use:   "ls",
		Short: "List the sandboxes of the cluster, as Cube has them now",
		Long: `Ls lists all sandboxes, also those that somebody else made, which have no name here. A
superseded one lost its name to another that was made later. An outdated one was made from
an older template than the newest READY one of template.name.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runSandboxLs(cmd.Context(), app, app.out, opts)
		},
	}
	opts.AddFlags(cmd.Flags())
	return cmd
}

func runSandboxLs(ctx context.Context, app *app, out io.Writer, opts sandboxLsOptions) error {
	if opts.watch && app.output == "json" {
		return usagef("--watch prints tables, not JSON").withHint("leave --watch or --output json away")
	}
	s, err := app.sandboxes(ctx)
	if err != nil {
		return err
	}
	defer s.close()
	if opts.watch {
		return s.watch(ctx, out, opts.health)
	}
	return s.list(ctx, out, opts.health)
}

// listedSandbox is a row with the health that was asked for.
type listedSandbox struct {
	sandbox.Sandbox
	Health string `json:"health"`
}

func (s *sandboxes) list(ctx context.Context, out io.Writer, health bool) error {
	if err := s.knowLatest(ctx, s.cfg.Template.Name); err != nil {
		return err
	}
	all, err := s.client.List(ctx)
	if err != nil {
		return sandboxFailed(err)
	}
	if !health {
		if s.app.output == "json" {
			return s.app.printJSON(all)
		}
		return printSandboxes(out, all, nil)
	}
	words := s.healths(ctx, all)
	if s.app.output != "json" {
		return printSandboxes(out, all, words)
	}
	rows := make([]listedSandbox, len(all))
	for i := range all {
		rows[i] = listedSandbox{all[i], words[i]}
	}
	return s.app.printJSON(rows)
}

// asksAtOnce is how many Web UIs are asked at the same time.
const asksAtOnce = 16

// healths asks the Web UIs of those that run; a paused one would be woken.
func (s *sandboxes) healths(ctx context.Context, all []sandbox.Sandbox) []string {
	words := make([]string, len(all))
	var wait sync.WaitGroup
	slots := make(chan struct{}, asksAtOnce)
	for i, one := range all {
		if one.State != cube.Running {
			continue
		}
		wait.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			words[i] = s.health(ctx, one)
		})
	}
	wait.Wait()
	return words
}

func (s *sandboxes) health(ctx context.Context, one sandbox.Sandbox) string {
	h, err := s.client.WebUIHealth(ctx, one)
	switch {
	case err != nil:
		return "no answer"
	case h.Problem() != "":
		return h.Problem()
	}
	return "ok"
}

func printSandboxes(out io.Writer, all []sandbox.Sandbox, health []string) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	head := "ID\tNAME\tSTATE\tHOME\tWORKSPACE\tNODE\tTEMPLATE\tAGE"
	if health != nil {
		head += "\tWEB UI"
	}
	fmt.Fprintln(table, head)
	for i, s := range all {
		row := fmt.Sprintf("%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s", printable(s.ID), printable(s.Name), stateOf(s),
			printable(s.Home), printable(s.Workspace), printable(s.Node), templateOf(s), age(s.Made()))
		if health != nil {
			row += "\t" + printable(health[i])
		}
		fmt.Fprintln(table, row)
	}
	return table.Flush()
}

func stateOf(s sandbox.Sandbox) string {
	if s.Superseded {
		return printable(s.State) + ", superseded"
	}
	return printable(s.State)
}

func templateOf(s sandbox.Sandbox) string {
	if s.Outdated {
		return printable(s.Template) + " (outdated)"
	}
	return printable(s.Template)
}

// age is how long ago something was made, in words; empty where nobody knows.
func age(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return units.HumanDuration(max(0, time.Since(t)))
}
