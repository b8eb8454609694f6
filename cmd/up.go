package cmd

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/hermesbox/hermesbox/internal/cube"
)

func newUp(app *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "up [SOURCE|-]",
		Short: "Take a Hermes Agent checkout to a template that is proven to work, doing only what changed",
		Long: `Up goes through the whole pipeline, and does of each stage what is not there yet: it checks
the nodes, makes the clean context of SOURCE, builds the image, pushes it where image.push
says so, registers it as a template, makes the nodes' default home, or refreshes it after a
new image, has a smoke sandbox, with a home and a workspace of its own, go through all steps
to a Web UI that answers, and verifies the template as verify does. The smoke sandbox is
removed in the end; where something fails it stays to be looked at, until a run goes well. A
green report is kept under .hermesbox/reports. Without nodes in the configuration nothing can
be tried out: then a warning says that the template is not verified.

It prints the template id, which sandbox create takes, or with --until image or context what
that stage made. Run again with nothing changed it does nothing, and says so; after a failure
it goes on where it stopped. In GitHub Actions it adds to the step's summary.`,
		Example: "  hermesbox up --cube local ~/src/hermes-agent\n  hermesbox up --until template",
	}
	return onPipeline(app, cmd, func(ctx context.Context, p *pipeline) error {
		err := p.up(ctx)
		return errors.Join(p.tell(ctx, err), err)
	})
}

// up does what is due.
func (p *pipeline) up(ctx context.Context) error {
	if err := p.look(ctx); err != nil {
		p.done = slices.DeleteFunc(p.looked, func(s stage) bool { return !s.idle() && s.Action != actionFail })
		return err
	}
	if idle(p.looked) {
		p.done = p.looked
		p.sayIdle()
		p.warnUnproven()
		return nil
	}
	for _, next := range p.steps() {
		did, err := next.do(ctx)
		if err != nil {
			p.done = append(p.done, failedStage(ctx, next.name, err))
			return p.advise(err)
		}
		p.done = append(p.done, did)
	}
	if idle(p.done) { // another run was faster
		p.sayIdle()
	}
	p.warnUnproven()
	return nil
}

// advise gives a stage that failed the next step where it has none, and another
// where the local Cube is gone: that has no address that could be wrong.
func (p *pipeline) advise(err error) error {
	f := failed(err)
	switch {
	case p.local && errors.Is(err, cube.ErrUnreachable):
		return &failure{err: err, code: exitFailed, hint: "the local Cube has ended: run the same command again, which starts it and goes on here"}
	case f.hint == "":
		return &failure{err: err, code: f.code, hint: "once that is mended, run the same command again: it goes on here"}
	}
	return err
}

// step is a stage to be done.
type step struct {
	name string
	do   func(context.Context) (stage, error)
}

// steps are the stages to go through.
func (p *pipeline) steps() []step {
	all := []step{{stageContext, func(context.Context) (stage, error) { return p.looked[slices.IndexFunc(p.looked, isContext)], nil }}}
	for _, s := range []step{{stageImage, p.makeImage}, {stageTemplate, p.makeTemplate}, {stageHome, p.makeHome}, {stageSmoke, p.smoke}, {stageVerify, p.verify}} {
		if p.opts.reaches(s.name) {
			all = append(all, s)
		}
	}
	if p.opts.reaches(stageHome) {
		all = slices.Insert(all, p.nodesAt(), step{stageNodes, p.checkNodes})
	}
	return all
}

func isContext(s stage) bool { return s.Stage == stageContext }

// sayIdle tells why nothing was done.
func (p *pipeline) sayIdle() {
	if !p.opts.reaches(stageImage) {
		return
	}
	for _, s := range p.done {
		if s.Action != actionRead {
			p.app.note("%s: %s", s.Stage, s.Reason)
		}
	}
	p.app.note("nothing changed, nothing was done")
}

// warnUnproven says it where a template was not tried out for want of nodes.
func (p *pipeline) warnUnproven() {
	if p.opts.reaches(stageSmoke) && !p.hasNodes() {
		p.app.warn("template %s is NOT verified, no sandbox of it was tried: that takes directories on a node, and hermesbox.yaml has no nodes; list them there, or give --until template where that is meant", printable(p.template))
	}
}

// sumUp shows all stages at the end of a run that did something: on standard
// error, as other words for people.
func (p *pipeline) sumUp(out passage) error {
	if p.app.progress == "quiet" || p.app.progress == "rawjson" || len(out.Stages) == 1 || idle(out.Stages) {
		return nil
	}
	p.app.note("up: %s", out.Status)
	shown := slices.Clone(out.Stages)
	for i, s := range shown {
		if s.Action == actionFail {
			shown[i].Reason = "why is told below"
		}
	}
	return printStages(p.app.err, shown)
}

// cameOf is what came of it, in a word.
func cameOf(done []stage, err error) string {
	switch {
	case err != nil:
		return statusFailed
	case idle(done):
		return "unchanged"
	}
	return "done"
}

const statusFailed = "failed"

// errUpInterrupted is what the summary says of a run that was interrupted.
var errUpInterrupted = &failure{err: errInterrupted, code: exitInterrupted, hint: "run the same command again, it goes on here"}

// tell prints what came of it: the line that the next command takes, or the
// whole as JSON, and the summary for the CI system.
func (p *pipeline) tell(ctx context.Context, cause error) error {
	if cause != nil && errors.Is(context.Cause(ctx), errInterrupted) {
		cause = errUpInterrupted
	}
	out := newPassage(cameOf(p.done, cause), append([]stage{}, p.done...))
	out.FailedChecks = append(out.FailedChecks, visibleChecks(p.bad)...)
	return errors.Join(p.print(out), p.app.summarise(out, p.opts.until, cause))
}

func (p *pipeline) print(out passage) error {
	if p.app.output == "json" {
		return p.app.printJSON(out)
	}
	if err := p.sumUp(out); err != nil {
		return err
	}
	if out.Status == statusFailed {
		return nil
	}
	line := out.Template
	switch p.opts.until {
	case stageContext:
		line = out.Context
	case stageImage:
		line = out.Image
	}
	if _, err := fmt.Fprintln(p.app.out, printable(line)); err != nil {
		return fmt.Errorf("writing output: %w", err)
	}
	return nil
}
