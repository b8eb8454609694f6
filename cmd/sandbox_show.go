package cmd

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/hermesbox/hermesbox/sandbox"
)

// shownSandbox is what sandbox show prints as JSON.
type shownSandbox struct {
	sandbox.Sandbox
	Mounts    []sandbox.Mount `json:"mounts"` // from the record on the node; empty where it is not known
	URL       string          `json:"url"`
	CreatedAt string          `json:"created_at"` // RFC 3339
}

func newSandboxShow(app *app) *cobra.Command {
	return &cobra.Command{
		Use:   "show SANDBOX",
		Short: "Show what is known of a sandbox",
		Long: `Show prints what Cube tells of a sandbox, its mounts from the record on its node, and the
address of its Web UI, without the token.`,
		Args: oneArg("one sandbox, by name or id"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runSandboxShow(cmd.Context(), app, app.out, args[0])
		},
	}
}

func runSandboxShow(ctx context.Context, app *app, out io.Writer, nameOrID string) error {
	s, err := app.sandboxes(ctx)
	if err != nil {
		return err
	}
	defer s.close()
	if err := s.knowLatest(ctx, s.cfg.Template.Name); err != nil {
		return err
	}
	found, err := s.find(ctx, nameOrID)
	if err != nil {
		return err
	}
	if found, err = s.client.Show(ctx, found); err != nil {
		return sandboxFailed(err)
	}
	shown := shownSandbox{Sandbox: found, Mounts: found.Mounts, URL: s.client.Route.WebUI(found)}
	if shown.Mounts == nil {
		shown.Mounts = []sandbox.Mount{}
	}
	if made := found.Made(); !made.IsZero() {
		shown.CreatedAt = made.UTC().Format(time.RFC3339)
	}
	if app.output == "json" {
		return app.printJSON(shown)
	}
	return printSandbox(out, shown)
}

func printSandbox(out io.Writer, s shownSandbox) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	row := func(name, value string) {
		if value != "" {
			fmt.Fprintf(table, "%s\t%s\n", name, value)
		}
	}
	row("id", printable(s.ID))
	row("name", printable(s.Name))
	row("state", stateOf(s.Sandbox))
	row("home", printable(s.Home))
	row("workspace", printable(s.Workspace))
	row("node", printable(s.Node))
	row("template", templateOf(s.Sandbox))
	row("created", s.CreatedAt)
	for _, m := range s.Mounts {
		mode := "read-write"
		if m.ReadOnly {
			mode = "read-only"
		}
		row("mount", printable(fmt.Sprintf("%s from %s, %s", m.MountPath, m.HostPath, mode)))
	}
	row("url", printable(s.URL))
	return table.Flush()
}
