package cube

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
)

// Job is the making or remaking of a template.
type Job struct {
	ID         string `json:"job_id"`
	TemplateID string `json:"template_id"`
	AttemptNo  Count  `json:"attempt_no,omitempty"`
	// RetryOf is the job that this one tries again.
	RetryOf     string   `json:"retry_of_job_id,omitempty"`
	Operation   string   `json:"operation,omitempty"`
	RedoMode    string   `json:"redo_mode,omitempty"`
	RedoScope   []string `json:"redo_scope,omitempty"`
	ResumePhase string   `json:"resume_phase,omitempty"`
	ArtifactID  string   `json:"artifact_id,omitempty"`
	Fingerprint string   `json:"template_spec_fingerprint,omitempty"`
	Status      string   `json:"status"`
	// Phase of a failed job is the one that failed.
	Phase string `json:"phase,omitempty"`
	// Progress is a percentage; 100 for failed jobs too.
	Progress          Count     `json:"progress,omitempty"`
	ErrorMessage      string    `json:"error_message,omitempty"`
	ExpectedNodeCount Count     `json:"expected_node_count,omitempty"`
	ReadyNodeCount    Count     `json:"ready_node_count,omitempty"`
	FailedNodeCount   Count     `json:"failed_node_count,omitempty"`
	TemplateStatus    string    `json:"template_status,omitempty"`
	ArtifactStatus    string    `json:"artifact_status,omitempty"`
	Artifact          *Artifact `json:"artifact,omitempty"`
	PullTotalBytes    Count     `json:"pull_total_bytes,omitempty"`
}

// Artifact is the root file system that a template's image becomes.
type Artifact struct {
	ID                string `json:"artifact_id"`
	Fingerprint       string `json:"template_spec_fingerprint,omitempty"`
	SourceImageRef    string `json:"source_image_ref,omitempty"`
	SourceImageDigest string `json:"source_image_digest,omitempty"`
	MasterNodeID      string `json:"master_node_id,omitempty"`
	MasterNodeIP      string `json:"master_node_ip,omitempty"`
	Ext4Path          string `json:"ext4_path,omitempty"`
	Ext4SHA256        string `json:"ext4_sha256,omitempty"`
	Ext4SizeBytes     Count  `json:"ext4_size_bytes,omitempty"`
	WritableLayerSize string `json:"writable_layer_size,omitempty"`
	Status            string `json:"status,omitempty"`
	LastError         string `json:"last_error,omitempty"`
}

// Done tells that the job will not change any more.
func (j Job) Done() bool { return j.Status == StatusReady || j.Status == StatusFailed }

// SubmitTemplate starts the making of a template and returns at once. The
// job's TemplateID is the template's, whatever the request said.
func (c *Client) SubmitTemplate(ctx context.Context, r TemplateRequest) (Job, error) {
	s, ask := c.api, c.apiJob
	k := call{method: http.MethodPost, path: "/templates", body: r.forAPI(), budget: create, secrets: r.secrets()}
	if c.HasMaster() {
		s, ask = c.master, c.masterJob
		k.path, k.body = "/cube/template/from-image", r.fromImage()
	}
	job, err := ask(ctx, k)
	if err == nil && job.TemplateID == "" {
		err = s.nameless(k, "template")
	}
	return job, err
}

// Redo says which part of a template is made again.
type Redo struct {
	TemplateID string
	// Nodes limits it to these; empty is all.
	Nodes []string
	// FailedOnly leaves nodes alone where the template is READY.
	FailedOnly bool
}

type redoBody struct {
	RequestID  string   `json:"requestID,omitempty"`
	TemplateID string   `json:"template_id,omitempty"`
	Nodes      []string `json:"distribution_scope,omitempty"`
	FailedOnly bool     `json:"failed_only,omitempty"`
}

// RedoTemplate starts it and returns at once.
func (c *Client) RedoTemplate(ctx context.Context, r Redo) (Job, error) {
	path, err := segment("template", r.TemplateID)
	if err != nil {
		return Job{}, err
	}
	body := redoBody{Nodes: r.Nodes, FailedOnly: r.FailedOnly}
	if !c.HasMaster() {
		return c.apiJob(ctx, call{method: http.MethodPost, path: "/templates/" + path, body: body, budget: create})
	}
	body.RequestID, body.TemplateID = requestID(), r.TemplateID
	return c.masterJob(ctx, call{method: http.MethodPost, path: "/cube/template/redo", body: body, budget: create})
}

// GetJob asks how far a job is. CubeAPI tells status, progress, and the phase
// or the cause, nothing else; jobs of a deleted template are [ErrNotFound].
func (c *Client) GetJob(ctx context.Context, templateID, jobID string) (Job, error) {
	template, err := segment("template", templateID)
	if err != nil {
		return Job{}, err
	}
	job, err := segment("job", jobID)
	if err != nil {
		return Job{}, err
	}
	if c.HasMaster() {
		query := url.Values{"job_id": {jobID}}
		return c.masterJob(ctx, call{method: http.MethodGet, path: "/cube/template/from-image", query: query, budget: quick})
	}
	return c.apiJob(ctx, call{method: http.MethodGet, path: "/templates/" + template + "/builds/" + job + "/status", budget: quick})
}

func (c *Client) masterJob(ctx context.Context, k call) (Job, error) {
	var answer struct {
		Job *Job `json:"job"`
	}
	if err := c.masterCall(ctx, k, &answer); err != nil {
		return Job{}, err
	}
	if answer.Job == nil {
		return Job{}, fmt.Errorf("%s %s: the answer has no job", k.method, c.master.shown(k.path))
	}
	return *answer.Job, nil
}

func (c *Client) apiJob(ctx context.Context, k call) (Job, error) {
	var answer apiJob
	err := c.apiCall(ctx, k, &answer)
	return answer.job(), err
}

// apiJob is CubeAPI's: of a submission, or of a build's status.
type apiJob struct {
	JobID        string `json:"jobID"`
	BuildID      string `json:"buildID"`
	TemplateID   string `json:"templateID"`
	Status       string `json:"status"`
	Phase        string `json:"phase"`
	Progress     Count  `json:"progress"`
	ErrorMessage string `json:"errorMessage"`
	// Message is the phase of a build, or the cause of its failure.
	Message string `json:"message"`
}

func (a apiJob) job() Job {
	j := Job{
		ID: first(a.JobID, a.BuildID), TemplateID: a.TemplateID,
		Status: a.Status, Phase: a.Phase, Progress: a.Progress, ErrorMessage: a.ErrorMessage,
	}
	switch a.Status {
	case "building":
		j.Status, j.Phase = StatusRunning, first(j.Phase, a.Message)
	case "ready":
		j.Status, j.Phase = StatusReady, first(j.Phase, a.Message)
	case "error":
		j.Status, j.ErrorMessage = StatusFailed, first(j.ErrorMessage, a.Message)
	}
	return j
}
