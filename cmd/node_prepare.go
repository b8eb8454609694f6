package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/hermesbox/hermesbox/internal/node"
)

func newNodePrepare(app *app) *cobra.Command {
	return &cobra.Command{
		Use:   "prepare [NODE…]",
		Short: "Make the directories for homes, workspaces and skills",
		Long: `Prepare makes the shared root and the directories for homes, workspaces and public skills
on all nodes at once, or on those named. What exists is left as it is, whoever owns it, and
no link is followed. It prints what was made and what was there.`,
		Example: "  hermesbox node prepare\n  hermesbox node prepare node-1 node-2",
		RunE: func(cmd *cobra.Command, args []string) error {
			return runNodePrepare(cmd.Context(), app, app.out, args)
		},
	}
}

// preparedNode is a node after prepare.
type preparedNode struct {
	Node  string          `json:"node"`
	Dirs  []node.Prepared `json:"dirs"`
	Error string          `json:"error,omitempty"`
}

func runNodePrepare(ctx context.Context, app *app, out io.Writer, names []string) (err error) {
	f, err := app.fleet(ctx, names)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.close()) }()
	done, errs := make([]preparedNode, len(f.nodes)), make([]error, len(f.nodes))
	f.each(func(i int, n node.Node) {
		dirs, err := node.Prepare(ctx, n, nodeDirs(f.layout()))
		done[i], errs[i] = preparedNode{Node: n.Name(), Dirs: append([]node.Prepared{}, dirs...)}, err
		if err != nil {
			done[i].Error = err.Error()
		}
	})
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if app.output == "json" {
		err = app.printJSON(done)
	} else {
		err = printPrepared(out, done)
	}
	if err != nil {
		return err
	}
	return nodesFailed(errs, anyWell(errs))
}

// anyWell tells whether something went well.
func anyWell(errs []error) bool {
	for _, err := range errs {
		if err == nil {
			return true
		}
	}
	return false
}

func printPrepared(out io.Writer, done []preparedNode) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, d := range done {
		for _, dir := range d.Dirs {
			fmt.Fprintf(table, "%s\t%s\t%s\n", d.Node, dir.Action, printable(dir.Path))
		}
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("writing output: %w", err)
	}
	return nil
}
