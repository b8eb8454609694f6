package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/hermesbox/hermesbox/image"
	"github.com/hermesbox/hermesbox/template"
)

func newUp(app *app) *cobra.Command {
	var opts upOptions
	cmd := &cobra.Command{
		Use:   "up [SOURCE|-]",
		Short: "Take a Hermes Agent checkout to a template, doing only what changed",
		Long: `Up makes the clean context of SOURCE, builds the image where context or recipe changed,
pushes it where image.push says so, and registers it as a template where image or settings
changed. It prints what the last stage made or found: the template id, or with --until the
image or the context's digest. Run again with nothing changed it does nothing, and says so.`,
		Example: "  hermesbox up --cube local ~/src/hermes-agent\n  hermesbox up --until image",
		Args:    maxArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runUp(cmd.Context(), app, app.out, args, opts)
		},
	}
	opts.AddFlags(cmd.Flags())
	return cmd
}

func runUp(ctx context.Context, app *app, out io.Writer, args []string, opts upOptions) (err error) {
	p, err := newPipeline(app, opts)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	if err := p.open(ctx, args); err != nil {
		return err
	}
	if opts.reaches(stageImage) {
		if err := p.up(ctx); err != nil {
			return err
		}
	}
	if opts.reaches(stageImage) && p.nothing() {
		app.note("nothing changed, nothing was done")
	}
	if app.output == "json" {
		return app.printJSON(p.done)
	}
	if _, err := fmt.Fprintln(out, p.result()); err != nil {
		return fmt.Errorf("writing output: %w", err)
	}
	return nil
}

// up does the stages after the context. Where a template is wanted, no other
// run does so at the same time: the second finds what the first has made.
func (p *pipeline) up(ctx context.Context) (err error) {
	if !p.opts.reaches(stageTemplate) {
		_, err := p.makeImage(ctx)
		return err
	}
	held, err := p.app.lockTemplate(ctx, p.loaded.Config, p.local)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, held.Close()) }()
	img, err := p.makeImage(ctx)
	if err != nil {
		return err
	}
	return p.makeTemplate(ctx, held, img)
}

// makeImage builds and pushes what is not there yet.
func (p *pipeline) makeImage(ctx context.Context) (image.Image, error) {
	if err := resolveBase(ctx, p.app, p.engine, &p.image, p.loaded, p.opts.build); err != nil {
		return image.Image{}, err
	}
	img, ok, reason, err := p.current(ctx)
	if err != nil {
		return img, err
	}
	did := stage{stageImage, actionNone, unchanged(img), ""}
	if ok {
		p.app.note("%s; it is not built", did.Reason)
	} else {
		p.app.note("building %s: %s", p.image.Tags[0], reason)
		did.Action, did.Reason = actionBuild, reason
		builder := image.Builder{Engine: p.engine, Progress: p.app.display(), Mode: p.app.progress, Note: p.app.note, Secrets: p.app.secrets}
		if img, err = builder.Build(ctx, p.image); err != nil {
			return img, err
		}
	}
	if p.loaded.Config.Image.Push && img.Digest == "" {
		if ok {
			did.Action, did.Reason = actionPush, "the registry does not have it"
		}
		if img, err = p.engine.Push(ctx, img, p.image.Tags, p.app.pushProgress()); err != nil {
			return img, err
		}
	}
	did.Result = img.Ref()
	p.record(did)
	return img, nil
}

// makeTemplate registers the image where no template has it.
func (p *pipeline) makeTemplate(ctx context.Context, held *template.Held, img image.Image) (err error) {
	if p.wanted.Image, err = referTo(ctx, p.app, p.engine, img, p.loaded.Config, p.local); err != nil {
		return err
	}
	done, err := p.app.register(ctx, p.loaded.Config.Cube, held, p.wanted, registerOptions{local: p.local})
	if err != nil {
		return err
	}
	did := stage{stageTemplate, actionNone, "it is READY with this image and these settings", done.ID}
	switch {
	case done.Made:
		did.Action, did.Reason = actionRegister, done.Reason
	case done.Job != "":
		did.Reason = done.Reason
	}
	p.record(did)
	return nil
}
