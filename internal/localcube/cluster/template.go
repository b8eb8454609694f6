package cluster

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// template is what the state file keeps of one.
type template struct {
	ID           string          `json:"id"`
	Alias        string          `json:"alias,omitempty"`
	Claim        string          `json:"claim,omitempty"` // the alias that it gets once it is READY
	InstanceType string          `json:"instance_type"`
	Status       string          `json:"status"`
	LastError    string          `json:"last_error,omitempty"`
	CreatedAt    time.Time       `json:"created_at"`
	ImageInfo    string          `json:"image_info"`
	ImageID      string          `json:"image_id,omitempty"`
	Body         string          `json:"body"` // the request, to know it again
	Network      *Network        `json:"network,omitempty"`
	Ports        []int           `json:"ports,omitempty"`
	Overrides    Overrides       `json:"overrides"`
	Request      json.RawMessage `json:"create_request,omitempty"`
	Replica      *Replica        `json:"replica,omitempty"`
	LastJob      string          `json:"last_job"`
}

// Replica is a template on our one node, in CubeMaster's JSON.
type Replica struct {
	NodeID         string `json:"node_id"`
	NodeIP         string `json:"node_ip"`
	InstanceType   string `json:"instance_type,omitempty"`
	Spec           string `json:"spec,omitempty"`
	SnapshotPath   string `json:"snapshot_path,omitempty"`
	Status         string `json:"status,omitempty"`
	Phase          string `json:"phase,omitempty"`
	ArtifactID     string `json:"artifact_id,omitempty"`
	LastJobID      string `json:"last_job_id,omitempty"`
	LastErrorPhase string `json:"last_error_phase,omitempty"`
	Cleanup        bool   `json:"cleanup_required,omitempty"`
	ErrorMessage   string `json:"error_message,omitempty"`
}

// Template is what the APIs tell of one.
type Template struct {
	ID           string
	Alias        string
	InstanceType string
	Status       string
	LastError    string
	CreatedAt    time.Time
	ImageInfo    string
	JobID        string
	Network      *Network
	Replicas     []Replica
	// Request is the create request for sandboxes of this template; nil during the first build.
	Request json.RawMessage
}

func (t *template) view() Template {
	out := Template{
		ID: t.ID, Alias: t.Alias, InstanceType: t.InstanceType, Status: t.Status, LastError: t.LastError,
		CreatedAt: t.CreatedAt, ImageInfo: t.ImageInfo, JobID: t.LastJob, Network: t.Network, Request: t.Request,
	}
	if t.Replica != nil {
		out.Replicas = []Replica{*t.Replica}
	}
	return out
}

// Templates lists all, newest first.
func (c *Cluster) Templates() []Template {
	list := []Template{}
	c.store.view(func(s *state) {
		for _, t := range s.Templates {
			list = append(list, t.view())
		}
	})
	slices.SortFunc(list, func(a, b Template) int {
		if d := b.CreatedAt.Compare(a.CreatedAt); d != 0 {
			return d
		}
		return strings.Compare(a.ID, b.ID)
	})
	return list
}

// Template looks one up by its id or its alias.
func (c *Cluster) Template(name string) (Template, error) {
	var out Template
	err := error(fault(CodeNotFound, "template not found"))
	c.store.view(func(s *state) {
		if t := s.template(name); t != nil {
			out, err = t.view(), nil
		}
	})
	return out, err
}

// template finds one by its id or its alias; nil where there is none.
func (s *state) template(name string) *template {
	if t := s.Templates[name]; t != nil || name == "" {
		return t
	}
	for _, t := range s.Templates {
		if t.Alias == name {
			return t
		}
	}
	return nil
}

// SetAlias names a READY template, found by its id or its alias; "" takes its
// name away. Another template that has the name, or is to have it, loses it.
func (c *Cluster) SetAlias(name, alias string) error {
	if err := checkAlias(alias); err != nil {
		return err
	}
	err := error(fault(CodeNotFound, "template not found"))
	if werr := c.store.change(func(s *state) {
		switch t := s.template(name); {
		case t == nil:
		case alias != "" && t.Status != StatusReady:
			err = fault(CodeConflict, "template %s is not ready", t.ID)
		default:
			s.claim(t, alias)
			s.unclaim(alias)
			t.Claim, err = "", nil
		}
	}); werr != nil {
		return werr
	}
	return err
}

// claim gives a template an alias, which no other one then has.
func (s *state) claim(t *template, alias string) {
	for _, other := range s.Templates {
		if other.Alias == alias {
			other.Alias = ""
		}
	}
	t.Alias = alias
}

// unclaim keeps the jobs that run from taking an alias.
func (s *state) unclaim(alias string) {
	for _, t := range s.Templates {
		if t.Claim == alias {
			t.Claim = ""
		}
	}
}

// DeleteTemplate removes a template and forgets its jobs. One with sandboxes or a running job is refused.
func (c *Cluster) DeleteTemplate(id string) error {
	if c.inUse(id) {
		return fault(CodeParams, "template is still in use")
	}
	err := error(fault(CodeNotFound, "template not found"))
	if werr := c.store.change(func(s *state) {
		t := s.Templates[id]
		switch {
		case t == nil:
			return
		case s.active(t) && !slices.Contains(s.Faults, JobStuck):
			err = fault(CodeParams, "template attempt is already in progress: template %s deletion is blocked while a build job is still active", id)
			return
		}
		delete(s.Templates, id)
		for job, j := range s.Jobs {
			if j.TemplateID == id {
				delete(s.Jobs, job)
			}
		}
		err = nil
	}); werr != nil {
		return werr
	}
	if err == nil {
		c.note(c.letGoOf(id))
	}
	return err
}

// active reports whether a template's last job still runs.
func (s *state) active(t *template) bool {
	j := s.Jobs[t.LastJob]
	return j != nil && j.Active()
}
