package template

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"time"

	"github.com/hermesbox/hermesbox/internal/cube"
)

// pending is a job that may go on after the run that began it. Cube does not
// tell of a template that is being made what it is made from; so this does.
type pending struct {
	Template string    `json:"template"`
	Job      string    `json:"job"`
	Stand    string    `json:"stand"` // how far it was when somebody looked
	Since    time.Time `json:"since"` // of Stand
}

const (
	maxPending  = 1 << 20
	longPending = 24 * time.Hour // after which nobody asks for a job any more
)

// readPending reads what a lock's file remembers. What cannot be read is
// forgotten: then a template is made twice.
func readPending(file io.Reader) map[string]pending {
	jobs := map[string]pending{}
	if err := json.NewDecoder(io.LimitReader(file, maxPending)).Decode(&jobs); err != nil || jobs == nil {
		return map[string]pending{}
	}
	maps.DeleteFunc(jobs, func(_ string, p pending) bool { return time.Since(p.Since) > longPending })
	return jobs
}

// keep remembers a job; a nil Held remembers nothing.
func (h *Held) keep(digest string, p pending) error {
	if h == nil || p.Job == "" {
		return nil
	}
	h.jobs[digest] = p
	return h.save()
}

func (h *Held) forget(digest string) error {
	if h == nil || h.jobs[digest].Job == "" {
		return nil
	}
	delete(h.jobs, digest)
	return h.save()
}

func (h *Held) save() error {
	text, err := json.Marshal(h.jobs)
	if err == nil {
		err = h.file.Truncate(0)
	}
	if err == nil {
		_, err = h.file.WriteAt(text, 0)
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", h.file.Name(), err)
	}
	return nil
}

func (h *Held) pending(digest string) (pending, bool) {
	if h == nil {
		return pending{}, false
	}
	p, ok := h.jobs[digest]
	return p, ok
}

// works tells whether a job is remembered, and so may still run.
func (h *Held) works() bool { return h != nil && len(h.jobs) > 0 }

// begun remembers a job as it stands now.
func (h *Held) begun(digest string, job cube.Job) error {
	return h.keep(digest, pending{Template: job.TemplateID, Job: job.ID, Stand: fmt.Sprint(stand(job)), Since: time.Now()})
}

// join looks whether the template is being made already. One whose job cannot
// be asked for, has failed or stands still for as long as Patience is not.
func (c *Client) join(ctx context.Context, digest string) (out Registered, ok bool, err error) {
	p, known := c.Held.pending(digest)
	if !known {
		return out, false, nil
	}
	job, err := c.Cube.GetJob(ctx, p.Template, p.Job)
	job.ID, job.TemplateID = p.Job, p.Template
	switch {
	case ctx.Err() != nil:
		return out, false, fmt.Errorf("asking for job %s: %w", p.Job, context.Cause(ctx))
	case err != nil, job.Status == cube.StatusFailed:
		return out, false, c.Held.forget(digest)
	case fmt.Sprint(stand(job)) != p.Stand:
		err = c.Held.begun(digest, job)
	case time.Since(p.Since) > c.patience():
		c.note("the job of template %s stands still in %s; making another", p.Template, oneLine(or(job.Phase, job.Status)))
		return out, false, c.Held.forget(digest)
	}
	c.note("template %s is being made already, with the same image and settings: %s %d%%; no other is submitted", p.Template, oneLine(or(job.Phase, job.Status)), job.Progress)
	return Registered{ID: p.Template, Reason: "a job makes it already", Job: p.Job, Status: job.Status}, true, err
}

// finish waits for a job, and forgets it once it has ended or stands still.
func (c *Client) finish(ctx context.Context, digest string, out Registered) (Registered, error) {
	w := watcher{client: c, template: out.ID, job: out.Job, changed: time.Now(), answered: time.Now()}
	if p, ok := c.Held.pending(digest); ok {
		w.stood, w.changed = p.Stand, p.Since // it may have stood still for long
	}
	err := c.watch(ctx, w)
	var failed *JobError
	if err == nil || errors.As(err, &failed) {
		err = errors.Join(err, c.Held.forget(digest))
	}
	if err == nil {
		out.Status = cube.StatusReady
	}
	return out, err
}
