package template

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/hermesbox/hermesbox/internal/cube"
)

// JobError is a job that did not make its template.
type JobError struct {
	Template string
	Job      string // empty where Cube does not tell
	Phase    string // in which it failed or stands; empty where Cube does not tell
	Cause    string
	Stuck    bool // it may still go on
}

func (e *JobError) Error() string {
	phase := ""
	if e.Phase != "" {
		phase = " in phase " + e.Phase
	}
	if e.Stuck {
		return fmt.Sprintf("making template %s: stuck%s: %s", e.Template, phase, e.Cause)
	}
	return fmt.Sprintf("making template %s: failed%s: %s", e.Template, phase, or(e.Cause, "Cube names no cause"))
}

const (
	defaultInterval = time.Second
	defaultPatience = 20 * time.Minute
	// firstInterval doubles up to the interval: a small image on the local Cube is ready in a moment.
	firstInterval = 100 * time.Millisecond
	// silence is how long Cube may be unreachable while a job runs.
	silence = 2 * time.Minute
)

// Watch waits until a template is READY, and tells Progress of each change. Its
// job is looked for where it is empty; where Cube names none, the template's
// own status is watched. It ends in a *JobError where the job failed or nothing
// changed for as long as Patience; an unknown template is cube.ErrNotFound.
func (c *Client) Watch(ctx context.Context, id, job string) error {
	return c.watch(ctx, watcher{client: c, template: id, job: job, changed: time.Now(), answered: time.Now()})
}

func (c *Client) watch(ctx context.Context, w watcher) error {
	wait := min(firstInterval, c.interval())
	for {
		done, err := w.look(ctx)
		if done || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("watching template %s: %w", w.template, context.Cause(ctx))
		case <-time.After(wait):
		}
		wait = min(2*wait, c.interval())
	}
}

func (c *Client) interval() time.Duration {
	if c.Interval == 0 {
		return defaultInterval
	}
	return c.Interval
}

func (c *Client) patience() time.Duration {
	if c.Patience == 0 {
		return defaultPatience
	}
	return c.Patience
}

// watcher is one watching of one template.
type watcher struct {
	client            *Client
	template, job     string
	last              cube.Job
	seen              bool
	changed, answered time.Time
	stood             string // how far it was before this watching, at the time of changed
}

// look asks once; done means READY.
func (w *watcher) look(ctx context.Context) (done bool, err error) {
	job, err := w.ask(ctx)
	switch {
	case errors.Is(err, cube.ErrUnreachable) && time.Since(w.answered) < silence && ctx.Err() == nil:
		return false, nil // CubeMaster may be starting anew; the job is not lost by that
	case errors.Is(err, cube.ErrNotFound) && w.seen:
		return false, &JobError{Template: w.template, Job: w.job, Phase: w.last.Phase, Cause: "the template was deleted meanwhile"}
	case err != nil:
		return false, fmt.Errorf("watching template %s: %w", w.template, err)
	}
	w.answered = time.Now()
	w.tell(job)
	switch {
	case job.Status == cube.StatusReady:
		return true, nil
	case job.Status == cube.StatusFailed:
		return false, &JobError{Template: w.template, Job: job.ID, Phase: oneLine(job.Phase), Cause: oneLine(job.ErrorMessage)}
	case time.Since(w.changed) > w.client.patience():
		return false, &JobError{
			Template: w.template, Job: job.ID, Phase: job.Phase, Stuck: true,
			Cause: fmt.Sprintf("nothing changed for %s", w.client.patience()),
		}
	}
	return false, nil
}

// tell passes a change on.
func (w *watcher) tell(job cube.Job) {
	now, before := stand(job), stand(w.last)
	if w.seen && now == before {
		return
	}
	if w.seen || fmt.Sprint(now) != w.stood {
		w.changed = time.Now()
	}
	w.last, w.seen = job, true
	if w.client.Progress != nil {
		w.client.Progress(job)
	}
}

// stand is what of a job counts as a change.
func stand(j cube.Job) [7]any {
	return [7]any{j.Status, j.Phase, j.Progress, j.ReadyNodeCount, j.FailedNodeCount, j.ExpectedNodeCount, j.PullTotalBytes}
}

// ask asks for the job, or for the template where there is none.
func (w *watcher) ask(ctx context.Context) (cube.Job, error) {
	if w.job != "" {
		job, err := w.client.Cube.GetJob(ctx, w.template, w.job)
		job.ID, job.TemplateID = w.job, w.template
		return job, err
	}
	t, err := w.client.Cube.GetTemplate(ctx, w.template, false)
	if err != nil {
		return cube.Job{}, err
	}
	if t.Status == cube.StatusReady {
		return jobFrom(t), nil
	}
	if id := jobOf(t); id != "" {
		// The job tells more: phase, nodes and, where it failed, the cause.
		if job, err := w.client.Cube.GetJob(ctx, w.template, id); err == nil {
			w.job, job.ID, job.TemplateID = id, id, w.template
			return job, nil
		}
	}
	return jobFrom(t), nil
}

// jobFrom is what a template tells of the job that made it.
func jobFrom(t cube.Template) cube.Job {
	job := cube.Job{ID: jobOf(t), TemplateID: t.ID, Status: t.Status, ErrorMessage: t.LastError}
	if strings.EqualFold(t.Status, "READY") {
		job.Phase, job.Progress = t.Status, 100
	}
	for _, r := range t.Replicas {
		if r.ErrorMessage != "" || r.LastErrorPhase != "" {
			job.Phase, job.ErrorMessage = r.LastErrorPhase, or(job.ErrorMessage, r.ErrorMessage)
			break
		}
	}
	return job
}

// oneLine makes a text of Cube's, which quotes other programs, fit for a terminal.
func oneLine(text string) string {
	clean := strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, text)
	return strings.Join(strings.Fields(clean), " ")
}
