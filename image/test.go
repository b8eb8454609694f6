package image

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/docker/docker/api/types/image"

	"github.com/hermesbox/hermesbox/internal/check"
)

// Report is the outcome of testing an image.
type Report struct {
	Image      string        `json:"image"` // the ID that was tested
	Status     check.Status  `json:"status"`
	StartedAt  time.Time     `json:"started_at"`
	DurationMS int64         `json:"duration_ms"`
	Checks     []check.Check `json:"checks"`
}

const (
	agentDir    = "/opt/hermes-agent"
	venvPython  = agentDir + "/.venv/bin/python"
	venvHermes  = agentDir + "/.venv/bin/hermes"
	homeDir     = "/root/.hermes"
	skillsDir   = "/opt/hermes-common-skills"
	webUIPort   = 9000
	commandPort = 49983
	shortLimit  = 30 * time.Second
	longLimit   = 3 * time.Minute
)

// trial is one image under test, with the containers made of it.
type trial struct {
	engine *Engine
	image  image.InspectResponse
	files  *contents // read out of the image, not told by it

	still    *testContainer // runs nothing of the image's own
	stillErr error
	live     *testContainer // runs the image's entrypoint
	liveErr  error
}

// Test starts an image and checks what it is made for. Two containers are
// made, without network, and removed: one runs the image's own entrypoint, the
// other only what the checks ask for, so that these are judged even where the
// image does not start. An error means that the image could not be tested at
// all; checks that fail are in the report.
func (e *Engine) Test(ctx context.Context, ref string) (_ Report, err error) {
	start := time.Now()
	found, err := e.inspect(ctx, ref)
	if err != nil {
		return Report{}, err
	}
	t := &trial{engine: e, image: found}
	defer func() { err = errors.Join(err, t.close(ctx)) }()
	if err := t.open(ctx); err != nil {
		return Report{}, err
	}
	report := Report{Image: found.ID, StartedAt: start.UTC(), Checks: t.run(ctx)}
	if ctx.Err() != nil {
		return Report{}, context.Cause(ctx)
	}
	report.Status = check.Worst(report.Checks)
	report.DurationMS = time.Since(start).Milliseconds()
	return report, nil
}

// open makes the containers and reads the files; that one of them does not
// start is for the checks to say.
func (t *trial) open(ctx context.Context) (err error) {
	wait := []string{"/bin/sh", "-c", "trap 'exit 0' TERM; while :; do sleep 1; done"}
	if t.still, err = t.engine.createContainer(ctx, t.image.ID, wait); err != nil {
		return err
	}
	if t.files, err = t.still.readContents(ctx); err != nil {
		return err
	}
	t.stillErr = t.still.start(ctx)
	if t.live, t.liveErr = t.engine.createContainer(ctx, t.image.ID, nil); t.liveErr == nil {
		t.liveErr = t.live.start(ctx)
	}
	return nil
}

func (t *trial) close(ctx context.Context) error {
	var errs []error
	for _, c := range []*testContainer{t.still, t.live} {
		if c != nil {
			errs = append(errs, c.remove(ctx))
		}
	}
	return errors.Join(errs...)
}

// question is one check that image test makes.
type question struct {
	id, title string
	ask       func(context.Context) check.Result
}

// run asks all questions in order; what another rests on comes before it.
func (t *trial) run(ctx context.Context) []check.Check {
	questions := []question{
		{"labels", "the image says what it was made of", t.labels},
		{"ports", "9000 and 49983 are exposed", t.ports},
		{"litter", "no macOS litter in the image", t.litter},
		{"source", "every source file is in the image as it was hashed", t.source},
		{"command-service", "the command service answers on 49983", t.commandService},
		{"agent-import", "the agent's tools can be imported", t.agentImport},
		{"agent-version", "hermes --version is the source's", t.agentVersion},
		{"web-ui", "the launcher's Web UI answers on 9000", t.webUI},
		{"token", "the Web UI's token is made at start, private, and asked for", t.token},
		{"agent-turn", "the agent takes a turn against a model", t.agentTurn},
	}
	var checks []check.Check
	for _, q := range questions {
		checks = append(checks, check.Run(q.id, q.title, func() check.Result {
			return t.judge(ctx, q, checks)
		}))
	}
	return checks
}

// needs are the checks without which another cannot be judged.
var needs = map[string]string{
	"token":      "web-ui",
	"agent-turn": "agent-import",
}

// judge asks one question unless a check that it rests on has failed.
func (t *trial) judge(ctx context.Context, q question, before []check.Check) check.Result {
	i := slices.IndexFunc(before, func(c check.Check) bool {
		return c.ID == needs[q.id] && c.Status != check.Pass && c.Status != check.Warn
	})
	if i >= 0 {
		return check.Result{Status: check.Skip, Because: before[i].ID, Evidence: "not judged because " + before[i].ID + " did not pass"}
	}
	return q.ask(ctx)
}

func passed(format string, args ...any) check.Result {
	return check.Result{Status: check.Pass, Evidence: fmt.Sprintf(format, args...)}
}

func failing(remedy, format string, args ...any) check.Result {
	return check.Result{Status: check.Fail, Evidence: fmt.Sprintf(format, args...), Remedy: remedy}
}
