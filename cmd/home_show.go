package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/docker/go-units"
	"github.com/spf13/cobra"

	"github.com/hermesbox/hermesbox/internal/node"
	"github.com/hermesbox/hermesbox/sandbox"
)

func newHomeShow(app *app) *cobra.Command {
	var opts homeOptions
	cmd := &cobra.Command{
		Use:   "show HOME",
		Short: "Show one home: its state, size and who holds it",
		Long: `Show tells of a home on each node that has it, and whether its config.yaml can be read.
HOME is a home-id, or default for the home that others are made from.`,
		Args: oneArg("one home-id"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runHomeShow(cmd.Context(), app, app.out, args[0], opts)
		},
	}
	opts.AddFlags(cmd.Flags())
	return cmd
}

// shownHome is a home on one node.
type shownHome struct {
	sandbox.HomeDetail
	Node      string   `json:"node"`
	Path      string   `json:"path"`
	Sandboxes []string `json:"sandboxes"` // that hold it
}

func runHomeShow(ctx context.Context, app *app, out io.Writer, id string, opts homeOptions) error {
	if id != sandbox.DefaultHome {
		if err := checkHome(id); err != nil {
			return err
		}
	}
	s, err := app.homes(ctx, opts.node)
	if err != nil {
		return err
	}
	defer s.close()
	holders, err := s.holders(ctx)
	if err != nil {
		return sandboxFailed(err)
	}
	found, errs := onNodes(s.client.Nodes, func(n node.Node) (shownHome, error) {
		d, err := sandbox.ShowHome(ctx, n, s.client.Layout, id)
		return shownHome{d, n.Name(), s.client.Layout.Home(id), titles(holders[id])}, err
	})
	shown := []shownHome{}
	for _, h := range found {
		if h.State != sandbox.Absent {
			shown = append(shown, h)
		}
	}
	if len(shown) == 0 && len(errs) == 0 {
		return &failure{err: fmt.Errorf("there is no home %s", id), code: exitFailed, hint: app.again() + " home ls lists what there is"}
	}
	if len(shown) > 0 {
		err = app.printShown(out, shown)
	}
	return errors.Join(err, partly(len(shown), errs...))
}

func (a *app) printShown(out io.Writer, shown []shownHome) error {
	if a.output == "json" {
		return a.printJSON(shown)
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for i, h := range shown {
		if i > 0 {
			fmt.Fprintln(table)
		}
		for _, row := range h.rows() {
			if row[1] != "" {
				fmt.Fprintf(table, "%s\t%s\n", row[0], row[1])
			}
		}
	}
	return table.Flush()
}

// rows are what people read of a home; an empty one is not shown.
func (h shownHome) rows() [][2]string {
	rows := [][2]string{
		{"id", h.ID},
		{"node", printable(h.Node)},
		{"path", printable(h.Path)},
		{"state", string(h.State)},
		{"problem", printable(h.Problem)},
		{"entries", firstNames(h.Entries, 20)},
		{"modified", modified(h.Modified)},
	}
	if h.Size >= 0 {
		rows = append(rows, [2]string{"size", units.HumanSize(float64(h.Size))})
	}
	if h.State == sandbox.Initialised {
		config := "can be read"
		if h.Config != "" {
			config = printable(h.Config)
		}
		rows = append(rows, [2]string{"config.yaml", config})
	}
	return append(rows, [2]string{"sandboxes", firstNames(h.Sandboxes, 20)})
}
