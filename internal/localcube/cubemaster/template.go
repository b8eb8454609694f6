package cubemaster

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/hermesbox/hermesbox/internal/localcube/cluster"
)

type listedTemplate struct {
	ID           string `json:"template_id"`
	InstanceType string `json:"instance_type,omitempty"`
	Version      string `json:"version,omitempty"`
	Status       string `json:"status,omitempty"`
	LastError    string `json:"last_error,omitempty"`
	CreatedAt    string `json:"created_at,omitempty"`
	ImageInfo    string `json:"image_info,omitempty"`
	JobID        string `json:"job_id,omitempty"`
	Alias        string `json:"alias,omitempty"`
}

type templateInfo struct {
	envelope
	InstanceType string            `json:"instance_type,omitempty"`
	Version      string            `json:"version,omitempty"`
	Status       string            `json:"status,omitempty"`
	LastError    string            `json:"last_error,omitempty"`
	Alias        string            `json:"alias,omitempty"`
	Replicas     []cluster.Replica `json:"replicas,omitempty"`
	Request      json.RawMessage   `json:"create_request,omitempty"`
}

// template answers one, or without an id the list.
func (s *Server) template(r *http.Request) answer {
	query := r.URL.Query()
	id := query.Get("template_id")
	if id == "" {
		return s.list()
	}
	t, err := s.cluster.Template(id)
	if err == nil && query.Get("include_request") == "true" && t.Request == nil {
		_, err = s.cluster.Template("") // as unknown: there is no request yet
	}
	out := templateInfo{envelope: envelope{Ret: success(), TemplateID: id}}
	if err != nil {
		out.Ret = retOf(err)
		return done(out)
	}
	out.TemplateID, out.InstanceType, out.Version, out.Status, out.LastError = t.ID, t.InstanceType, "v2", t.Status, t.LastError
	out.Replicas, out.Alias = t.Replicas, t.Alias
	if query.Get("include_request") == "true" {
		out.Request = t.Request
	}
	return done(out)
}

func (s *Server) list() answer {
	out := struct {
		envelope
		Data []listedTemplate `json:"data,omitempty"`
	}{envelope: envelope{Ret: success()}}
	for _, t := range s.cluster.Templates() {
		out.Data = append(out.Data, listedTemplate{
			t.ID, t.InstanceType, "v2", t.Status, t.LastError, stamp(t.CreatedAt), t.ImageInfo, t.JobID, t.Alias,
		})
	}
	return done(out)
}

type fromImageBody struct {
	RequestID   *string `json:"requestID"`
	Image       string  `json:"source_image_ref"`
	Size        string  `json:"writable_layer_size"`
	Username    string  `json:"registry_username"`
	Password    string  `json:"registry_password"`
	TemplateID  string  `json:"template_id"`
	Alias       string  `json:"alias"`
	DisplayName string  `json:"display_name"`
	Instance    string  `json:"instance_type"`
	NetworkType string  `json:"network_type"`
	// The network object has one name in old versions and another in new ones; the new one wins.
	OldNetwork *cluster.Network  `json:"cubevs_context"`
	Network    *cluster.Network  `json:"cube_network_config"`
	Ports      []int             `json:"exposed_ports"`
	Scope      []string          `json:"distribution_scope"`
	Overrides  cluster.Overrides `json:"container_overrides"`
}

func (s *Server) fromImage(r *http.Request) answer {
	var body fromImageBody
	if err := read(r, &body); err != nil {
		return badBody(err)
	}
	id := ""
	if body.RequestID != nil {
		id = *body.RequestID
	}
	if strings.TrimSpace(id) == "" {
		return params(id, "requestID is required")
	}
	spec, err := body.spec()
	if err != nil {
		return refused(id, err)
	}
	job, err := s.cluster.Submit(spec)
	return withJob(id, job, err)
}

func (b fromImageBody) spec() (cluster.TemplateSpec, error) {
	spec := cluster.TemplateSpec{
		ID: strings.TrimSpace(b.TemplateID), Alias: b.Alias, Image: b.Image, Size: b.Size, InstanceType: b.Instance, NetworkType: b.NetworkType,
		Network: b.OldNetwork, NetworkKey: "cubevs_context", Ports: b.Ports, Scope: b.Scope, Overrides: b.Overrides,
		Username: b.Username, Password: b.Password,
	}
	if spec.ID != "" {
		spec.ID = b.TemplateID
	}
	if spec.Alias == "" {
		spec.Alias = b.DisplayName
	}
	if b.Network != nil {
		spec.Network, spec.NetworkKey = b.Network, "cube_network_config"
	}
	b.RequestID, b.Password = nil, "" // neither makes another request, nor may be kept
	text, err := json.Marshal(b)
	spec.Body = string(text)
	return spec, err
}

func withJob(requestID string, job *cluster.Job, err error) answer {
	if err != nil {
		return refused(requestID, err)
	}
	return done(struct {
		envelope
		Job *cluster.Job `json:"job,omitempty"`
	}{envelope{RequestID: requestID, Ret: success()}, job})
}

func (s *Server) job(r *http.Request) answer {
	id := r.URL.Query().Get("job_id")
	if strings.TrimSpace(id) == "" {
		return params("", "job_id is required")
	}
	job, err := s.cluster.Job(id)
	return withJob("", job, err)
}

func (s *Server) artifact(r *http.Request) answer {
	id := r.URL.Query().Get("artifact_id")
	if strings.TrimSpace(id) == "" {
		return params("", "artifact_id is required")
	}
	job, err := s.cluster.ArtifactJob(id)
	return withJob("", job, err)
}

func (s *Server) redo(r *http.Request) answer {
	var body struct {
		RequestID  string   `json:"requestID"`
		TemplateID string   `json:"template_id"`
		Scope      []string `json:"distribution_scope"`
		FailedOnly bool     `json:"failed_only"`
	}
	if err := read(r, &body); err != nil {
		return badBody(err)
	}
	switch {
	case strings.TrimSpace(body.RequestID) == "":
		return params(body.RequestID, "requestID is required")
	case strings.TrimSpace(body.TemplateID) == "":
		return params(body.RequestID, "template_id is required")
	}
	job, err := s.cluster.Redo(body.TemplateID, body.Scope, body.FailedOnly)
	return withJob(body.RequestID, job, err)
}

func (s *Server) deleteTemplate(r *http.Request) answer {
	var body struct {
		RequestID  string `json:"requestID"`
		TemplateID string `json:"template_id"`
	}
	if err := read(r, &body); err != nil {
		return badBody(err)
	}
	if strings.TrimSpace(body.TemplateID) == "" {
		return params("", "template_id is required")
	}
	out := envelope{RequestID: body.RequestID, Ret: success(), TemplateID: body.TemplateID}
	if err := s.cluster.DeleteTemplate(body.TemplateID); err != nil {
		out.Ret = retOf(err)
	}
	return done(out)
}

// createTemplate is the making of one from a whole create request, which the local Cube does not do.
func (s *Server) createTemplate(r *http.Request) answer {
	var body struct {
		RequestID string `json:"requestID"`
	}
	if err := read(r, &body); err != nil {
		return badBody(err)
	}
	if body.RequestID == "" {
		return params("", "requestID is nil")
	}
	return params(body.RequestID, "the local Cube makes templates from images only: POST /cube/template/from-image")
}

func (s *Server) buildStatus(id string) answer {
	out := struct {
		envelope
		TemplateID string `json:"template_id,omitempty"`
		AttemptNo  int    `json:"attempt_no,omitempty"`
		Status     string `json:"status,omitempty"`
		Progress   int    `json:"progress,omitempty"`
		Message    string `json:"message,omitempty"`
	}{envelope: envelope{Ret: success(), BuildID: id}}
	job, err := s.cluster.Job(id)
	if err != nil {
		out.Ret = retOf(err)
		return done(out)
	}
	out.TemplateID, out.AttemptNo, out.Progress = job.TemplateID, job.AttemptNo, job.Progress
	out.Status, out.Message = job.Build()
	return done(out)
}

func (s *Server) alias(r *http.Request, id string) answer {
	var body struct {
		RequestID string `json:"requestID"`
		Alias     string `json:"alias"`
	}
	if err := read(r, &body); err != nil {
		return badBody(err)
	}
	out := envelope{RequestID: body.RequestID, Ret: success(), TemplateID: id}
	if err := s.cluster.SetAlias(id, body.Alias); err != nil {
		out.Ret = retOf(err)
	}
	return done(out)
}
