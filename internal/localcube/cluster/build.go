package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// build is the whole of a job: from the image to a template that has been seen to run.
func (c *Cluster) build(ctx context.Context, job, id string, spec TemplateSpec) {
	err := c.buildSteps(ctx, job, id, spec)
	defer func() { c.note(c.letGoOf(id)) }() // it may have been deleted meanwhile
	if err == nil {
		return
	}
	message := AsError(err).Msg
	c.note(c.store.change(func(s *state) {
		if j := s.Jobs[job]; j != nil {
			j.Status, j.Progress, j.ErrorMessage = StatusFailed, 100, message
		}
		if t := s.Templates[id]; t != nil {
			t.Status = StatusFailed
			if t.LastError == "" && !errors.Is(err, errNoNodes) {
				t.LastError = message
			}
		}
	}))
}

// stuckEvery is how often a job that stands still looks whether it may go on.
const stuckEvery = 100 * time.Millisecond

// stand keeps a job where it is under JobStuck, until it is deleted.
func (c *Cluster) stand(ctx context.Context, job string) error {
	for c.Has(JobStuck) {
		if _, err := c.Job(job); err != nil {
			return err
		}
		pause(ctx, stuckEvery)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	_, err := c.Job(job)
	return err
}

// errNoNodes fails a job without being the template's own error, as measured.
var errNoNodes = errors.New("template creation failed on all nodes")

func (c *Cluster) buildSteps(ctx context.Context, job, id string, spec TemplateSpec) error {
	if err := c.advance(job, PhasePulling, 5); err != nil {
		return err
	}
	pause(ctx, c.opts.Pace)
	if err := c.stand(ctx, job); err != nil {
		return err
	}
	image, err := c.pull(ctx, spec)
	if err != nil {
		return err
	}
	if err := c.hold(ctx, id, image.id); err != nil {
		return err
	}
	made := newArtifact(spec, image)
	if err := c.store.change(func(s *state) { s.unpacking(job, id, made, image) }); err != nil {
		return err
	}
	pause(ctx, c.opts.Pace)
	if err := image.check(spec); err != nil {
		return errors.Join(err, c.edit(job, func(j *Job) {
			j.Phase, j.ArtifactStatus = PhaseBuilding, StatusFailed
			j.Artifact.Status, j.Artifact.LastError = StatusFailed, AsError(err).Msg
		}))
	}
	request, err := createRequest(id, spec, image, made)
	if err != nil {
		return err
	}
	if err := c.store.change(func(s *state) { s.distributing(job, id, made, request) }); err != nil {
		return err
	}
	pause(ctx, c.opts.Pace)
	if c.Has(DistributeFails) {
		return errors.Join(c.edit(job, func(j *Job) { j.Expected, j.Failed, j.Artifact = 1, 1, nil }),
			fault(CodeInternal, "artifact distribution failed on all 1 nodes: cubelet create image on %s failed: no space left on device", nodeIP))
	}
	return c.finish(ctx, job, id, spec.Scope)
}

// advance moves a job that runs.
func (c *Cluster) advance(job, phase string, progress int) error {
	return c.edit(job, func(j *Job) { j.Status, j.Phase, j.Progress = StatusRunning, phase, progress })
}

func (s *state) unpacking(job, id string, made Artifact, image image) {
	if j := s.Jobs[job]; j != nil {
		building := made
		building.MasterIP, building.Path, building.SHA256, building.Bytes = "", "", "", 0
		building.Status = "BUILDING"
		j.Phase, j.Progress, j.ArtifactID, j.Fingerprint, j.Artifact = PhaseUnpacking, 20, made.ID, made.Fingerprint, &building
	}
	if t := s.Templates[id]; t != nil {
		t.ImageID, t.ImageInfo = image.id, image.info
	}
}

func (s *state) distributing(job, id string, made Artifact, request []byte) {
	if j := s.Jobs[job]; j != nil {
		j.Phase, j.Progress, j.ArtifactStatus, j.Artifact = PhaseDistributing, 70, StatusReady, &made
	}
	if t := s.Templates[id]; t != nil {
		t.Request = request
	}
}

// finish makes the template on the node: the phase in which it is started and probed.
func (c *Cluster) finish(ctx context.Context, job, id string, scope []string) error {
	if c.schedule(scope) != nil {
		return c.noNode(ctx, job, id)
	}
	if err := c.edit(job, func(j *Job) { j.Phase, j.Progress, j.Expected, j.Ready = PhaseCreating, 85, 1, 1 }); err != nil {
		return err
	}
	pause(ctx, c.opts.Pace)
	if err := c.replicate(ctx, job, id); err != nil {
		return errors.Join(c.edit(job, func(j *Job) { j.TemplateStatus = StatusFailed }),
			fault(CodeInternal, "template %s creation failed: %s", id, err))
	}
	return c.ready(job, id)
}

// noNode is the end of a job for which there is no node.
func (c *Cluster) noNode(ctx context.Context, job, id string) error {
	if err := c.edit(job, func(j *Job) {
		j.Phase, j.Progress, j.ErrorMessage = PhaseCreating, 85, "no healthy nodes available for template creation"
	}); err != nil {
		return err
	}
	pause(ctx, c.opts.Pace)
	return errors.Join(c.edit(job, func(j *Job) { j.Artifact, j.TemplateStatus = nil, StatusFailed }),
		fmt.Errorf("template %s creation failed: %w", id, errNoNodes))
}

// ready ends a job well.
func (c *Cluster) ready(job, id string) error {
	return c.store.change(func(s *state) {
		if j := s.Jobs[job]; j != nil {
			j.Status, j.Phase, j.Progress, j.TemplateStatus, j.ArtifactStatus = StatusReady, PhaseReady, 100, StatusReady, StatusReady
		}
		if t := s.Templates[id]; t != nil {
			t.Status, t.LastError = StatusReady, ""
			if t.Claim != "" {
				s.claim(t, t.Claim)
				t.Claim = ""
			}
		}
	})
}

// remake is the job of a redo.
func (c *Cluster) remake(ctx context.Context, job, id string) {
	err := c.advance(job, PhaseSnapshotting, 5)
	pause(ctx, c.opts.Pace)
	if err == nil {
		err = c.replicate(ctx, job, id)
	}
	if err == nil {
		err = c.ready(job, id)
	}
	if err == nil {
		return
	}
	c.note(c.store.change(func(s *state) {
		if j := s.Jobs[job]; j != nil {
			j.Status, j.Progress, j.TemplateStatus = StatusFailed, 100, StatusFailed
			j.ErrorMessage = fmt.Sprintf("template %s creation failed: %s", id, err)
		}
		if t := s.Templates[id]; t != nil {
			t.Status, t.LastError = StatusFailed, err.Error()
		}
	}))
}

// replicate starts the template once, waits until its probe answers, and keeps the result as its replica.
func (c *Cluster) replicate(ctx context.Context, job, id string) error {
	var t template
	err := error(fault(CodeNotFound, "template not found"))
	c.store.view(func(s *state) {
		if found := s.Templates[id]; found != nil {
			t, err = *found, nil
		}
	})
	if err != nil {
		return err
	}
	if t.Request == nil {
		return fmt.Errorf("the template has no rootfs artifact: its image was never pulled")
	}
	replica := c.newReplica(&t, job)
	failure := c.tryOut(ctx, &t)
	if failure != nil {
		replica.Status, replica.Phase, replica.SnapshotPath = StatusFailed, StatusFailed, ""
		replica.LastErrorPhase, replica.Cleanup, replica.ErrorMessage = PhaseSnapshotting, true, failure.Error()
	}
	err = c.store.change(func(s *state) {
		if t := s.Templates[id]; t != nil {
			t.Replica = replica
			if failure != nil {
				t.LastError = failure.Error()
			}
		}
	})
	return errors.Join(failure, err)
}

func (c *Cluster) newReplica(t *template, job string) *Replica {
	r := t.Overrides.resources()
	var artifact string
	c.store.view(func(s *state) {
		if j := s.Jobs[job]; j != nil {
			artifact = j.ArtifactID
		}
	})
	return &Replica{
		NodeID: c.opts.NodeID, NodeIP: nodeIP, InstanceType: t.InstanceType, Spec: "cpu=" + r.CPU + ",mem=" + r.Mem,
		SnapshotPath: "/usr/local/services/cubetoolbox/cube-snapshot/cubebox/" + t.ID + "/2C2000M",
		Status:       StatusReady, Phase: StatusReady, ArtifactID: artifact, LastJobID: job,
	}
}

// tryOut runs the template's container until its probe answers, and removes it.
func (c *Cluster) tryOut(ctx context.Context, t *template) (err error) {
	if c.Has(SnapshotFails) {
		return errDeadline
	}
	if t.Overrides.Probe == nil {
		return nil
	}
	box := newBox(t, kindProbe)
	started := time.Now()
	if err := c.boot(ctx, box); err != nil {
		return errors.Join(err, c.discard(box))
	}
	defer func() { err = errors.Join(err, c.discard(box)) }()
	err = c.await(ctx, box, *t.Overrides.Probe)
	if err != nil && strings.Contains(err.Error(), "context deadline exceeded") {
		c.opts.Log.Info("probe failed", "template", t.ID, "after", time.Since(started))
	}
	return err
}
