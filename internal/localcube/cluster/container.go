package cluster

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/network"
	"github.com/docker/go-connections/nat"
)

// boot makes the container and starts it, with its outbound rules in place.
// What it made is in b even where it fails: discard it.
func (c *Cluster) boot(ctx context.Context, b *box) error {
	rules, err := b.policy(nil).rules()
	if err != nil {
		return err
	}
	if b.spec.Resolvers, err = c.resolvers(ctx); err != nil {
		return fmt.Errorf("finding the resolvers of the sandboxes: %w", err)
	}
	config, host, err := c.container(b)
	if err != nil {
		return err
	}
	if err := c.ensureNetwork(ctx); err != nil { // somebody may have pruned it
		return err
	}
	made, err := c.docker.ContainerCreate(ctx, config, host, &network.NetworkingConfig{}, nil, "hermesbox-"+b.spec.ID)
	if err != nil {
		return b.createError(err)
	}
	b.mu.Lock()
	b.container = made.ID
	b.mu.Unlock()
	return c.launch(ctx, b, rules)
}

// launch starts a container that exists.
func (c *Cluster) launch(ctx context.Context, b *box, rules Rules) error {
	if err := c.docker.ContainerStart(ctx, b.container, container.StartOptions{}); err != nil {
		return b.createError(err)
	}
	return c.settle(ctx, b, rules)
}

// settle reads where a started container can be reached, and has its rules enforced.
func (c *Cluster) settle(ctx context.Context, b *box, rules Rules) error {
	found, err := c.docker.ContainerInspect(ctx, b.container)
	if err != nil {
		return fmt.Errorf("looking at the container: %w", err)
	}
	b.learn(found)
	if !found.State.Running {
		return fmt.Errorf("container exited with code %d", found.State.ExitCode)
	}
	return c.enforce(ctx, b, found, rules)
}

// learn keeps what an inspection says.
func (b *box) learn(found container.InspectResponse) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.exited = !found.State.Running
	if b.state != StatePausing {
		b.state = StateRunning
		if found.State.Paused {
			b.state = StatePaused
		}
	}
	b.ip, b.published = "", map[int]string{}
	for _, n := range found.NetworkSettings.Networks {
		b.ip = or(b.ip, n.IPAddress)
	}
	for port, bindings := range found.NetworkSettings.Ports {
		for _, binding := range bindings {
			b.published[port.Int()] = binding.HostIP + ":" + binding.HostPort
		}
	}
}

// container is the Engine's form of a box.
func (c *Cluster) container(b *box) (*container.Config, *container.HostConfig, error) {
	labels, err := b.labels(c.instance())
	if err != nil {
		return nil, nil, err
	}
	o := b.spec.Overrides
	config := &container.Config{
		Image: b.spec.Image, Labels: labels, Entrypoint: o.Command, Cmd: o.Args, WorkingDir: o.WorkingDir,
		ExposedPorts: nat.PortSet{}, Hostname: "sandbox",
	}
	for _, e := range o.Envs {
		config.Env = append(config.Env, e.Key+"="+e.Value)
	}
	host := &container.HostConfig{
		NetworkMode: container.NetworkMode(c.networkName()), PortBindings: nat.PortMap{}, Mounts: c.dockerMounts(b.spec.Mounts), Resources: c.limits(o.resources()),
		DNS: b.servers(),
	}
	for _, port := range publishedPorts(b.spec.Ports) {
		p := nat.Port(strconv.Itoa(port) + "/tcp")
		config.ExposedPorts[p] = struct{}{}
		host.PortBindings[p] = []nat.PortBinding{{HostIP: "127.0.0.1"}}
	}
	return config, host, nil
}

// publishedPorts are those of the template and the command service's.
func publishedPorts(ports []int) []int {
	for _, p := range ports {
		if p == EnvdPort {
			return ports
		}
	}
	return append([]int{EnvdPort}, ports...)
}

// limits are the template's, CPU at most what the Engine has: it refuses more.
func (c *Cluster) limits(r Resources) container.Resources {
	cpu := millicores(r.CPU)
	if most := int64(c.cpus) * 1000; cpu > most {
		cpu = most
	}
	return container.Resources{NanoCPUs: cpu * 1_000_000, Memory: memoryLimit(r.Mem)}
}

// memoryLimit is 0, no limit, for what Docker would refuse as too small or huge.
func memoryLimit(mem string) int64 {
	const least, most = 6 << 20, 1 << 50
	if n := byteSize(mem); n >= least && n <= most {
		return n
	}
	return 0
}

// createError words the Engine's refusals as a node does.
func (b *box) createError(err error) error {
	text := err.Error()
	if errdefs.IsNotFound(err) && strings.Contains(text, "No such image") {
		return fault(CodeNode, "the image of template %s is no longer on the Docker Engine: %s", b.spec.Template, b.spec.Image)
	}
	for i, m := range b.spec.Mounts {
		if strings.HasSuffix(text, "bind source path does not exist: "+m.source) {
			mode := "rw"
			if m.ReadOnly {
				mode = "ro"
			}
			return fault(CodeNode, "prepareHostDirVolume: bind mount %s -> /data/cubelet/hostdir/%s/%s/hostdir-%d: no such file or directory",
				m.HostPath, b.spec.ID, mode, i)
		}
	}
	return fault(CodeNode, "%s", strings.TrimPrefix(text, "Error response from daemon: "))
}

// discard removes what boot made. It does not end with ctx's request.
func (c *Cluster) discard(b *box) error {
	ctx, cancel := c.detached(c.ctx)
	defer cancel()
	var err error
	if id := b.containerID(); id != "" {
		err = c.removeContainer(ctx, id)
	}
	return errors.Join(err, c.lift(ctx, b))
}

// removeContainer removes with all; one that is gone or going is fine.
func (c *Cluster) removeContainer(ctx context.Context, id string) error {
	err := c.docker.ContainerRemove(ctx, id, container.RemoveOptions{Force: true, RemoveVolumes: true})
	if err == nil || errdefs.IsNotFound(err) || strings.Contains(err.Error(), "already in progress") {
		return nil
	}
	return fmt.Errorf("removing the container: %w", err)
}
