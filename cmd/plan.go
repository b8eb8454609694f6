package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/hermesbox/hermesbox/image"
	"github.com/hermesbox/hermesbox/template"
)

func newPlan(app *app) *cobra.Command {
	var opts upOptions
	cmd := &cobra.Command{
		Use:   "plan [SOURCE|-]",
		Short: "Say what up would do, stage by stage, and why",
		Long: `Plan looks at the source, the Engine's image and the cluster's templates as up does, and
prints for each stage what up would do and why. It changes nothing, hermesbox.lock
included, and starts no local Cube.`,
		Example: "  hermesbox plan --cube local ~/src/hermes-agent",
		Args:    maxArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runPlan(cmd.Context(), app, app.out, args, opts)
		},
	}
	opts.AddFlags(cmd.Flags())
	return cmd
}

func runPlan(ctx context.Context, app *app, out io.Writer, args []string, opts upOptions) (err error) {
	p, err := newPipeline(app, opts)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	if err := p.open(ctx, args); err != nil {
		return err
	}
	if opts.reaches(stageImage) {
		if err := p.plan(ctx); err != nil {
			return err
		}
	}
	if app.output == "json" {
		return app.printJSON(p.done)
	}
	return printStages(out, p.done)
}

// plan looks at the stages after the context.
func (p *pipeline) plan(ctx context.Context) error {
	if err := p.peekBase(ctx); err != nil {
		return err
	}
	img, ok, reason, err := p.current(ctx)
	if err != nil {
		return err
	}
	planned := stage{stageImage, actionNone, unchanged(img), ""}
	switch {
	case !ok:
		planned.Action, planned.Reason = actionBuild, reason
	case p.loaded.Config.Image.Push && img.Digest == "":
		planned.Action, planned.Reason = actionPush, "the registry does not have it"
	default:
		planned.Result = img.Ref()
	}
	p.record(planned)
	if !p.opts.reaches(stageTemplate) {
		return nil
	}
	if planned.Action != actionNone {
		p.record(stage{stageTemplate, actionRegister, "its image is new", ""})
		return nil
	}
	return p.planTemplate(ctx, img)
}

// planTemplate looks for the template of an image that is there.
func (p *pipeline) planTemplate(ctx context.Context, img image.Image) (err error) {
	if p.wanted.Image, err = template.Reference(img, p.place()); err != nil {
		return cubeFailed(err)
	}
	link, err := p.app.openCube(ctx, p.loaded.Config.Cube, p.local, false)
	if notRunning(err) {
		p.record(stage{stageTemplate, actionRegister, "no local Cube runs: up starts one", ""})
		return nil
	}
	if err != nil {
		return err
	}
	defer link.Close()
	found, ok, reason, err := p.app.templateClient(link).Find(ctx, p.wanted)
	switch {
	case err != nil:
		return cubeFailed(err)
	case ok:
		p.record(stage{stageTemplate, actionNone, "it is READY with this image and these settings", found.ID})
	default:
		p.record(stage{stageTemplate, actionRegister, reason, ""})
	}
	return nil
}

func printStages(out io.Writer, all []stage) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "STAGE\tACTION\tRESULT\tREASON")
	for _, s := range all {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", s.Stage, s.Action, firstOf(s.Result, "-"), printable(s.Reason))
	}
	return table.Flush()
}

// firstOf is value, or what stands for none.
func firstOf(value, none string) string {
	if value == "" {
		return none
	}
	return value
}
