package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
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

// ensureNetwork makes the network of the sandboxes where there is none, and guards it.
func (c *Cluster) ensureNetwork(ctx context.Context) error {
	c.netMu.Lock()
	defer c.netMu.Unlock()
	if err := c.makeNetwork(ctx); err != nil {
		return err
	}
	return c.guard(ctx)
}

// makeNetwork makes a network whose members do not speak to each other.
func (c *Cluster) makeNetwork(ctx context.Context) error {
	_, err := c.docker.NetworkInspect(ctx, c.networkName(), network.InspectOptions{})
	if errdefs.IsNotFound(err) {
		_, err = c.docker.NetworkCreate(ctx, c.networkName(), network.CreateOptions{
			Driver: "bridge", Labels: map[string]string{labelInstance: c.instance()},
			Options: map[string]string{"com.docker.network.bridge.name": c.bridgeName(), "com.docker.network.bridge.enable_icc": "false"},
		})
	}
	if err != nil {
		return fmt.Errorf("making the network of the sandboxes: %w", err)
	}
	return nil
}

// guard closes the network to containers without rules. It is done anew before
// each start: the guard goes with the bridge, which an Engine may make anew.
func (c *Cluster) guard(ctx context.Context) error {
	if !c.out.works() {
		return nil
	}
	host, err := c.out.host(ctx)
	if err != nil {
		return err
	}
	_, err = egress.Guard(ctx, host, c.bridgeName())
	return err
}

// prepareNetwork makes the network at the start. An Engine whose bridges are
// not on this machine, as in a virtual machine, is one where nothing is enforced.
func (c *Cluster) prepareNetwork(ctx context.Context) error {
	err := c.ensureNetwork(ctx)
	if c.out.works() && errors.Is(err, egress.ErrUnsupported) {
		c.out.reason = err
		return nil
	}
	return err
}

// removeNetwork removes the network and then its guard, which closes it as long as it is there.
func (c *Cluster) removeNetwork(ctx context.Context) error {
	err := c.docker.NetworkRemove(ctx, c.networkName())
	if err != nil && !errdefs.IsNotFound(err) {
		return fmt.Errorf("removing the network of the sandboxes: %w", err)
	}
	if !c.out.works() {
		return nil
	}
	host, err := c.out.host(ctx)
	if err != nil {
		return err
	}
	return egress.Unguard(ctx, host, c.bridgeName())
}

// Clear removes all that the local Cube made on the Engine: sandboxes, helpers, rules, the network, names of images.
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
	errs = append(errs, c.sweepHelpers(ctx), c.sweepRules(ctx, func(string) bool { return false }), c.removeNetwork(ctx), c.letAllGo(ctx))
	return errors.Join(errs...)
}

// startPatience is how long a container may take from its making to its start.
const startPatience = 10 * time.Second

// sweepHelpers removes helpers whose process was killed before it started them,
// and those that did not go with their command. Nothing tells whose they are.
func (c *Cluster) sweepHelpers(ctx context.Context) error {
	list, err := c.labelled(ctx, labelKind+"="+kindHelper)
	for _, summary := range list {
		over := summary.State == container.StateCreated || summary.State == container.StateExited || summary.State == container.StateDead
		if over && time.Since(time.Unix(summary.Created, 0)) > startPatience {
			err = errors.Join(err, c.removeContainer(ctx, summary.ID))
		}
	}
	return err
}
