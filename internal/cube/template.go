package cube

import (
	"context"
	"net/http"
	"net/url"
)

// The states of templates and of their jobs.
const (
	StatusPending = "PENDING"
	StatusRunning = "RUNNING"
	StatusReady   = "READY"
	StatusFailed  = "FAILED"
)

// Template is what Cube tells of one.
type Template struct {
	ID           string `json:"template_id"`
	Name         string `json:"name,omitempty"`
	InstanceType string `json:"instance_type,omitempty"`
	Version      string `json:"version,omitempty"`
	Status       string `json:"status,omitempty"`
	LastError    string `json:"last_error,omitempty"`
	CreatedAt    Time   `json:"created_at,omitzero"`
	// ImageInfo is the image and its digest, while it is pulled without.
	ImageInfo string `json:"image_info,omitempty"`
	JobID     string `json:"job_id,omitempty"`
	// Replicas and Request are not in lists.
	Replicas []Replica `json:"replicas,omitempty"`
	// Request is nil where Cube does not tell, as during the first build.
	Request *CreateRequest `json:"create_request,omitempty"`
}

// Replica is a template on one node.
type Replica struct {
	NodeID       string `json:"node_id"`
	NodeIP       string `json:"node_ip,omitempty"`
	InstanceType string `json:"instance_type,omitempty"`
	Spec         string `json:"spec,omitempty"`
	SnapshotPath string `json:"snapshot_path,omitempty"`
	Status       string `json:"status,omitempty"`
	Phase        string `json:"phase,omitempty"`
	ArtifactID   string `json:"artifact_id,omitempty"`
	LastJobID    string `json:"last_job_id,omitempty"`
	// LastErrorPhase is where it failed; Phase is FAILED then.
	LastErrorPhase  string `json:"last_error_phase,omitempty"`
	ErrorMessage    string `json:"error_message,omitempty"`
	CleanupRequired bool   `json:"cleanup_required,omitempty"`
}

// Templates lists all templates, failed ones too.
func (c *Client) Templates(ctx context.Context) ([]Template, error) {
	var wire []templateWire
	s, k, answer := c.api, call{method: http.MethodGet, path: "/templates", budget: quick}, any(&wire)
	if c.HasMaster() {
		s, k.path = c.master, "/cube/template"
		answer = &struct {
			Data *[]templateWire `json:"data"`
		}{&wire}
	}
	err := s.do(ctx, "CubeAPI", k, answer)
	out := make([]Template, 0, len(wire))
	for _, w := range wire {
		t := w.template()
		if t.ID == "" && err == nil {
			err = s.nameless(k, "template")
		}
		out = append(out, t)
	}
	return out, err
}

// GetTemplate asks for one template, with its create request where withRequest
// is set and Cube has it. CubeAPI always gives it.
func (c *Client) GetTemplate(ctx context.Context, id string, withRequest bool) (Template, error) {
	path, err := segment("template", id)
	if err != nil {
		return Template{}, err
	}
	s, k := c.api, call{method: http.MethodGet, path: "/templates/" + path, budget: quick}
	if c.HasMaster() {
		s, k.path, k.query = c.master, "/cube/template", url.Values{"template_id": {id}}
		if withRequest {
			k.query.Set("include_request", "true")
		}
	}
	var wire templateWire
	err = s.do(ctx, "CubeAPI", k, &wire)
	found := wire.template()
	if c.HasMaster() {
		found.ID = first(found.ID, id) // its envelope tells that it was meant
	}
	if err == nil && found.ID == "" {
		err = s.nameless(k, "template")
	}
	return found, err
}

// DeleteTemplate deletes a template and forgets its jobs. An unknown one is
// [ErrNotFound], one with sandboxes [ErrInUse], one being built [ErrInProgress].
func (c *Client) DeleteTemplate(ctx context.Context, id string) error {
	path, err := segment("template", id)
	if err != nil {
		return err
	}
	if !c.HasMaster() {
		return c.apiCall(ctx, call{method: http.MethodDelete, path: "/templates/" + path, budget: remove}, nil)
	}
	body := struct {
		RequestID  string `json:"RequestID"`
		TemplateID string `json:"template_id"`
	}{requestID(), id}
	return c.masterCall(ctx, call{method: http.MethodDelete, path: "/cube/template", body: body, budget: remove}, nil)
}

// masterCall asks CubeMaster.
func (c *Client) masterCall(ctx context.Context, k call, out any) error {
	return c.master.do(ctx, "CubeMaster", k, out)
}

// templateWire has the spellings of CubeMaster and CubeAPI, and of the names
// that versions gave to a name.
type templateWire struct {
	Template
	APIID        string         `json:"templateID"`
	APIType      string         `json:"instanceType"`
	APIError     string         `json:"lastError"`
	APICreatedAt Time           `json:"createdAt"`
	APIImage     string         `json:"imageInfo"`
	APIJobID     string         `json:"jobID"`
	APIRequest   *CreateRequest `json:"createRequest"`
	Alias        string         `json:"alias"`
	DisplayName  string         `json:"display_name"`
	Aliases      []string       `json:"aliases"`
	Names        []string       `json:"names"`
}

func (w templateWire) template() Template {
	t := w.Template
	t.ID, t.InstanceType = first(t.ID, w.APIID), first(t.InstanceType, w.APIType)
	t.LastError, t.ImageInfo = first(t.LastError, w.APIError), first(t.ImageInfo, w.APIImage)
	t.JobID, t.CreatedAt = first(t.JobID, w.APIJobID), first(t.CreatedAt, w.APICreatedAt)
	t.Request = first(t.Request, w.APIRequest)
	t.Name = first(append([]string{t.Name, w.Alias, w.DisplayName}, append(w.Aliases, w.Names...)...)...)
	return t
}
