package cmd

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/hermesbox/hermesbox/internal/check"
)

// diagnosis is what doctor prints as JSON.
type diagnosis struct {
	Status check.Status  `json:"status"`
	Checks []check.Check `json:"checks"`
}

func newDoctor(app *app) *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Look at everything that hermesbox needs, and say what is missing",
		Long: `Doctor looks at the whole chain: Docker, its BuildKit, the platform, the base image and the
disk; the Cube of the configuration, whether it lets us in, its version and its clock; the
name and the proxy by which sandboxes are reached; each node; the public skills; a browser.
What is not configured is skipped. Each finding says what to do. It changes nothing and
exits 3 where something is missing.`,
		Example: "  hermesbox doctor\n  hermesbox --cube local doctor --output json",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runDoctor(cmd.Context(), app, app.out)
		},
	}
}

func runDoctor(ctx context.Context, app *app, out io.Writer) error {
	loaded, err := app.config()
	if err != nil {
		return err
	}
	spec, err := doctorSpec(loaded)
	if err != nil {
		return err
	}
	checks, err := examine(ctx, app, loaded.Config.Image.Builder, spec)
	if err != nil {
		return err
	}
	checks = append(checks, app.examineCube(ctx, loaded.Config)...)
	checks = append(checks, examineSkills(loaded), app.examineBrowser())
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	found := diagnosis{Status: check.Worst(checks), Checks: checks}
	if app.output == "json" {
		err = app.printJSON(found)
	} else {
		err = printChecks(out, visibleChecks(checks))
	}
	if err == nil && found.Status == check.Fail {
		return errChecks
	}
	return err
}
