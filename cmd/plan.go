package cmd

import (
	"context"

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
		if err := p.look(ctx); err != nil {
			return err
		}
		if app.output == "json" {
			return app.printJSON(newPassage("planned", p.looked))
		}
		return printStages(app.out, p.looked)
	})
}
