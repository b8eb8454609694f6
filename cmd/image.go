package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/hermesbox/hermesbox/image"
	"github.com/hermesbox/hermesbox/internal/check"
)

func newImage(app *app) *cobra.Command {
	return newGroup("image", "Look at and test images", newImageInspect(app), newImageTest(app))
}

func newImageInspect(app *app) *cobra.Command {
	return &cobra.Command{
		Use:   "inspect REF",
		Short: "Show what an image is made of",
		Args:  oneArg("one image name or ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runImageInspect(cmd.Context(), app, app.out, args[0])
		},
	}
}

func runImageInspect(ctx context.Context, app *app, out io.Writer, ref string) (err error) {
	engine, err := openEngine(ctx, app)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, engine.Close()) }()
	details, err := engine.Details(ctx, ref)
	if err != nil {
		return err
	}
	if app.output == "json" {
		return app.printJSON(details)
	}
	return printDetails(out, details)
}

func printDetails(out io.Writer, d image.Details) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	row := func(name, value string) { fmt.Fprintf(table, "%s\t%s\n", name, value) }
	row("name", d.Name)
	row("id", d.ID)
	row("platform", d.Platform)
	row("size", fmt.Sprintf("%.1f MB", float64(d.Size)/1e6))
	row("created", d.Created)
	row("entrypoint", strings.Join(append(slices.Clone(d.Entrypoint), d.Cmd...), " "))
	row("user", d.User)
	row("ports", strings.Join(d.ExposedPorts, ", "))
	names := make([]string, 0, len(d.Labels))
	for name := range d.Labels {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		row(name, d.Labels[name])
	}
	return table.Flush()
}

// openEngine connects to the Engine of the configuration.
func openEngine(ctx context.Context, app *app) (*image.Engine, error) {
	loaded, err := app.config()
	if err != nil {
		return nil, err
	}
	if builder := loaded.Config.Image.Builder; isBuildkitd(builder) {
		return nil, usagef("builder %q: a bare buildkitd keeps no images", builder).
			withHint("set image.builder to docker, or to ssh://host for the Engine of another machine, and pull the image there")
	}
	return connect(ctx, app, loaded.Config.Image.Builder)
}

func newImageTest(app *app) *cobra.Command {
	return &cobra.Command{
		Use:   "test REF",
		Short: "Start an image and check that all it is made for works",
		Long: `Test makes two containers of the image without a network, checks what is in them
and what they answer, and removes them. It exits 3 where a check fails.`,
		Args: oneArg("one image name or ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runImageTest(cmd.Context(), app, app.out, args[0])
		},
	}
}

func runImageTest(ctx context.Context, app *app, out io.Writer, ref string) (err error) {
	engine, err := openEngine(ctx, app)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, engine.Close()) }()
	app.note("testing %s", ref)
	report, err := engine.Test(ctx, ref)
	if err != nil {
		return err
	}
	if app.output == "json" {
		err = app.printJSON(report)
	} else {
		err = printChecks(out, report.Checks)
	}
	if err == nil && report.Status == check.Fail {
		return errChecks
	}
	return err
}

// printChecks shows a report for people: a line a check, with the remedy below where there is one.
func printChecks(out io.Writer, checks []check.Check) error {
	width := 0
	for _, c := range checks {
		width = max(width, len(c.ID))
	}
	for _, c := range checks {
		line := fmt.Sprintf("%-4s  %-*s  %s\n", c.Status, width, c.ID, c.Evidence)
		if c.Remedy != "" {
			line += fmt.Sprintf("%-4s  %-*s  → %s\n", "", width, "", c.Remedy)
		}
		if _, err := io.WriteString(out, line); err != nil {
			return fmt.Errorf("writing output: %w", err)
		}
	}
	return nil
}
