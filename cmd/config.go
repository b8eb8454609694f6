package cmd

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

func newConfig(app *app) *cobra.Command {
	return newGroup("config", "Look at the configuration", newConfigShow(app))
}

func newConfigShow(app *app) *cobra.Command {
	return &cobra.Command{
		Use:   "show",
		Short: "Print every setting and where its value comes from",
		Long: "Show prints what the defaults, hermesbox.yaml, the environment and the flags come to, and which of them gave each value. " +
			"Secrets are masked. With --output json it prints a list of key, value and origin.",
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			return runConfigShow(app, app.out)
		},
	}
}

func runConfigShow(app *app, out io.Writer) error {
	loaded, err := app.config()
	if err != nil {
		return err
	}
	show := loaded.Show
	if app.output == "json" {
		show = loaded.ShowJSON
	}
	if err := show(out); err != nil {
		return fmt.Errorf("writing output: %w", err)
	}
	return nil
}
