package cmd

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/hermesbox/hermesbox/buildctx"
)

func newContextCheck(app *app) *cobra.Command {
	var strict bool
	cmd := &cobra.Command{
		Use:   "check [SOURCE|-]",
		Short: "Hash the context and print the receipt",
		Long: `Check reads and hashes the whole source and prints what is in the context, what is
left out and by which rule, and what looks odd. It fails where something cannot be
carried faithfully. Litter is left out and does not fail, but with --strict.`,
		Example: "  hermesbox context check\n  hermesbox context check --output json . | jq .digest",
		Args:    maxArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runContextCheck(cmd.Context(), app, app.out, args, strict)
		},
	}
	cmd.Flags().BoolVar(&strict, "strict", false, "exit 3 where the source has litter or something to warn of")
	return cmd
}

func runContextCheck(ctx context.Context, app *app, out io.Writer, args []string, strict bool) (err error) {
	loaded, err := app.config()
	if err != nil {
		return err
	}
	tree, err := app.loadTree(ctx, source(args, loaded.Config), loaded.Config)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, tree.Close()) }()
	receipt := tree.Receipt()
	app.warnOf(receipt)
	if app.output == "json" {
		err = app.printJSON(receipt)
	} else {
		err = printReceipt(out, receipt, app.verbose)
	}
	if err != nil {
		return err
	}
	if strict && (litterOf(receipt) > 0 || len(receipt.Warnings) > 0) {
		return errChecks
	}
	return nil
}

// fewExcluded is how many lines of what was left out are printed without -v.
const fewExcluded = 20

// printReceipt is the receipt for people; warnings went to standard error.
func printReceipt(out io.Writer, r *buildctx.Receipt, all bool) error {
	w := bufio.NewWriter(out)
	line := func(format string, args ...any) {
		_, _ = fmt.Fprintf(w, format+"\n", args...) // Flush repeats the error
	}
	line("digest    %s", r.Digest)
	line("entries   %d files, %d directories, %d links, %d bytes", r.Files, r.Dirs, r.Links, r.Bytes)
	line("left out  %d, of which %d litter", len(r.Excluded), litterOf(r))
	for i, e := range r.Excluded {
		if i == fewExcluded && !all {
			line("          and %d more; -v lists them, --output json has them all", len(r.Excluded)-i)
			break
		}
		line("          %s (%s, %s)", printable(e.Path), e.Kind, printable(e.Rule))
	}
	line("warnings  %d", len(r.Warnings))
	line("largest")
	for _, l := range r.Largest {
		line("%9d %s", l.Bytes, printable(l.Path))
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("writing the receipt: %w", err)
	}
	return nil
}
