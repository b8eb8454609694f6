package cmd

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/hermesbox/hermesbox/sandbox"
)

func newSandboxURL(app *app) *cobra.Command {
	var withToken bool
	cmd := &cobra.Command{
		Use:   "url SANDBOX",
		Short: "Print the address of a sandbox's Web UI",
		Long: `Url prints the address of the Web UI. The token, which opens it and a root shell in the
sandbox to whoever has it, is printed with --with-token only.`,
		Args: oneArg("one sandbox, by name or id"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runSandboxURL(cmd.Context(), app, args[0], withToken)
		},
	}
	cmd.Flags().BoolVar(&withToken, "with-token", false, "print the token too")
	return cmd
}

func runSandboxURL(ctx context.Context, app *app, nameOrID string, withToken bool) error {
	t, err := app.target(ctx, nameOrID)
	if err != nil {
		return err
	}
	defer t.close()
	if !withToken {
		return app.printURL(app.out, t.client.Route.WebUI(t.Sandbox))
	}
	address, token, err := t.webUI(ctx)
	if err != nil {
		return err
	}
	// The one place that reveals it: not through the stream that masks.
	return app.printURL(app.rawOut, sandbox.TokenURL(address, token))
}

func (a *app) printURL(out io.Writer, address string) error {
	line := []byte(visible(address))
	if a.output == "json" {
		var err error
		if line, err = json.Marshal(map[string]string{"url": address}); err != nil {
			return fmt.Errorf("writing output: %w", err)
		}
	}
	if _, err := fmt.Fprintf(out, "%s\n", line); err != nil {
		return fmt.Errorf("writing output: %w", err)
	}
	return nil
}
