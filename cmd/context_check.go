package cmd

import (
	"bufio"
	"cmp"
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
carried faithfully. Litter is left out and does not fail, but with --strict. Where no
file is left it fails too, and the receipt has no digest.`,
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
	var empty *buildctx.EmptyError
	if errors.As(err, &empty) {
		hint := "the receipt says what was left out, and by which rule; -v lists all of it"
		return errors.Join(&failure{err: err, code: exitFailed, hint: hint}, app.printReceipt(out, empty.Receipt))
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, tree.Close()) }()
	receipt := tree.Receipt()
	if err := app.printReceipt(out, receipt); err != nil {
		return err
	}
	if strict && (litterOf(receipt) > 0 || len(receipt.Warnings) > 0) {
		return errChecks
	}
	return nil
}

// printReceipt prints a receipt, and its warnings to standard error.
func (a *app) printReceipt(out io.Writer, receipt *buildctx.Receipt) error {
	a.warnOf(receipt)
	if a.output == "json" {
		return a.printJSON(receipt)
	}
	return writeReceipt(out, receipt, a.verbose)
}

// fewExcluded is how many lines of what was left out are printed without -v.
const fewExcluded = 20

// writeReceipt is the receipt for people; warnings went to standard error.
func writeReceipt(out io.Writer, r *buildctx.Receipt, all bool) error {
	w := bufio.NewWriter(out)
	line := func(format string, args ...any) {
		_, _ = fmt.Fprintf(w, format+"\n", args...) // Flush repeats the error
	}
	line("digest    %s", cmp.Or(r.Digest, "none: there are no files"))
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
