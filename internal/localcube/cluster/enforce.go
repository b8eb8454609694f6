package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"

	"github.com/docker/docker/api/types/container"

	"github.com/hermesbox/hermesbox/internal/localcube/egress"
)

// outbound is how rules are enforced here, if they are.
type outbound struct {
	host   string // the Engine's network namespace
	reason error  // nil where rules are enforced
	guard  func(context.Context) error
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
	namespace, err := egress.EngineNetNS(ctx, socket)
	if err != nil {
		return outbound{reason: fmt.Errorf("%w: %w", egress.ErrUnsupported, err)}
	}
	return outbound{host: namespace}
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
	target, err := c.target(b, found)
	if err != nil {
		return err
	}
	release, err := egress.Apply(ctx, target, egress.Rules{Internet: rules.Internet, Allow: rules.Allow, Deny: rules.Deny, DNS: b.resolvers(rules)})
	if err != nil {
		return fmt.Errorf("enforcing the outbound rules: %w", err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.release, b.enforced = release, found.State.StartedAt
	return nil
}

// enforcedFor is when the container was started that the rules are in force for.
func (b *box) enforcedFor() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.enforced
}

func (c *Cluster) target(b *box, found container.InspectResponse) (egress.Target, error) {
	out := egress.Target{ID: c.egressID(b.spec.ID), NetNS: fmt.Sprintf("/proc/%d/ns/net", found.State.Pid), Host: c.out.host}
	var gateway string
	bits := 0
	for _, n := range found.NetworkSettings.Networks {
		var err error
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
	names, err := egress.List(ctx, c.out.host)
	if err != nil {
		return err
	}
	for _, name := range names {
		id, ours := strings.CutPrefix(name, c.egressID(""))
		if ours && !keep(id) {
			err = errors.Join(err, egress.Remove(ctx, c.out.host, name))
		}
	}
	return err
}

// resolvers are those to open besides the rules. A template that names its own
// has to allow them, as on a cluster. Without any, a cluster's sandboxes use a
// public resolver; ours use the Engine's, which may be private, so it is opened
// where the internet is.
func (b *box) resolvers(rules Rules) []netip.Addr {
	if dns := b.spec.Overrides.DNS; dns != nil && len(dns.Servers) > 0 || !rules.Internet {
		return nil
	}
	text, _ := os.ReadFile("/etc/resolv.conf") // none: nothing to open
	var out []netip.Addr
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) < 2 || fields[0] != "nameserver" {
			continue
		}
		if addr, err := netip.ParseAddr(fields[1]); err == nil && addr.Is4() && !addr.IsLoopback() {
			out = append(out, addr)
		}
	}
	return out
}
