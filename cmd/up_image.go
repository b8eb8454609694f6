package cmd

import (
	"context"
	"errors"

	"github.com/hermesbox/hermesbox/image"
)

// makeImage builds and pushes what is not there yet. Where a template is
// wanted, no other run on this machine does so at the same time: the second
// finds what the first has made.
func (p *pipeline) makeImage(ctx context.Context) (did stage, err error) {
	if p.opts.reaches(stageTemplate) {
		if p.held, err = p.app.lockTemplate(ctx, p.loaded.Config, p.local); err != nil {
			return did, err
		}
	}
	if err := resolveBase(ctx, p.app, p.engine, &p.image, p.loaded, p.opts.build); err != nil {
		return did, err
	}
	img, ok, reason, err := p.current(ctx)
	if err != nil {
		return did, err
	}
	did = stage{stageImage, actionNone, unchanged(img), ""}
	if ok {
		p.app.note("%s; it is not built", did.Reason)
	} else {
		p.app.note("building %s: %s", p.image.Tags[0], reason)
		did.Action, did.Reason = actionBuild, reason
		builder := image.Builder{Engine: p.engine, Progress: p.app.display(), Mode: p.app.progress, Note: p.app.note, Secrets: p.app.secrets}
		if img, err = builder.Build(ctx, p.image); err != nil {
			return did, err
		}
	}
	if p.loaded.Config.Image.Push && img.Digest == "" {
		if ok {
			did.Action, did.Reason = actionPush, reasonUnpushed
		}
		if img, err = p.engine.Push(ctx, img, p.image.Tags, p.app.pushProgress()); err != nil {
			return did, err
		}
	}
	p.built, did.Result = img, img.Ref()
	return did, nil
}

// makeTemplate registers the image where no template has it.
func (p *pipeline) makeTemplate(ctx context.Context) (did stage, err error) {
	defer func() { err = errors.Join(err, p.unlock()) }()
	if p.wanted.Image, err = referTo(ctx, p.app, p.engine, p.built, p.loaded.Config, p.local); err != nil {
		return did, err
	}
	made, err := p.app.register(ctx, p.loaded.Config.Cube, p.held, p.wanted, registerOptions{local: p.local})
	if err != nil {
		return did, err
	}
	did = stage{stageTemplate, actionNone, reasonReady, made.ID}
	switch {
	case made.Made:
		did.Action, did.Reason = actionRegister, made.Reason
	case made.Job != "":
		did.Reason = made.Reason
	}
	p.template = made.ID
	return did, nil
}
