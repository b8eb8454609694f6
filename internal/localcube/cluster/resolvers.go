package cluster

import (
	"context"
	"errors"
	"io/fs"
	"net/netip"
	"os"
	"strings"
)

// defaultResolver is whom a cluster's sandboxes ask where neither template nor node names a resolver.
func defaultResolver() netip.Addr { return netip.AddrFrom4([4]byte{119, 29, 29, 29}) }

// maxResolvers is how many of them programs look at.
const maxResolvers = 3

// resolverFiles name the Engine's resolvers. The second has those behind a
// systemd-resolved, whose own address is a loopback one.
func resolverFiles() []string {
	return []string{"/etc/resolv.conf", "/run/systemd/resolve/resolv.conf"}
}

// resolvers are the node's, for sandboxes whose template names none: those of
// the options, else the Engine's. Loopback addresses are left out: Docker would
// ask those from the Engine's side, where no rules are. Where nothing is
// enforced there are none, and Docker chooses.
func (c *Cluster) resolvers(ctx context.Context) ([]netip.Addr, error) {
	if len(c.opts.DNS) > 0 || !c.out.works() {
		return c.opts.DNS, nil
	}
	host, err := c.out.host(ctx)
	if err != nil {
		return nil, err
	}
	return resolversBelow(strings.TrimSuffix(host, "/ns/net") + "/root")
}

// resolversBelow reads the files of the machine whose root directory is at root.
func resolversBelow(root string) ([]netip.Addr, error) {
	for _, name := range resolverFiles() {
		text, err := os.ReadFile(root + name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		if list := parseResolvers(string(text)); len(list) > 0 {
			return list, nil
		}
	}
	return []netip.Addr{defaultResolver()}, nil
}

// parseResolvers reads the IPv4 name servers of a resolv.conf that a sandbox can ask.
func parseResolvers(text string) []netip.Addr {
	var list []netip.Addr
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) < 2 || fields[0] != "nameserver" || len(list) == maxResolvers {
			continue
		}
		addr, err := netip.ParseAddr(fields[1])
		if err == nil && addr.Is4() && !addr.IsLoopback() && !addr.IsUnspecified() && !addr.IsMulticast() {
			list = append(list, addr)
		}
	}
	return list
}

// servers are the name servers of a box's container.
func (b *box) servers() []string {
	if b.namesResolvers() {
		return b.spec.Overrides.DNS.Servers
	}
	var list []string
	for _, addr := range b.spec.Resolvers {
		list = append(list, addr.String())
	}
	return list
}

// namesResolvers reports whether the template names resolvers.
func (b *box) namesResolvers() bool {
	return b.spec.Overrides.DNS != nil && len(b.spec.Overrides.DNS.Servers) > 0
}

// opened are the resolvers whose port 53 is open besides the rules. Those that a
// template names have to be allowed by it, as on a cluster. The node's may be
// private where a cluster's is public, so they count as public: open with the
// internet, unless denied by name.
func (b *box) opened(rules Rules) []netip.Addr {
	if b.namesResolvers() || !rules.Internet {
		return nil
	}
	var list []netip.Addr
	for _, addr := range b.spec.Resolvers {
		if !covers(rules.Deny, addr) {
			list = append(list, addr)
		}
	}
	return list
}

func covers(list []netip.Prefix, addr netip.Addr) bool {
	for _, p := range list {
		if p.Contains(addr) {
			return true
		}
	}
	return false
}
