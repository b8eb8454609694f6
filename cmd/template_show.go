package cmd

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/hermesbox/hermesbox/template"
)

// shownTemplate is what template show prints as JSON.
type shownTemplate struct {
	template.Template
	Words []string `json:"egress_words"` // the policy in words, a sentence each
}

func newTemplateShow(app *app) *cobra.Command {
	return &cobra.Command{
		Use:   "show TEMPLATE",
		Short: "Show what a template is made of and what its sandboxes may reach",
		Long: `Show prints what Cube tells of a template, and explains in words what sandboxes made
from it can reach. What a sandbox cannot take back is marked as fixed: Cube adds a
sandbox's own networks to the template's, and never removes one.`,
		Args: oneArg("one template id"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runTemplateShow(cmd.Context(), app, app.out, args[0])
		},
	}
}

func runTemplateShow(ctx context.Context, app *app, out io.Writer, id string) error {
	client, link, err := app.templates(ctx)
	if err != nil {
		return err
	}
	defer link.Close()
	t, err := client.Get(ctx, id)
	if err != nil {
		return cubeFailed(err)
	}
	shown := shownTemplate{t, []string{}}
	if t.Known {
		shown.Words = t.Egress.Words()
	}
	if app.output == "json" {
		return app.printJSON(shown)
	}
	return printTemplate(out, shown)
}

func printTemplate(out io.Writer, t shownTemplate) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	row := func(name, value string) {
		if value != "" {
			fmt.Fprintf(table, "%s\t%s\n", name, value)
		}
	}
	row("id", printable(t.ID))
	row("name", printable(t.Name))
	row("image", printable(t.Image))
	row("status", printable(t.Status))
	row("created", t.CreatedAt)
	row("error", printable(t.LastError))
	row("job", printable(t.Job))
	row("spec", printable(t.Spec))
	row("ports", joined(t.Ports))
	row("probe", printable(t.Probe))
	row("cpu", printable(t.CPU))
	row("memory", printable(t.Memory))
	row("writable", printable(t.Size))
	row("dns", printable(joined(t.DNS)))
	for _, r := range t.Replicas {
		row("node", printable(fmt.Sprintf("%s %s %s %s", r.NodeID, r.NodeIP, r.Status, r.ErrorMessage)))
	}
	if !t.Known {
		row("egress", "not known: Cube does not tell what this template was made with")
	}
	for _, sentence := range t.Words {
		row("egress", printable(sentence))
	}
	return table.Flush()
}
