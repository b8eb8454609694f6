package cmd

import (
	"bufio"
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/hermesbox/hermesbox/buildctx"
)

func newContextClean(app *app) *cobra.Command {
	return &cobra.Command{
		Use:   "clean [-]",
		Short: "Rewrite a tar from standard input without litter",
		Long: `Clean copies a tar, plain or gzip, from standard input to standard output without
litter members and without the attribute records that macOS's tar adds. Everything
else of the members is kept. The output is not compressed.`,
		Example: "  hermesbox context clean < from-a-mac.tar > clean.tar",
		Args:    cleanArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runContextClean(cmd.Context(), app, app.rawOut)
		},
	}
}

func cleanArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 && args[0] != stdinSource {
		return usagef("%s reads standard input, not %q", cmd.CommandPath(), args[0]).
			withHint("redirect a tar to it; for a directory there is hermesbox context tar")
	}
	return maxArgs(1)(cmd, args)
}

func runContextClean(ctx context.Context, app *app, out io.Writer) error {
	if err := refuseTerminal(out); err != nil {
		return err
	}
	w := bufio.NewWriterSize(out, 64<<10)
	receipt, err := buildctx.CleanTar(ctx, app.in, w)
	if err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("writing the tar: %w", err)
	}
	app.warnOf(receipt)
	for _, e := range receipt.Excluded {
		if app.verbose {
			app.note("left out %s", printable(e.Path))
		}
	}
	app.note("kept %d files, %d directories, %d links; left out %d", receipt.Files, receipt.Dirs, receipt.Links, len(receipt.Excluded))
	return nil
}
