package cluster

import (
	"context"
	"errors"
	"fmt"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/network"

	"github.com/hermesbox/hermesbox/internal/localcube/egress"
)

func (c *Cluster) instance() (id string) {
	c.store.view(func(s *state) { id = s.Instance })
	return id
}

// networkName is the Docker network of our sandboxes; bridgeName its device.
func (c *Cluster) networkName() string { return "hermesbox-" + c.instance()[:8] }
func (c *Cluster) bridgeName() string  { return "hbx-" + c.instance()[:8] }

// ensureNetwork makes the network of the sandboxes, closed to each other, and guards it.
func (c *Cluster) ensureNetwork(ctx context.Context) error {
	c.netMu.Lock()
	defer c.netMu.Unlock()
	found, err := c.docker.NetworkInspect(ctx, c.networkName(), network.InspectOptions{})
	if err == nil && found.ID == c.netID {
		return nil
	}
	if errdefs.IsNotFound(err) {
		_, err = c.docker.NetworkCreate(ctx, c.networkName(), network.CreateOptions{
			Driver: "bridge", Labels: map[string]string{labelInstance: c.instance()},
			Options: map[string]string{"com.docker.network.bridge.name": c.bridgeName(), "com.docker.network.bridge.enable_icc": "false"},
		})
	}
	if err != nil {
		return fmt.Errorf("making the network of the sandboxes: %w", err)
	}
	found, err = c.docker.NetworkInspect(ctx, c.networkName(), network.InspectOptions{})
	if err != nil {
		return fmt.Errorf("making the network of the sandboxes: %w", err)
	}
	if c.out.works() {
		if c.out.guard, err = egress.Guard(ctx, c.out.host, c.bridgeName()); err != nil {
			return err
		}
	}
	c.netID = found.ID
	return nil
}

// prepareNetwork makes the network at the start. An Engine whose bridges are
// not on this machine, as in a virtual machine, is one where nothing is enforced.
func (c *Cluster) prepareNetwork(ctx context.Context) error {
	err := c.ensureNetwork(ctx)
	if err == nil || !c.out.works() || c.netID != "" {
		return err
	}
	if _, inspected := c.docker.NetworkInspect(ctx, c.networkName(), network.InspectOptions{}); inspected != nil {
		return err
	}
	c.out.reason = fmt.Errorf("%w: %w", egress.ErrUnsupported, err)
	return c.ensureNetwork(ctx)
}

func (c *Cluster) removeNetwork(ctx context.Context) error {
	var err error
	if c.out.guard != nil {
		err = c.out.guard(ctx)
	}
	if e := c.docker.NetworkRemove(ctx, c.networkName()); e != nil && !errdefs.IsNotFound(e) {
		err = errors.Join(err, fmt.Errorf("removing the network of the sandboxes: %w", e))
	}
	return err
}

// Clear removes all that the local Cube made on the Engine: sandboxes, rules, the network.
func (c *Cluster) Clear(ctx context.Context) error {
	var errs []error
	for _, b := range c.all() {
		errs = append(errs, c.remove(ctx, b))
	}
	list, err := c.ours(ctx)
	errs = append(errs, err)
	for _, summary := range list {
		errs = append(errs, c.removeContainer(ctx, summary.ID))
	}
	errs = append(errs, c.sweepRules(ctx, func(string) bool { return false }), c.removeNetwork(ctx))
	return errors.Join(errs...)
}
