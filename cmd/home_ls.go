package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hermesbox/hermesbox/internal/node"
	"github.com/hermesbox/hermesbox/sandbox"
)

// homeOptions are the flags of commands that look at homes.
type homeOptions struct{ node string }

func (o *homeOptions) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.node, "node", "", "configured `node` to look at (default all)")
}

func newHomeLs(app *app) *cobra.Command {
	var opts homeOptions
	cmd := &cobra.Command{
		Use:   "ls",
		Short: "List the homes of the nodes, and which sandboxes hold them",
		Long: `Ls lists what is in the directory of homes of each node, the default home too. A home is
initialised, uninitialised (it has entries but no config.yaml), empty, or unusable, which
home show explains. A sandbox that holds a home runs or is paused, as Cube has it now.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runHomeLs(cmd.Context(), app, app.out, opts)
		},
	}
	opts.AddFlags(cmd.Flags())
	return cmd
}

// listedHome is a row of home ls.
type listedHome struct {
	sandbox.Home
	Node      string   `json:"node"`
	Sandboxes []string `json:"sandboxes"` // that hold it
}

func runHomeLs(ctx context.Context, app *app, out io.Writer, opts homeOptions) error {
	s, err := app.homes(ctx, opts.node)
	if err != nil {
		return err
	}
	defer s.close()
	holders, err := s.holders(ctx)
	if err != nil {
		return sandboxFailed(err)
	}
	lists, errs := onNodes(s.client.Nodes, func(n node.Node) ([]listedHome, error) {
		found, err := sandbox.Homes(ctx, n, s.client.Layout)
		rows := make([]listedHome, 0, len(found))
		for _, h := range found {
			rows = append(rows, listedHome{h, n.Name(), titles(holders[h.ID])})
		}
		return rows, err
	})
	rows := slices.Concat(lists...)
	if len(lists) > 0 {
		err = app.printHomes(out, rows)
	}
	return errors.Join(err, partly(len(lists), errs...))
}

func (a *app) printHomes(out io.Writer, rows []listedHome) error {
	if a.output == "json" {
		return a.printJSON(append([]listedHome{}, rows...))
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "ID\tSTATE\tNODE\tMODIFIED\tSANDBOX")
	for _, r := range rows {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", printable(r.ID), r.State, printable(r.Node), modified(r.Modified), firstNames(r.Sandboxes, 3))
	}
	return table.Flush()
}

func modified(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Format(time.RFC3339)
}
