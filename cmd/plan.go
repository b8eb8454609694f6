package cmd

import (
	"context"
	"errors"

	"github.com/spf13/cobra"
)

func newPlan(app *app) *cobra.Command {
	return onPipeline(app, &cobra.Command{
		Use:   "plan [SOURCE|-]",
		Short: "Say what up would do, stage by stage, and why",
		Long: `Plan looks at the source, the Engine's image, the cluster's templates and the nodes' default
homes as up does, and prints for each stage what up would do and why. It changes nothing,
hermesbox.lock included, and starts no local Cube.`,
		Example: "  hermesbox plan --cube local ~/src/hermes-agent",
	}, func(ctx context.Context, p *pipeline) error {
		status, err := "planned", p.look(ctx)
		if err != nil {
			status = statusFailed
		} else {
			err = p.blind
		}
		if app.output == "json" {
			return errors.Join(app.printJSON(newPassage(status, p.looked)), err)
		}
		return errors.Join(printStages(app.out, p.looked), err)
	})
}
