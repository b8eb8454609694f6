package sandbox

import (
	"cmp"
	"context"
	"net"
	"net/netip"
	"slices"
	"time"

	"github.com/hermesbox/hermesbox/internal/cube"
	"github.com/hermesbox/hermesbox/internal/node"
)

// Scope is what Cube calls a node, to have a sandbox put there; nothing where
// Cube does not list it. A Cube that lists none may know its address.
func (c *Client) Scope(ctx context.Context, n node.Node) []string {
	known, err := c.Cube.Nodes(ctx)
	if address := c.Addresses[n.Name()]; err != nil && address != "" {
		return append(resolve(ctx, address), address)[:1]
	}
	return c.ScopeAmong(ctx, n.Name(), known)
}

// ScopeAmong is Scope where it is known which nodes Cube lists. A node goes by its
// name there, or by its address or what that resolves to.
func (c *Client) ScopeAmong(ctx context.Context, name string, known []cube.Node) []string {
	calls := []string{name}
	if address := c.Addresses[name]; address != "" {
		calls = append(calls, address)
	}
	if found := listed(known, calls); found != nil || len(calls) == 1 || len(known) == 0 {
		return found
	}
	return listed(known, resolve(ctx, calls[1]))
}

// listed is the id of the node that Cube calls by one of the names or addresses.
func listed(known []cube.Node, calls []string) []string {
	for _, k := range known {
		if slices.Contains(calls, k.ID) || k.IP != "" && slices.Contains(calls, k.IP) {
			return []string{k.ID}
		}
	}
	return nil
}

// resolveTimeout is how long a node's name may take to be resolved.
const resolveTimeout = 3 * time.Second

// resolve gives the addresses of a host, version 4 first, as Cube has them; none for an
// address, and where the name leads nowhere from here.
func resolve(ctx context.Context, host string) []string {
	if _, err := netip.ParseAddr(host); err == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, resolveTimeout)
	defer cancel()
	found, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil
	}
	slices.SortStableFunc(found, func(a, b netip.Addr) int { return cmp.Compare(a.Unmap().BitLen(), b.Unmap().BitLen()) })
	var out []string
	for _, a := range found {
		out = append(out, a.Unmap().String())
	}
	return out
}
