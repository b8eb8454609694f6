package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
)

// ours lists our containers on the Engine.
func (c *Cluster) ours(ctx context.Context) ([]container.Summary, error) {
	return c.labelled(ctx, labelInstance+"="+c.instance())
}

func (c *Cluster) labelled(ctx context.Context, label string) ([]container.Summary, error) {
	list, err := c.docker.ContainerList(ctx, container.ListOptions{All: true, Filters: filters.NewArgs(filters.Arg("label", label))})
	if err != nil {
		return nil, fmt.Errorf("listing the containers: %w", err)
	}
	return list, nil
}

// adopt takes the sandboxes of a predecessor over and removes what it left half made.
func (c *Cluster) adopt(ctx context.Context) error {
	list, err := c.ours(ctx)
	if err != nil {
		return err
	}
	kept := map[string]bool{}
	for _, summary := range list {
		b, ok := c.recognise(summary)
		if !ok {
			if err := c.removeContainer(ctx, summary.ID); err != nil {
				return err
			}
			continue
		}
		if err := c.takeOver(ctx, b); err != nil {
			return err
		}
		c.boxes[b.spec.ID] = b
		kept[b.spec.ID] = true
	}
	if err := c.sweepRules(ctx, func(id string) bool { return kept[id] }); err != nil {
		return err
	}
	found := 0
	defer func() { c.tellLoss(found) }()
	return c.store.change(func(s *state) {
		for id := range s.Records {
			if !kept[id] {
				delete(s.Records, id)
			}
		}
		for id, b := range c.boxes {
			if s.Records[id] == nil {
				s.Records[id] = b.anew()
				found++
			}
		}
		s.Lost = false
	})
}

// recognise makes a box of a container that has a finished record. Where the
// records were lost, any sandbox may have been finished.
func (c *Cluster) recognise(summary container.Summary) (*box, bool) {
	b := &box{kind: summary.Labels[labelKind], container: summary.ID, state: StateRunning}
	if b.kind != kindSandbox || json.Unmarshal([]byte(summary.Labels[labelSpec]), &b.spec) != nil {
		return nil, false
	}
	known := false
	c.store.view(func(s *state) { known = s.Records[b.spec.ID] != nil || s.Lost })
	return b, known
}

// takeOver reads a sandbox's state and has its rules enforced again.
func (c *Cluster) takeOver(ctx context.Context, b *box) error {
	found, err := c.docker.ContainerInspect(ctx, b.container)
	if err != nil {
		return fmt.Errorf("looking at sandbox %s: %w", b.spec.ID, err)
	}
	b.learn(found)
	if !found.State.Running {
		return nil
	}
	rules, err := b.policy(c.replacedNetwork(b.spec.ID)).rules()
	if err != nil {
		return err
	}
	return c.enforce(ctx, b, found, rules)
}

func (c *Cluster) replacedNetwork(id string) (n *Network) {
	c.store.view(func(s *state) {
		if rec := s.Records[id]; rec != nil {
			n = rec.Network
		}
	})
	return n
}

// refresh compares all sandboxes with the Engine's containers.
func (c *Cluster) refresh(ctx context.Context) error {
	before := c.all()
	list, err := c.ours(ctx)
	if err != nil {
		return err
	}
	states := map[string]string{}
	for _, summary := range list {
		states[summary.ID] = summary.State
	}
	for _, b := range before {
		state, there := states[b.container]
		if !there {
			err = errors.Join(err, c.lost(ctx, b))
			continue
		}
		b.observe(state)
	}
	return err
}

// observe takes a state that Docker's list tells.
func (b *box) observe(docker string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.exited = docker != "running" && docker != "paused"
	switch {
	case b.state == StatePausing:
	case docker == "paused":
		b.state = StatePaused
	default:
		b.state = StateRunning
	}
}

// check compares one sandbox with its container.
func (c *Cluster) check(ctx context.Context, b *box) error {
	found, err := c.docker.ContainerInspect(ctx, b.container)
	switch {
	case errdefs.IsNotFound(err):
		return errors.Join(errNoSandbox(), c.lost(ctx, b))
	case err != nil:
		return fmt.Errorf("looking at sandbox %s: %w", b.spec.ID, err)
	}
	b.learn(found)
	if !found.State.Running {
		return nil
	}
	return c.renew(ctx, b, found)
}

// lost forgets a sandbox whose container somebody removed.
func (c *Cluster) lost(ctx context.Context, b *box) error {
	b.setEnding(true)
	return errors.Join(c.lift(ctx, b), c.bury(b.spec.ID))
}
