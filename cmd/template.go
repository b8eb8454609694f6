package cmd

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/hermesbox/hermesbox/internal/cube"
	"github.com/hermesbox/hermesbox/template"
)

func newTemplate(app *app) *cobra.Command {
	return newGroup("template", "Register images as Cube templates, and look after those",
		newTemplateCreate(app), newTemplateLs(app), newTemplateShow(app), newTemplateWatch(app), newTemplateDelete(app), newTemplateLint(app))
}

// templates is the client of a command that looks at templates. An own local
// Cube is not started for a look.
func (a *app) templates(ctx context.Context) (*template.Client, *connected, error) {
	loaded, err := a.config()
	if err != nil {
		return nil, nil, err
	}
	local, err := a.pickCube(loaded.Config.Cube)
	if err != nil {
		return nil, nil, err
	}
	link, err := a.openCube(ctx, loaded.Config.Cube, local, false)
	if err != nil {
		return nil, nil, err
	}
	return a.templateClient(link), link, nil
}

func (a *app) templateClient(link *connected) *template.Client {
	return &template.Client{Cube: link.Client, Note: a.note, Progress: a.sayJob}
}

// sayJob tells how far a job is.
func (a *app) sayJob(j cube.Job) {
	line := fmt.Sprintf("template %s: %s %d%%", printable(j.TemplateID), printable(firstWord(j.Phase, j.Status)), j.Progress)
	if j.ExpectedNodeCount > 0 {
		line += fmt.Sprintf(", %d of %d nodes ready", j.ReadyNodeCount, j.ExpectedNodeCount)
	}
	if j.FailedNodeCount > 0 {
		line += fmt.Sprintf(", %d failed", j.FailedNodeCount)
	}
	a.note("%s", line)
}

func firstWord(words ...string) string {
	for _, w := range words {
		if w != "" {
			return w
		}
	}
	return "unknown"
}

func newTemplateLs(app *app) *cobra.Command {
	return &cobra.Command{
		Use:   "ls",
		Short: "List the templates of the cluster, the newest first",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runTemplateLs(cmd.Context(), app, app.out)
		},
	}
}

func runTemplateLs(ctx context.Context, app *app, out io.Writer) error {
	client, link, err := app.templates(ctx)
	if err != nil {
		return err
	}
	defer link.Close()
	all, err := client.List(ctx)
	if err != nil {
		return cubeFailed(err)
	}
	if app.output == "json" {
		return app.printJSON(all)
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "ID\tNAME\tIMAGE\tSTATUS\tCREATED")
	for _, t := range all {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", printable(t.ID), printable(t.Name), printable(t.Image), printable(t.Status), t.CreatedAt)
	}
	return table.Flush()
}

func newTemplateWatch(app *app) *cobra.Command {
	var job string
	cmd := &cobra.Command{
		Use:   "watch TEMPLATE",
		Short: "Wait until a template is READY",
		Long:  "Watch follows the job that makes a template, with phase, percentage and nodes, and prints the template's id once it is READY. It exits 1 where the job fails.",
		Args:  oneArg("one template id"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := refuseEmpty(cmd.Flags(), "job-id"); err != nil {
				return err
			}
			return runTemplateWatch(cmd.Context(), app, app.out, args[0], job)
		},
	}
	cmd.Flags().StringVar(&job, "job-id", "", "`job` to follow (default: the template's last)")
	return cmd
}

func runTemplateWatch(ctx context.Context, app *app, out io.Writer, id, job string) error {
	client, link, err := app.templates(ctx)
	if err != nil {
		return err
	}
	defer link.Close()
	if err := client.Watch(ctx, id, job); err != nil {
		return cubeFailed(err)
	}
	if app.output == "json" {
		return app.printJSON(map[string]string{"id": id, "status": cube.StatusReady})
	}
	_, err = fmt.Fprintln(out, id)
	return err
}

// joined is a list for people.
func joined[T any](list []T) string {
	words := make([]string, 0, len(list))
	for _, v := range list {
		words = append(words, fmt.Sprint(v))
	}
	return strings.Join(words, ", ")
}
