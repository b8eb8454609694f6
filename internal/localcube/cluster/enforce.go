package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"

	"github.com/docker/docker/api/types/container"

	"github.com/hermesbox/hermesbox/internal/localcube/egress"
)

// outbound is how rules are enforced here, if they are.
type outbound struct {
	socket string // the Engine's
	reason error  // nil where rules are enforced
}

// host finds the Engine's network namespace. It is asked for each time: an
// Engine that was started anew is another process.
func (o outbound) host(ctx context.Context) (string, error) {
	return egress.EngineNetNS(ctx, o.socket)
}

// works reports whether rules are enforced.
func (o outbound) works() bool { return o.reason == nil }

// findOutbound finds out whether rules can be enforced for containers of this Engine.
func findOutbound(ctx context.Context, host string) outbound {
	socket, ok := strings.CutPrefix(host, "unix://")
	if !ok {
		return outbound{reason: fmt.Errorf("%w: the Docker Engine at %s is not of this machine", egress.ErrUnsupported, host)}
	}
	if err := egress.Supported(); err != nil {
		return outbound{reason: err}
	}
	if _, err := egress.EngineNetNS(ctx, socket); err != nil {
		return outbound{reason: fmt.Errorf("%w: %w", egress.ErrUnsupported, err)}
	}
	return outbound{socket: socket}
}

// EgressEnforced is nil where outbound rules are enforced, else it says why not.
func (c *Cluster) EgressEnforced() error { return c.out.reason }

// policy is a box's outbound policy: the template's, and replaced or else the request's.
func (b *box) policy(replaced *Network) Network {
	if replaced == nil {
		replaced = b.spec.Network
	}
	return merge(b.spec.FromTpl, replaced)
}

// enforce puts rules in force for a running container, in place of those before.
func (c *Cluster) enforce(ctx context.Context, b *box, found container.InspectResponse, rules Rules) error {
	if !c.out.works() {
		return nil
	}
	target, err := c.target(ctx, b, found)
	if err != nil {
		return err
	}
	_, err = egress.Apply(ctx, target, egress.Rules{Internet: rules.Internet, Allow: rules.Allow, Deny: rules.Deny, DNS: b.opened(rules)})
	if err != nil {
		return fmt.Errorf("enforcing the outbound rules: %w", err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.enforced = found.State.StartedAt
	return nil
}

// renew is enforce for a container that somebody started anew; it has another link.
func (c *Cluster) renew(ctx context.Context, b *box, found container.InspectResponse) error {
	b.policyMu.Lock()
	defer b.policyMu.Unlock()
	if found.State.StartedAt == b.enforcedFor() {
		return nil
	}
	rules, err := b.policy(c.replacedNetwork(b.spec.ID)).rules()
	if err != nil {
		return err
	}
	return c.enforce(ctx, b, found, rules)
}

// lift removes the rules of a box that is gone.
func (c *Cluster) lift(ctx context.Context, b *box) error {
	b.mu.Lock()
	enforced := b.enforced
	b.enforced = ""
	b.mu.Unlock()
	if enforced == "" {
		return nil
	}
	host, err := c.out.host(ctx)
	if err != nil {
		return err
	}
	return egress.Remove(ctx, host, c.egressID(b.spec.ID))
}

// enforcedFor is when the container was started that the rules are in force for.
func (b *box) enforcedFor() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.enforced
}

func (c *Cluster) target(ctx context.Context, b *box, found container.InspectResponse) (egress.Target, error) {
	host, err := c.out.host(ctx)
	out := egress.Target{ID: c.egressID(b.spec.ID), NetNS: fmt.Sprintf("/proc/%d/ns/net", found.State.Pid), Host: host}
	if err != nil {
		return out, err
	}
	var gateway string
	bits := 0
	for _, n := range found.NetworkSettings.Networks {
		if out.Address, err = netip.ParseAddr(n.IPAddress); err != nil {
			return out, fmt.Errorf("reading the sandbox's address: %w", err)
		}
		if out.MAC, err = net.ParseMAC(n.MacAddress); err != nil {
			return out, fmt.Errorf("reading the sandbox's address: %w", err)
		}
		gateway, bits = n.Gateway, n.IPPrefixLen
	}
	addr, err := netip.ParseAddr(gateway)
	if err != nil {
		return out, fmt.Errorf("reading the sandbox's gateway: %w", err)
	}
	out.Network = netip.PrefixFrom(addr, bits)
	return out, nil
}

// egressID names a sandbox's rules on the host, which other local Cubes may share.
func (c *Cluster) egressID(id string) string { return c.instance()[:8] + "-" + id }

// sweepRules removes the rules of sandboxes that are gone.
func (c *Cluster) sweepRules(ctx context.Context, keep func(id string) bool) error {
	if !c.out.works() {
		return nil
	}
	host, err := c.out.host(ctx)
	if err != nil {
		return err
	}
	names, err := egress.List(ctx, host)
	if err != nil {
		return err
	}
	for _, name := range names {
		id, ours := strings.CutPrefix(name, c.egressID(""))
		if ours && !keep(id) {
			err = errors.Join(err, egress.Remove(ctx, host, name))
		}
	}
	return err
}
