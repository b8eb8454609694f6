package template

import (
	"context"
	"fmt"
	"slices"

	"github.com/hermesbox/hermesbox/internal/cube"
)

// Registered is what Register ends with.
type Registered struct {
	ID string `json:"id"`
	// Made tells that it was submitted now, and Reason why that was needed, or
	// that a job made it already. Job is empty where it was READY.
	Made   bool   `json:"made"`
	Reason string `json:"reason"`
	Job    string `json:"job"`
	Status string `json:"status"`
}

// Register gives the READY template that is what the spec wants: one that is
// there, one that a job begun on this machine makes already, or a new one. It
// waits for the job unless detach is set. A job that failed or stands still is a
// *JobError, and does not hinder the next try. The error of an unusable spec
// wraps ErrSpec; then nothing was sent.
func (c *Client) Register(ctx context.Context, s Spec, detach bool) (Registered, error) {
	if err := s.Check(); err != nil {
		return Registered{}, err
	}
	digest, err := s.Digest()
	if err != nil {
		return Registered{}, err
	}
	all, err := c.Cube.Templates(ctx)
	if err != nil {
		return Registered{}, fmt.Errorf("listing templates: %w", err)
	}
	found, ok, reason, err := c.findAmong(ctx, all, s)
	if err != nil {
		return Registered{}, err
	}
	if ok {
		return Registered{ID: found.ID, Status: found.Status}, c.Held.forget(digest)
	}
	out, ok, err := c.join(ctx, digest)
	if !ok && err == nil {
		out, err = c.begin(ctx, s, c.freeName(s.Name, all), digest, reason)
	}
	if err != nil || detach {
		return out, err
	}
	return c.finish(ctx, digest, out)
}

// freeName is a name of the name that no template has, nor one that is being
// made, which has none yet. Most versions of Cube would take the name from the
// one that has it, which then had none.
func (c *Client) freeName(name string, all []cube.Template) string {
	has := func(t cube.Template) bool { return t.Name == name }
	if name == "" || !slices.ContainsFunc(all, has) && !c.Held.works() {
		return name
	}
	return anotherName(name)
}

// begin submits the job.
func (c *Client) begin(ctx context.Context, s Spec, name, digest, reason string) (Registered, error) {
	c.note("making a template: %s", reason)
	job, err := c.submit(ctx, s, name, digest)
	out := Registered{ID: job.TemplateID, Made: true, Reason: reason, Job: job.ID, Status: job.Status}
	if err == nil {
		err = c.Held.begun(digest, job)
	}
	return out, err
}

// submit starts the job, under another of the name's names where Cube says that
// a template has this one.
func (c *Client) submit(ctx context.Context, s Spec, name, digest string) (cube.Job, error) {
	request := s.request(digest)
	request.Name = name
	if name != s.Name {
		c.note("the name %s belongs to an earlier template; this one is %s", s.Name, name)
	}
	job, err := c.Cube.SubmitTemplate(ctx, request)
	if nameTaken(err) && name != "" {
		request.Name = anotherName(s.Name)
		c.note("the name %s belongs to an earlier template; this one is %s", name, request.Name)
		job, err = c.Cube.SubmitTemplate(ctx, request)
	}
	if err != nil {
		return job, fmt.Errorf("submitting the template: %w", err)
	}
	return job, nil
}
