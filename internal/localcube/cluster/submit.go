package cluster

import (
	"context"
	"slices"
	"time"
)

// Submit starts a job for a template from an image.
func (c *Cluster) Submit(spec TemplateSpec) (*Job, error) {
	if err := spec.check(); err != nil {
		return nil, err
	}
	var job *Job
	var isNew bool
	var err error
	if werr := c.store.change(func(s *state) { job, isNew, err = s.admit(spec) }); werr != nil {
		return nil, werr
	}
	if isNew {
		c.start(func(ctx context.Context) { c.build(ctx, job.ID, job.TemplateID, spec) })
	}
	return job, err
}

// admit makes the records of a new job, or answers the active one for the same request.
func (s *state) admit(spec TemplateSpec) (job *Job, isNew bool, err error) {
	id := "tpl-" + randomHex(12)
	if slices.Contains(s.Faults, GivenID) && spec.ID != "" {
		id = spec.ID
	}
	job = &Job{ID: NewUUID(), TemplateID: id, AttemptNo: 1, Operation: "CREATE", Status: StatusPending, Phase: PhasePulling}
	if old := s.Templates[id]; old != nil {
		last := s.Jobs[old.LastJob]
		switch {
		case last != nil && last.Active() && old.Body == spec.Body:
			return last.clone(), false, nil
		case last != nil && last.Active():
			return nil, false, fault(CodeParams, "template attempt is already in progress: template %s is currently running (job_id=%s)", id, last.ID)
		case old.Status == StatusReady:
			return nil, false, fault(CodeParams, "template %s already exists; rootfs template specs are immutable, use a new template id to change writable layer size or rootfs settings", id)
		case last != nil:
			job.AttemptNo, job.RetryOf = last.AttemptNo+1, last.ID
		}
	}
	s.Templates[id] = newTemplate(id, spec, job.ID)
	s.Jobs[job.ID] = job
	return job.clone(), true, nil
}

func newTemplate(id string, spec TemplateSpec, job string) *template {
	t := &template{
		ID: id, Claim: spec.Alias, InstanceType: spec.InstanceType, Status: StatusRunning, CreatedAt: time.Now().UTC(), ImageInfo: spec.Image,
		Body: spec.Body, Network: spec.Network, Ports: spec.Ports, Overrides: spec.Overrides, LastJob: job,
	}
	if t.InstanceType == "" {
		t.InstanceType = "cubebox"
	}
	return t
}

// Redo makes the replicas of a template anew: all, those of scope, or the failed ones.
func (c *Cluster) Redo(id string, scope []string, failedOnly bool) (*Job, error) {
	var job *Job
	var err error
	if werr := c.store.change(func(s *state) { job, err = c.admitRedo(s, id, scope, failedOnly) }); werr != nil {
		return nil, werr
	}
	if err != nil {
		return nil, err
	}
	c.start(func(ctx context.Context) { c.remake(ctx, job.ID, id) })
	return job, nil
}

func (c *Cluster) admitRedo(s *state, id string, scope []string, failedOnly bool) (*Job, error) {
	t := s.Templates[id]
	switch {
	case t == nil:
		return nil, fault(CodeParams, "template not found")
	case s.active(t):
		return nil, fault(CodeParams, "template attempt is already in progress: template %s is currently running", id)
	case slices.Contains(s.Faults, NoNode):
		return nil, fault(CodeParams, "no healthy nodes available for template creation")
	case failedOnly && (t.Replica == nil || t.Replica.Status != StatusFailed):
		return nil, fault(CodeParams, "no failed template replicas matched redo request")
	}
	for _, node := range scope {
		if node != c.opts.NodeID && node != nodeIP {
			return nil, fault(CodeParams, "target nodes are not healthy or not found: %s", node)
		}
	}
	job := redoJob(s.Jobs[t.LastJob], id, c.opts.NodeID)
	if failedOnly {
		job.RedoMode = "FAILED_ONLY"
	} else if len(scope) > 0 {
		job.RedoMode = "NODES"
	}
	t.LastJob = job.ID
	s.Jobs[job.ID] = job
	return job.clone(), nil
}

func redoJob(last *Job, template, node string) *Job {
	job := &Job{
		ID: NewUUID(), TemplateID: template, AttemptNo: 1, Operation: "REDO", RedoMode: "ALL", RedoScope: []string{node},
		ResumePhase: PhaseSnapshotting, Status: StatusPending, Phase: PhaseSnapshotting,
	}
	if last != nil {
		job.AttemptNo, job.RetryOf, job.ArtifactID = last.AttemptNo+1, last.ID, last.ArtifactID
		job.Artifact = last.clone().Artifact
	}
	return job
}
