package cmd

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/hermesbox/hermesbox/buildctx"
	"github.com/hermesbox/hermesbox/internal/config"
)

func newContextExplain(app *app) *cobra.Command {
	return &cobra.Command{
		Use:   "explain PATH [SOURCE|-]",
		Short: "Name the rule that decides for one path",
		Long: `Explain says whether one path of the source is in the context, and which rule decided:
litter, look-alike, local, socket, output, or the line of the ignore file.`,
		Example: "  hermesbox context explain tools/._model.py",
		Args:    explainArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runContextExplain(cmd.Context(), app, app.out, args)
		},
	}
}

func explainArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 || args[0] == "" {
		return usagef("%s wants a path of the source", cmd.CommandPath()).withHint("see %s --help", cmd.CommandPath())
	}
	return maxArgs(2)(cmd, args)
}

func runContextExplain(ctx context.Context, app *app, out io.Writer, args []string) error {
	loaded, err := app.config()
	if err != nil {
		return err
	}
	decision, err := explainPathIn(ctx, app, args[0], source(args[1:], loaded.Config), loaded.Config)
	if err != nil {
		return err
	}
	if app.output == "json" {
		return app.printJSON(decision)
	}
	if _, err := fmt.Fprintf(out, "%s %s\n", printable(decision.Path), printable(decision.Detail)); err != nil {
		return fmt.Errorf("writing the answer: %w", err)
	}
	return nil
}

func explainPathIn(ctx context.Context, app *app, path, src string, cfg config.Config) (buildctx.Decision, error) {
	opts, err := app.treeOptions(src, cfg, nil)
	if err != nil {
		return buildctx.Decision{}, err
	}
	if src == stdinSource {
		return buildctx.ExplainTar(ctx, app.in, path, opts)
	}
	return buildctx.Explain(ctx, src, path, opts)
}
