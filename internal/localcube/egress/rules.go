package egress

import (
	"fmt"
	"net/netip"
	"slices"
)

// MaxEntries is how many distinct networks an allow or a deny set may hold, the
// built-in ones included, as in CubeVS.
const MaxEntries = 8192

// Rules is what a sandbox may reach. The zero value lets nothing out.
type Rules struct {
	// Internet is Cube's allow_internet_access: true denies the five built-in
	// ranges and Deny, false denies everything.
	Internet bool
	// Allow are IPv4 networks that pass whatever is denied. Host bits are ignored.
	Allow []netip.Prefix
	// Deny are IPv4 networks that do not pass unless allowed.
	Deny []netip.Prefix
	// DNS are resolvers that may be asked whatever is denied: their port 53, by
	// UDP and TCP, and nothing else of them. When Cube opens one is for the
	// caller to decide; empty opens none.
	DNS []netip.Addr
}

// A Verdict is what becomes of a packet.
type Verdict string

// The two verdicts.
const (
	Pass Verdict = "pass"
	Drop Verdict = "drop"
)

// Decide tells what becomes of a packet that the sandbox sends to addr of its
// own accord, unless it asks one of DNS. It is the kernel's program in words,
// but for Target.Network.
func (r Rules) Decide(addr netip.Addr) Verdict {
	switch {
	case !addr.Is4(), covers(never(), addr):
		return Drop
	case covers(r.Allow, addr):
		return Pass
	case covers(r.denied(), addr):
		return Drop
	}
	return Pass
}

// DecideQuery is Decide for a packet to port 53 of addr, by UDP or TCP.
func (r Rules) DecideQuery(addr netip.Addr) Verdict {
	if covers(r.resolvers(), addr) && !covers(never(), addr) {
		return Pass
	}
	return r.Decide(addr)
}

// Check finds what the kernel cannot be told: networks that are not IPv4, and
// more of them than CubeVS takes. The error names the network.
func (r Rules) Check() error {
	for _, set := range []struct {
		name     string
		prefixes []netip.Prefix
	}{{"allow_out", slices.Concat(r.Allow, r.resolvers())}, {"deny_out", r.denied()}} {
		for _, p := range set.prefixes {
			if !p.IsValid() || !p.Addr().Is4() {
				return fmt.Errorf("%s has %s: write an IPv4 network such as 10.0.0.0/16", set.name, p)
			}
		}
		if n := distinct(set.prefixes); n > MaxEntries {
			return fmt.Errorf("network.%s_v2 exceeds maximum entries: got %d, max %d", set.name, n, MaxEntries)
		}
	}
	return nil
}

func (r Rules) resolvers() []netip.Prefix {
	var list []netip.Prefix
	for _, addr := range r.DNS {
		list = append(list, netip.PrefixFrom(addr, addr.BitLen()))
	}
	return list
}

func (r Rules) denied() []netip.Prefix {
	if !r.Internet {
		return append(slices.Clone(r.Deny), netip.PrefixFrom(netip.IPv4Unspecified(), 0))
	}
	return append(slices.Clone(r.Deny), builtIn()...)
}

// builtIn are CubeVS's ranges that internet access does not open.
func builtIn() []netip.Prefix {
	return parse("10.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.168.0.0/16")
}

// never are destinations that no rule opens: a packet to them has no business
// on the link, and some hosts route 127.0.0.0/8 to their own services.
func never() []netip.Prefix {
	return parse("0.0.0.0/8", "127.0.0.0/8", "224.0.0.0/3")
}

func parse(texts ...string) []netip.Prefix {
	prefixes := make([]netip.Prefix, len(texts))
	for i, text := range texts {
		prefixes[i] = netip.MustParsePrefix(text)
	}
	return prefixes
}

func covers(prefixes []netip.Prefix, addr netip.Addr) bool {
	return slices.ContainsFunc(prefixes, func(p netip.Prefix) bool { return p.Contains(addr) })
}

func distinct(prefixes []netip.Prefix) int {
	seen := make(map[netip.Prefix]bool, len(prefixes))
	for _, p := range prefixes {
		seen[p.Masked()] = true
	}
	return len(seen)
}
