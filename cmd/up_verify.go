package cmd

import (
	"context"
	"errors"
	"fmt"

	"github.com/hermesbox/hermesbox/internal/check"
	"github.com/hermesbox/hermesbox/sandbox"
	"github.com/hermesbox/hermesbox/sandbox/verify"
)

// verify verifies the template with sandboxes of verify's own, and writes the
// report. Where it is red the smoke sandbox, which is of the same template,
// stays to be looked at.
func (p *pipeline) verify(ctx context.Context) (stage, error) {
	if report, ok := p.green(); ok {
		return stage{stageVerify, actionNone, reasonGreen, report}, nil
	}
	if !p.hasNodes() {
		return stage{stageVerify, actionSkip, reasonNoAccess, ""}, nil
	}
	report, err := p.boxes.smoke(ctx, sandbox.Spec{Template: p.template}, verifyOptions{})
	if ctx.Err() != nil {
		p.removeSmoke(ctx)
		return stage{}, errors.Join(context.Cause(ctx), err)
	}
	if err != nil {
		p.sayTried()
		return stage{}, verifyFailed(err)
	}
	if report.Status == check.Fail {
		return stage{}, errors.Join(printChecks(p.app.err, visibleChecks(report.Checks)), p.red(report))
	}
	p.removeSmoke(ctx)
	p.removeLeft(ctx)
	p.checks = append(p.checks, report.Checks...)
	did := stage{stageVerify, actionRun, tally(report.Checks), ""}
	p.app.note("template %s is verified: %s", printable(p.template), did.Reason)
	did.Result, err = p.writeReport(stageVerify, report.StartedAt)
	return did, err
}

// red is the error of a template that is not as it should be.
func (p *pipeline) red(report verify.Report) error {
	p.sayTried()
	p.bad = failedChecks(report.Checks)
	return &failure{
		err:  fmt.Errorf("verifying template %s: %s: %s", p.template, tally(report.Checks), firstFailed(report.Checks)),
		code: exitChecks, hint: "each failed check above says what to do; then run the same command again, it goes on here",
	}
}

// sayTried tells how the smoke sandbox can be looked at.
func (p *pipeline) sayTried() {
	p.app.note("sandbox %s of the same template stays to be looked at: %s verify %[1]s, sandbox exec %[1]s -- COMMAND, sandbox stop %[1]s", p.tried.id, p.app.again())
	p.sayKept()
}
