package template

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// Severity is how much a finding matters.
type Severity string

// The severities. A policy with an error cannot work, one with a warning
// may not do what it seems to, a note explains.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
	Note    Severity = "note"
)

// Finding is something that lint found.
type Finding struct {
	Severity Severity `json:"severity"`
	ID       string   `json:"id"`
	Detail   string   `json:"detail"`
	Remedy   string   `json:"remedy"` // empty where nothing is to be done
}

// cubeResolver is what a sandbox asks for names where neither the template nor
// the node names a resolver.
var cubeResolver = netip.MustParseAddr("119.29.29.29")

// Lint judges a spec's outbound policy, against the model endpoints that
// sandboxes are to reach. It asks nobody: host names among the endpoints are
// not resolved. Errors come first.
func Lint(s Spec, endpoints []string) []Finding {
	targets, found := readEndpoints(endpoints)
	found = slices.Concat(found, lintSpec(s), lintWide(s.Egress, targets), lintShadowed(s.Egress), lintUseless(s.Egress),
		lintResolvers(s), lintTargets(s.Egress, targets))
	rank := map[Severity]int{Error: 0, Warning: 1, Note: 2}
	slices.SortStableFunc(found, func(a, b Finding) int { return rank[a.Severity] - rank[b.Severity] })
	return found
}

func lintSpec(s Spec) []Finding {
	if s.Image == "" {
		s.Image = "any" // lint needs none
	}
	if err := s.Check(); err != nil {
		return []Finding{{Error, "spec", err.Error(), "correct it; nothing would be sent like this"}}
	}
	if s.Egress.Internet() && len(s.Egress.Allow) == 0 {
		return []Finding{{Note, "lan", "internet access opens the public internet only: " + strings.Join(texts(builtin), ", ") + " stay closed", "to reach a host there, allow it: --allow-out-cidr 10.10.0.5/32"}}
	}
	return nil
}

// lintWide finds allowed networks that open more than a network of one's own.
func lintWide(e Egress, targets []target) []Finding {
	var out []Finding
	for _, p := range sorted(e.Allow, netip.Prefix.Compare) {
		switch {
		case p == everything:
			out = append(out, Finding{Warning, "allow-all", "0.0.0.0/0 opens everything, all private networks and the metadata address 169.254.169.254 among it; no sandbox can take that back", e.narrower(targets)})
		case p.Contains(metadata):
			out = append(out, Finding{Warning, "metadata", p.String() + " opens the metadata address 169.254.169.254, which may hand out the node's credentials", e.narrower(targets)})
		case slices.ContainsFunc(builtin, func(b netip.Prefix) bool { return covers(p, b) && p != b }):
			out = append(out, Finding{Warning, "allow-wide", p.String() + " opens whole private networks", e.narrower(targets)})
		case slices.Contains(builtin, p):
			out = append(out, Finding{Warning, "allow-wide", p.String() + " opens a whole private network", e.narrower(targets)})
		}
	}
	return out
}

// narrower says what to allow in place of a wide network.
func (e Egress) narrower(targets []target) string {
	hosts := e.needed(targets)
	if len(hosts) == 0 {
		return "allow the networks that the agent needs, such as 10.10.0.0/16; sandbox.model_endpoints names them for a better answer"
	}
	return fmt.Sprintf("for the model endpoints it is enough to allow %s", strings.Join(texts(hosts), ", "))
}

// needed are the hosts that the switch alone does not open.
func (e Egress) needed(targets []target) []netip.Prefix {
	bare := Egress{Switch: e.Switch}
	var out []netip.Prefix
	for _, t := range targets {
		if open, _ := bare.Open(t.addr); !open {
			out = append(out, netip.PrefixFrom(t.addr, t.addr.BitLen()))
		}
	}
	return sorted(out, netip.Prefix.Compare)
}

// lintShadowed finds denied networks of which an allowed one opens some or all.
func lintShadowed(e Egress) []Finding {
	var out []Finding
	for _, deny := range sorted(e.Deny, netip.Prefix.Compare) {
		for _, allow := range sorted(e.Allow, netip.Prefix.Compare) {
			switch {
			case covers(allow, deny):
				out = append(out, Finding{Warning, "deny-defeated", fmt.Sprintf("denying %s does nothing: allowing %s defeats it, whichever is narrower", deny, allow), fmt.Sprintf("drop the denial, or allow networks that leave %s out", deny)})
			case covers(deny, allow):
				out = append(out, Finding{Note, "deny-pierced", fmt.Sprintf("%s stays open though %s is denied: what is allowed wins", allow, deny), ""})
			}
		}
	}
	return out
}

// lintUseless finds entries that change nothing.
func lintUseless(e Egress) []Finding {
	var out []Finding
	for _, p := range sorted(e.Deny, netip.Prefix.Compare) {
		switch i := slices.IndexFunc(e.closed(), func(b netip.Prefix) bool { return covers(b, p) }); {
		case i >= 0 && e.Internet() && e.closed()[i] == p:
			out = append(out, Finding{Note, "deny-needless", fmt.Sprintf("%s is closed anyway: no sandbox reaches it unless it is allowed", p), ""})
		case i >= 0 && e.Internet():
			out = append(out, Finding{Note, "deny-needless", fmt.Sprintf("%s is closed anyway, as part of %s", p, e.closed()[i]), ""})
		case i >= 0:
			out = append(out, Finding{Note, "deny-needless", p.String() + " is closed anyway: internet access is off", ""})
		}
	}
	for _, p := range sorted(e.Allow, netip.Prefix.Compare) {
		wider := slices.IndexFunc(e.Allow, func(q netip.Prefix) bool { return q != p && covers(q, p) })
		if wider >= 0 {
			out = append(out, Finding{Note, "allow-needless", fmt.Sprintf("%s is allowed anyway, as part of %s", p, e.Allow[wider]), ""})
		}
	}
	return out
}

// lintResolvers finds resolvers that sandboxes cannot reach.
func lintResolvers(s Spec) []Finding {
	servers := s.DNS
	if len(servers) == 0 {
		servers = []string{cubeResolver.String()}
	}
	var out []Finding
	for _, text := range servers {
		addr, err := netip.ParseAddr(text)
		if err != nil || !addr.Is4() {
			continue // checked elsewhere; sandboxes have no IPv6
		}
		if open, rule := s.Egress.Open(addr); !open {
			out = append(out, Finding{
				Warning, "resolver", fmt.Sprintf("names may not resolve: the resolver %s is closed (%s)", addr, rule),
				fmt.Sprintf("allow %s/32, or name another resolver with --dns", addr),
			})
		}
	}
	return out
}
