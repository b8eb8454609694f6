package cmd

import (
	"context"
	"errors"
	"io"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/hermesbox/hermesbox/buildctx"
	"github.com/hermesbox/hermesbox/internal/config"
)

func newContextTar(app *app) *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "tar [SOURCE|-]",
		Short: "Write the context as a deterministic tar",
		Long: `Tar writes the clean context to standard output, or to a file: sorted, owner 0, no
attributes, times made from the contents. The same files give the same bytes.

A file that -o names is replaced without a question, as docker save does, and only
once the tar is whole; through a symbolic link, the file that it leads to.`,
		Example: "  hermesbox context tar . > context.tar\n  hermesbox context tar -o /tmp/context.tar .",
		Args:    maxArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runContextTar(cmd.Context(), app, app.rawOut, args, file)
		},
	}
	cmd.Flags().StringVarP(&file, "output-file", "o", "", "write to `file` instead of standard output")
	return cmd
}

func runContextTar(ctx context.Context, app *app, out io.Writer, args []string, file string) error {
	loaded, err := app.config()
	if err != nil {
		return err
	}
	src := source(args, loaded.Config)
	if file == "" {
		if err := refuseTerminal(out); err != nil {
			return err
		}
		return streamTar(ctx, app, src, loaded.Config, out)
	}
	return writeOutput(file, func(w io.Writer, written ...string) error {
		return streamTar(ctx, app, src, loaded.Config, w, written...)
	})
}

// streamTar writes the tar of a source while it is read; of a tar, after it was read.
func streamTar(ctx context.Context, app *app, src string, cfg config.Config, out io.Writer, outputs ...string) error {
	opts, err := app.treeOptions(src, cfg, outputs)
	if err != nil {
		return err
	}
	app.note("reading %s", sourceLabel(src))
	tree, err := openStream(ctx, app, src, opts, out)
	if err != nil {
		return err
	}
	app.sayTree(tree)
	return tree.Close()
}

func openStream(ctx context.Context, app *app, src string, opts buildctx.Options, out io.Writer) (*buildctx.Tree, error) {
	if src != stdinSource {
		return buildctx.Stream(ctx, src, opts, out)
	}
	tree, err := buildctx.LoadTar(ctx, app.in, opts)
	if err != nil {
		return nil, err
	}
	if err := tree.WriteTar(ctx, out); err != nil {
		return nil, errors.Join(err, tree.Close())
	}
	return tree, nil
}

func sourceLabel(src string) string {
	if src == stdinSource {
		return "a tar on standard input"
	}
	return printable(src)
}

// refuseTerminal keeps a tar off the screen.
func refuseTerminal(out io.Writer) error {
	if f, ok := out.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return usagef("a tar is not for a terminal").withHint("redirect standard output, or name a file with -o")
	}
	return nil
}
