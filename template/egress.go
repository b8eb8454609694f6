package template

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/hermesbox/hermesbox/internal/config"
	"github.com/hermesbox/hermesbox/internal/cube"
)

// Egress is what sandboxes of a template may reach. An address is looked up
// among what is allowed, then among what is denied, and else is open. The
// public internet is denied by the switch, private networks always are.
type Egress struct {
	// Switch is the internet access switch; nil leaves it to Cube, which opens.
	Switch *bool
	// Allow and Deny are canonical IPv4 networks.
	Allow, Deny []netip.Prefix
	// Names are entries of a stored policy that are no networks: Cube since
	// 0.3.0 allows domains. No spec of ours has any.
	Names []string
}

// builtin are the networks that Cube denies while the internet is open.
var builtin = []netip.Prefix{
	netip.MustParsePrefix("10.0.0.0/8"),
	netip.MustParsePrefix("127.0.0.0/8"),
	netip.MustParsePrefix("169.254.0.0/16"),
	netip.MustParsePrefix("172.16.0.0/12"),
	netip.MustParsePrefix("192.168.0.0/16"),
}

var (
	everything = netip.MustParsePrefix("0.0.0.0/0")
	metadata   = netip.MustParseAddr("169.254.169.254")
)

// ParseNetworks reads a list of canonical IPv4 networks; errors are those of
// config.ParseCIDR.
func ParseNetworks(list []string) ([]netip.Prefix, error) {
	var out []netip.Prefix
	for _, text := range list {
		p, err := config.ParseCIDR(text)
		if err != nil {
			return nil, fmt.Errorf("reading a network: %w", err)
		}
		out = append(out, p)
	}
	return out, nil
}

// Internet tells whether the public internet is open.
func (e Egress) Internet() bool { return e.Switch == nil || *e.Switch }

// Open tells whether an address can be reached, and by which rule.
func (e Egress) Open(addr netip.Addr) (open bool, rule string) {
	if p, ok := covering(e.Allow, addr); ok {
		return true, "allowed by " + p.String()
	}
	if !e.Internet() {
		return false, "internet access is off"
	}
	if p, ok := covering(e.Deny, addr); ok {
		return false, "denied by " + p.String()
	}
	if p, ok := covering(builtin, addr); ok {
		return false, "in " + p.String() + ", which internet access does not open"
	}
	return true, "internet access is on"
}

// covering is the longest of the networks that holds addr.
func covering(list []netip.Prefix, addr netip.Addr) (longest netip.Prefix, found bool) {
	for _, p := range list {
		if p.Contains(addr) && (!found || p.Bits() > longest.Bits()) {
			longest, found = p, true
		}
	}
	return longest, found
}

// covers tells whether all of q is in p.
func covers(p, q netip.Prefix) bool { return p.Bits() <= q.Bits() && p.Contains(q.Addr()) }

func (e Egress) check() string {
	for _, p := range slices.Concat(e.Allow, e.Deny) {
		if !p.IsValid() || !p.Addr().Is4() || p != p.Masked() {
			return fmt.Sprintf("network %s is no canonical IPv4 network", p)
		}
	}
	allow := sorted(e.Allow, netip.Prefix.Compare)
	deny := sorted(slices.Concat(e.Deny, e.closed()), netip.Prefix.Compare)
	switch {
	case len(allow) > maxNetworks:
		return fmt.Sprintf("allowed networks are %d, Cube takes at most %d", len(allow), maxNetworks)
	case len(deny) > maxNetworks:
		return fmt.Sprintf("denied networks are %d with Cube's own, it takes at most %d", len(deny), maxNetworks)
	}
	return ""
}

// closed are the networks that Cube itself denies.
func (e Egress) closed() []netip.Prefix {
	if e.Internet() {
		return builtin
	}
	return []netip.Prefix{everything}
}

// network is the policy as Cube takes it; nil where nothing is said.
func (e Egress) network() *cube.Network {
	if e.Switch == nil && len(e.Allow)+len(e.Deny) == 0 {
		return nil
	}
	return &cube.Network{Internet: e.Switch, Allow: texts(e.Allow), Deny: texts(e.Deny)}
}

func texts(list []netip.Prefix) []string {
	out := make([]string, 0, len(list))
	for _, p := range list {
		out = append(out, p.String())
	}
	return out
}

// storedEgress reads a policy as Cube reads it: a bare address is one host,
// host bits do not count, and what is no network is a name.
func storedEgress(n *cube.Network) Egress {
	if n == nil {
		return Egress{}
	}
	e := Egress{Switch: n.Internet}
	read := func(list []string) (out []netip.Prefix) {
		for _, text := range list {
			if !strings.Contains(text, "/") {
				text += "/32"
			}
			if p, err := netip.ParsePrefix(text); err == nil && p.Addr().Is4() {
				out = append(out, p.Masked())
			} else {
				e.Names = append(e.Names, strings.TrimSuffix(text, "/32"))
			}
		}
		return out
	}
	e.Allow, e.Deny = read(n.Allow), read(n.Deny)
	return e
}

// same tells whether two policies let the same through by the same rules.
func (e Egress) same(other Egress) bool {
	equal := func(a, b []netip.Prefix) bool {
		return slices.Equal(sorted(a, netip.Prefix.Compare), sorted(b, netip.Prefix.Compare))
	}
	return e.Internet() == other.Internet() && equal(e.Allow, other.Allow) && equal(e.Deny, other.Deny) &&
		slices.Equal(e.Names, other.Names)
}
