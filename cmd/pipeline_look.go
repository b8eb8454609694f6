package cmd

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/hermesbox/hermesbox/image"
	"github.com/hermesbox/hermesbox/sandbox"
	"github.com/hermesbox/hermesbox/template"
)

// look finds out what there is to do, up to the last stage. It changes nothing,
// and starts no local Cube. Where it fails, the stage that could not be looked
// at stands last in looked.
func (p *pipeline) look(ctx context.Context) error {
	for _, next := range []step{
		{stageContext, p.lookContext},
		{stageImage, p.lookImage},
		{stageTemplate, p.lookTemplate},
		{stageHome, p.lookHome},
		{stageSmoke, p.lookSmoke},
		{stageVerify, p.lookVerify},
	} {
		if !p.opts.reaches(next.name) {
			break
		}
		found, err := next.do(ctx)
		if err != nil {
			p.looked = append(p.looked, failedStage(ctx, next.name, err))
			return err
		}
		p.looked = append(p.looked, found)
	}
	if p.opts.reaches(stageHome) {
		p.looked = slices.Insert(p.looked, p.nodesAt(), p.lookNodes())
	}
	return nil
}

// nodesAt is where the nodes come among the stages: first, before anything slow.
// But the local Cube's node is worked on with an image, which may not be there before.
func (p *pipeline) nodesAt() int {
	if p.local && p.due(stageImage) {
		return slices.Index(stages[:], stageHome)
	}
	return 0
}

// due tells whether a stage that was looked at has something to do.
func (p *pipeline) due(name string) bool {
	return slices.ContainsFunc(p.looked, func(s stage) bool { return s.Stage == name && !s.idle() })
}

func (p *pipeline) lookContext(ctx context.Context) (stage, error) {
	if err := readSource(ctx, p.app, &p.image, p.source, p.loaded.Config, p.opts.build); err != nil {
		return stage{}, err
	}
	return stage{stageContext, actionRead, "it is read whole each time", p.image.Tree.Digest()}, nil
}

func (p *pipeline) lookImage(ctx context.Context) (stage, error) {
	if err := p.openEngine(ctx); err != nil {
		return stage{}, err
	}
	if err := p.peekBase(ctx); err != nil {
		return stage{}, err
	}
	img, ok, reason, err := p.current(ctx)
	switch {
	case err != nil:
		return stage{}, err
	case !ok:
		return stage{stageImage, actionBuild, reason, ""}, nil
	case p.loaded.Config.Image.Push && img.Digest == "":
		return stage{stageImage, actionPush, reasonUnpushed, ""}, nil
	}
	p.built = img
	return stage{stageImage, actionNone, unchanged(img), img.Ref()}, nil
}

const (
	reasonUnpushed = "the registry does not serve it"
	reasonReady    = "it is READY with this image and these settings"
)

// current looks for the image that is there already.
func (p *pipeline) current(ctx context.Context) (img image.Image, ok bool, reason string, err error) {
	for flag, given := range map[string]bool{"--no-cache": p.opts.build.noCache, "--pull": p.opts.build.pull} {
		if given {
			return image.Image{}, false, flag + " was given", nil
		}
	}
	return p.engine.Current(ctx, p.image)
}

// unchanged is the reason for doing nothing about an image.
func unchanged(img image.Image) string {
	return fmt.Sprintf("%s has this context and this recipe", img.Name)
}

// lookTemplate asks Cube also where the image is to be built: that it does not
// answer is better known before.
func (p *pipeline) lookTemplate(ctx context.Context) (_ stage, err error) {
	link, err := p.app.openCube(ctx, p.loaded.Config.Cube, p.local, false)
	if notRunning(err) {
		return stage{stageTemplate, actionRegister, "no local Cube runs: up starts one", ""}, nil
	}
	if err != nil {
		return stage{}, err
	}
	defer link.Close()
	client := p.app.templateClient(link)
	if p.due(stageImage) {
		_, err := client.List(ctx)
		return stage{stageTemplate, actionRegister, "its image is new", ""}, cubeFailed(err)
	}
	if p.wanted.Image, err = template.Reference(p.built, p.place()); err != nil {
		return stage{}, cubeFailed(err)
	}
	found, ok, reason, err := client.Find(ctx, p.wanted)
	if err != nil {
		return stage{}, cubeFailed(err)
	}
	if !ok {
		return stage{stageTemplate, actionRegister, reason, ""}, nil
	}
	p.template = found.ID
	return stage{stageTemplate, actionNone, reasonReady, found.ID}, nil
}

// lookNodes says whether the nodes are to be looked at: not where nothing is to
// be done on them.
func (p *pipeline) lookNodes() stage {
	switch {
	case !p.hasNodes():
		return stage{stageNodes, actionSkip, reasonNoAccess, ""}
	case idle(p.looked):
		return stage{stageNodes, actionNone, "nothing is to be done on them", ""}
	}
	return stage{stageNodes, actionCheck, "work is to be done there; missing directories are made", ""}
}

// hasNodes tells whether there are nodes to work on.
func (p *pipeline) hasNodes() bool { return p.local || len(p.loaded.Config.Nodes) > 0 }

const reasonNoAccess = "no node access: there are no nodes in hermesbox.yaml"

func (p *pipeline) lookHome(ctx context.Context) (stage, error) {
	if !p.hasNodes() {
		return stage{stageHome, actionSkip, reasonNoAccess, ""}, nil
	}
	if report, ok := p.green(); ok {
		return stage{stageHome, actionNone, "as when the report was written: " + report, sandbox.DefaultHome}, nil
	}
	due, err := p.peekHomes(ctx)
	if err != nil {
		return p.unseenHome(ctx, err)
	}
	return summary(due), nil
}

// unseenHome is what can be said of default homes that could not be looked at.
func (p *pipeline) unseenHome(ctx context.Context, why error) (stage, error) {
	switch {
	case ctx.Err() != nil:
		return stage{}, context.Cause(ctx)
	case notRunning(why), errors.Is(why, errNoHelper):
		return stage{stageHome, actionMake, "where it is missing or of another image; the node cannot be looked at yet", ""}, nil
	}
	p.blind = why // up's next stage is the nodes, and tells it better
	return stage{stageHome, actionMake, "where it is missing or of another image; a node does not tell", ""}, nil
}

// peekHomes asks the nodes what is due of their default homes.
func (p *pipeline) peekHomes(ctx context.Context) ([]dueHome, error) {
	boxes, err := p.openSandboxes(ctx, false)
	if err != nil {
		return nil, err
	}
	defer boxes.close()
	return p.homesDue(ctx, boxes)
}

func (p *pipeline) lookSmoke(context.Context) (stage, error) { return p.lookProof(stageSmoke), nil }

func (p *pipeline) lookVerify(context.Context) (stage, error) { return p.lookProof(stageVerify), nil }

// lookProof is what is due of a stage that goes by the report.
func (p *pipeline) lookProof(name string) stage {
	switch report, ok := p.green(); {
	case !p.hasNodes():
		return stage{name, actionSkip, reasonNoAccess, ""}
	case ok:
		return stage{name, actionNone, reasonGreen, report}
	case !idle(p.looked):
		return stage{name, actionRun, "a stage before it has something to do", ""}
	}
	return stage{name, actionRun, "there is no green report for this template, these nodes and these settings", ""}
}

const reasonGreen = "there is a green report for this template, these nodes and these settings"
