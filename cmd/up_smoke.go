package cmd

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"strings"
	"time"

	"github.com/hermesbox/hermesbox/internal/check"
	"github.com/hermesbox/hermesbox/internal/cube"
	"github.com/hermesbox/hermesbox/sandbox"
)

const (
	smokeLifetime = 30 * time.Minute // of a sandbox that failed and is not looked at
	smokePatience = 2 * time.Minute  // for its removal
)

// tried is a sandbox with a home and a workspace of its id.
type tried struct {
	id   string
	made sandbox.Created
	note *os.File // of removeLeft, while it is not removed; nil for none
}

// smoke has a sandbox of its own, with a home and a workspace of its own, go
// through all steps of a create. It stays until the template is verified; where
// something fails it stays to be looked at.
func (p *pipeline) smoke(ctx context.Context) (stage, error) {
	if report, ok := p.green(); ok {
		return stage{stageSmoke, actionNone, reasonGreen, report}, nil
	}
	if !p.hasNodes() {
		return stage{stageSmoke, actionSkip, reasonNoAccess, ""}, nil
	}
	if err := p.openBoxes(ctx); err != nil {
		return stage{}, err
	}
	began := time.Now()
	id := "smoke-" + strings.ToLower(rand.Text()[:16])
	note, err := p.noteSmoke(id)
	if err != nil {
		return stage{}, err
	}
	p.app.note("trying the template out with a sandbox, home and workspace %s", id)
	made, err := p.boxes.client.Create(ctx, sandbox.Spec{
		Name: id, Home: id, Workspace: id, Template: p.template, Timeout: smokeLifetime, OnTimeout: cube.OnTimeoutKill,
	})
	p.tried = tried{id, made, note}
	if err != nil {
		return stage{}, p.smokeFailed(ctx, err)
	}
	p.checks = append(p.checks, checksOf(made.Steps)...)
	did := stage{stageSmoke, actionRun, "a sandbox of its own went through " + count(len(made.Steps), "step"), ""}
	if p.opts.reaches(stageVerify) {
		return did, nil
	}
	p.removeSmoke(ctx)
	p.removeLeft(ctx)
	did.Result, err = p.writeReport(stageSmoke, began)
	return did, err
}

// checksOf are the steps of a create that went well, as checks.
func checksOf(steps []sandbox.Step) []check.Check {
	var all []check.Check
	for _, s := range steps {
		status := check.Pass
		if s.Status == sandbox.Skipped {
			status = check.Skip
		}
		all = append(all, check.Check{ID: s.Name, Status: status, Title: "step " + s.Name, Evidence: s.Detail})
	}
	return all
}

// smokeFailed leaves a sandbox that failed to be looked at, unless the run was
// interrupted or there is none.
func (p *pipeline) smokeFailed(ctx context.Context, err error) error {
	id, made := p.tried.id, p.tried.made
	switch {
	case errors.Is(err, sandbox.ErrAnswerLost):
		p.app.note("home and workspace %s stay, in case the sandbox comes after all", id)
	case ctx.Err() != nil || made.ID == "":
		p.removeSmoke(ctx)
	default:
		p.sayKept()
	}
	if ctx.Err() != nil {
		return err
	}
	failed := p.boxes.createFailed(made, err)
	if errors.Is(err, sandbox.ErrNoWebUI) {
		return &failure{err: err, code: exitFailed, hint: "use an image with the launcher, as hermesbox build makes it, or stop before it with --until home"}
	}
	return failed
}

// sayKept tells what stays, until when.
func (p *pipeline) sayKept() {
	p.app.note("sandbox %s ends by itself after %d minutes without use; the next %s up here that tries a template out and goes well removes it, its home and its workspace", p.tried.id, int(smokeLifetime.Minutes()), p.app.again())
}

// removeSmoke removes sandbox, home and workspace. What cannot be removed is
// told, fails nothing, and is tried again by the next run that goes well.
func (p *pipeline) removeSmoke(ctx context.Context) {
	id, made := p.tried.id, p.tried.made
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), smokePatience)
	defer cancel()
	if made.ID != "" {
		if err := p.boxes.client.Stop(ctx, made.Sandbox); err != nil && !errors.Is(err, cube.ErrNotFound) {
			p.app.warn("sandbox %s is left over, and its home and workspace %s: %v", made.ID, id, err)
			return
		}
	}
	err := p.removePlaces(ctx, id)
	if err == nil {
		err, p.tried.note = forgetSmoke(p.tried.note), nil
	}
	if err != nil {
		p.app.warn("home and workspace %s are left over: %v", id, err)
	}
}
