package cluster

// Statuses of templates and jobs.
const (
	StatusPending = "PENDING"
	StatusRunning = "RUNNING"
	StatusReady   = "READY"
	StatusFailed  = "FAILED"
)

// Phases of a job. On failure the phase stays where it failed.
const (
	PhasePulling      = "PULLING"
	PhaseUnpacking    = "UNPACKING"
	PhaseBuilding     = "BUILDING_EXT4"
	PhaseDistributing = "DISTRIBUTING"
	PhaseCreating     = "CREATING_TEMPLATE"
	PhaseSnapshotting = "SNAPSHOTTING"
	PhaseReady        = "READY"
)

// Job is the making or remaking of a template, in CubeMaster's JSON.
type Job struct {
	ID             string    `json:"job_id,omitempty"`
	TemplateID     string    `json:"template_id,omitempty"`
	AttemptNo      int       `json:"attempt_no,omitempty"`
	RetryOf        string    `json:"retry_of_job_id,omitempty"`
	Operation      string    `json:"operation,omitempty"`
	RedoMode       string    `json:"redo_mode,omitempty"`
	RedoScope      []string  `json:"redo_scope,omitempty"`
	ResumePhase    string    `json:"resume_phase,omitempty"`
	ArtifactID     string    `json:"artifact_id,omitempty"`
	Fingerprint    string    `json:"template_spec_fingerprint,omitempty"`
	Status         string    `json:"status,omitempty"`
	Phase          string    `json:"phase,omitempty"`
	Progress       int       `json:"progress,omitempty"`
	ErrorMessage   string    `json:"error_message,omitempty"`
	Expected       int       `json:"expected_node_count,omitempty"`
	Ready          int       `json:"ready_node_count,omitempty"`
	Failed         int       `json:"failed_node_count,omitempty"`
	TemplateStatus string    `json:"template_status,omitempty"`
	ArtifactStatus string    `json:"artifact_status,omitempty"`
	Artifact       *Artifact `json:"artifact,omitempty"`
}

// Artifact is the root file system that a job makes. The local Cube makes none:
// the image is used as it is, and the ext4 fields tell what a cluster would have.
type Artifact struct {
	ID          string `json:"artifact_id,omitempty"`
	Fingerprint string `json:"template_spec_fingerprint,omitempty"`
	ImageRef    string `json:"source_image_ref,omitempty"`
	ImageDigest string `json:"source_image_digest,omitempty"`
	MasterIP    string `json:"master_node_ip,omitempty"`
	Path        string `json:"ext4_path,omitempty"`
	SHA256      string `json:"ext4_sha256,omitempty"`
	Bytes       int64  `json:"ext4_size_bytes,omitempty"`
	Size        string `json:"writable_layer_size,omitempty"`
	Status      string `json:"status,omitempty"`
	LastError   string `json:"last_error,omitempty"`
}

// Active reports whether the job still runs.
func (j *Job) Active() bool { return j.Status == StatusPending || j.Status == StatusRunning }

func (j *Job) clone() *Job {
	out := *j
	if j.Artifact != nil {
		artifact := *j.Artifact
		out.Artifact = &artifact
	}
	return &out
}

// Job looks a job up; unknown ones are "record not found".
func (c *Cluster) Job(id string) (*Job, error) {
	var found *Job
	c.store.view(func(s *state) {
		if j := s.Jobs[id]; j != nil {
			found = j.clone()
		}
	})
	if found == nil {
		return nil, fault(CodeInternal, "record not found")
	}
	return found, nil
}

// ArtifactJob finds the job part of an artifact.
func (c *Cluster) ArtifactJob(id string) (*Job, error) {
	var found *Job
	c.store.view(func(s *state) {
		for _, j := range s.Jobs {
			if j.ArtifactID == id && j.Artifact != nil {
				found = &Job{ArtifactID: id, ArtifactStatus: j.Artifact.Status, Artifact: j.clone().Artifact}
			}
		}
	})
	if found == nil {
		return nil, fault(CodeNotFound, "record not found")
	}
	return found, nil
}

// edit changes a job that has not ended; a job whose template was deleted is gone.
func (c *Cluster) edit(id string, change func(*Job)) error {
	return c.store.change(func(s *state) {
		if j := s.Jobs[id]; j != nil {
			change(j)
		}
	})
}

// Build is the job in the words of the build interface: a status, and the phase or the error.
func (j *Job) Build() (status, message string) {
	switch j.Status {
	case StatusReady:
		return "ready", j.Phase
	case StatusFailed:
		return "error", j.ErrorMessage
	}
	return "building", j.Phase
}
