package template

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hermesbox/hermesbox/internal/cube"
)

// Summary is what lists tell of a template. An unknown string is empty.
type Summary struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Image     string `json:"image"`
	Status    string `json:"status"`
	CreatedAt string `json:"created_at"` // RFC 3339
}

// Template is what Cube tells of one.
type Template struct {
	Summary
	Egress    Egress         `json:"egress"`
	Known     bool           `json:"request_known"` // whether Cube tells what it was made with; Egress and what follows is empty where not
	Spec      string         `json:"spec"`          // digest, empty where Cube does not keep it
	Ports     []int          `json:"ports"`
	CPU       string         `json:"cpu"`
	Memory    string         `json:"memory"`
	Size      string         `json:"writable_layer_size"`
	DNS       []string       `json:"dns"`
	Probe     string         `json:"probe"` // ":49983/health"
	Replicas  []cube.Replica `json:"replicas"`
	LastError string         `json:"last_error"`
	Job       string         `json:"job"`

	stored *cube.CreateRequest
}

// Client registers templates with a cluster.
type Client struct {
	Cube *cube.Client
	// Progress is told of a job whenever something about it changed; may be nil.
	Progress func(cube.Job)
	// Held is the lock under which this client registers; it remembers jobs. May be nil.
	Held *Held
	// Note is told what is not told by Progress; may be nil.
	Note func(format string, args ...any)
	// Interval is the time between two looks at a job; 0 is a second.
	Interval time.Duration
	// Patience is how long a job may stand still before it counts as stuck; 0
	// is twenty minutes, enough for the pull of a large image.
	Patience time.Duration
}

func (c *Client) note(format string, args ...any) {
	if c.Note != nil {
		c.Note(format, args...)
	}
}

// List is all templates, failed ones too, the newest first.
func (c *Client) List(ctx context.Context) ([]Summary, error) {
	all, err := c.Cube.Templates(ctx)
	if err != nil {
		return nil, fmt.Errorf("listing templates: %w", err)
	}
	newestFirst(all)
	out := make([]Summary, 0, len(all))
	for _, t := range all {
		out = append(out, summary(t))
	}
	return out, nil
}

func newestFirst(all []cube.Template) {
	slices.SortStableFunc(all, func(a, b cube.Template) int { return b.CreatedAt.Compare(a.CreatedAt.Time) })
}

func summary(t cube.Template) Summary {
	s := Summary{ID: t.ID, Name: t.Name, Image: t.ImageInfo, Status: t.Status}
	if !t.CreatedAt.IsZero() {
		s.CreatedAt = t.CreatedAt.UTC().Format(time.RFC3339)
	}
	return s
}

// Get is one template by its id. What only lists tell is filled in from there.
func (c *Client) Get(ctx context.Context, id string) (Template, error) {
	found, err := c.Cube.GetTemplate(ctx, id, true)
	if err != nil {
		// While it is being made for the first time there is no request to include.
		if found, err = c.Cube.GetTemplate(ctx, id, false); err != nil {
			return Template{}, fmt.Errorf("reading template %s: %w", id, err)
		}
	}
	all, err := c.Cube.Templates(ctx)
	if err != nil {
		return Template{}, fmt.Errorf("listing templates: %w", err)
	}
	for _, listed := range all {
		if listed.ID == found.ID {
			return describe(merge(found, listed)), nil
		}
	}
	return describe(found), nil
}

// merge fills what get does not tell from what the list does.
func merge(t, listed cube.Template) cube.Template {
	if t.CreatedAt.IsZero() {
		t.CreatedAt = listed.CreatedAt
	}
	for _, field := range []struct {
		to   *string
		from string
	}{
		{&t.Name, listed.Name},
		{&t.ImageInfo, listed.ImageInfo},
		{&t.JobID, listed.JobID},
		{&t.LastError, listed.LastError},
	} {
		if *field.to == "" {
			*field.to = field.from
		}
	}
	return t
}

func describe(t cube.Template) Template {
	out := Template{
		Summary: summary(t), Replicas: t.Replicas, LastError: t.LastError, Job: jobOf(t), Ports: []int{}, DNS: []string{},
	}
	if out.Replicas == nil {
		out.Replicas = []cube.Replica{}
	}
	if r := t.Request; r != nil {
		out.stored, out.Known, out.Spec = r, true, r.Annotation(Annotation)
		out.Egress, out.Ports = storedEgress(r.Network()), append(out.Ports, r.Ports()...)
		out.fill(r.Containers)
	}
	return out
}

// fill reads the one container of a stored request.
func (t *Template) fill(containers []cube.Container) {
	if len(containers) == 0 {
		return
	}
	c := containers[0]
	t.Size = c.Image.WritableLayerSize
	if c.Resources != nil {
		t.CPU, t.Memory = c.Resources.CPU, c.Resources.Memory
	}
	if c.DNS != nil {
		t.DNS = append(t.DNS, c.DNS.Servers...)
	}
	if c.Probe != nil {
		t.Probe = probeText(c.Probe)
	}
}

func probeText(p *cube.Probe) string { return fmt.Sprintf(":%d%s", p.Port, p.Path) }

// jobOf is the job that made a template last, as far as Cube tells.
func jobOf(t cube.Template) string {
	if t.JobID != "" {
		return t.JobID
	}
	for _, r := range t.Replicas {
		if r.LastJobID != "" {
			return r.LastJobID
		}
	}
	return ""
}

// Latest is the newest READY template of a name. Where Cube knows no names, it
// is the newest of an image of that name. It wraps cube.ErrNotFound.
func (c *Client) Latest(ctx context.Context, name string) (Summary, error) {
	all, err := c.List(ctx)
	if err != nil {
		return Summary{}, err
	}
	for _, s := range all {
		if s.Status == cube.StatusReady && of(name, s, knowsNames(all)) {
			return s, nil
		}
	}
	return Summary{}, fmt.Errorf("looking for a READY template called %s: %w", name, cube.ErrNotFound)
}

func knowsNames(all []Summary) bool {
	return slices.ContainsFunc(all, func(s Summary) bool { return s.Name != "" })
}

// of tells whether a template is one of a name's.
func of(name string, s Summary, names bool) bool {
	if names {
		return Named(s.Name, name)
	}
	repository, _, _ := strings.Cut(s.Image, "@")
	base := repository[strings.LastIndex(repository, "/")+1:]
	base, _, _ = strings.Cut(base, ":")
	return base == name
}
