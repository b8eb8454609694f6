package cluster

import (
	"net/netip"
	"regexp"
	"slices"
	"strings"
)

// Network is an outbound policy as requests give it.
type Network struct {
	Internet *bool    `json:"allowInternetAccess,omitempty"`
	Allow    []string `json:"allowOut,omitempty"`
	Deny     []string `json:"denyOut,omitempty"`
	// PublicTraffic false demands a token from visitors of the sandbox's ports.
	PublicTraffic *bool `json:"allowPublicTraffic,omitempty"`
	// MaskHost is the Host that programs inside see; ${PORT} is the port asked for.
	MaskHost string `json:"maskRequestHost,omitempty"`
}

const (
	maxEntries = 8192
	maxDomains = 1024
	// DomainRule is the text for domains in allow_out where all else is open.
	DomainRule = "when specifying allowed domains in allow_out, you must disable public outbound traffic or include '0.0.0.0/0' in deny_out to block all other traffic"
)

// builtIn are the ranges that internet access does not open.
var builtIn = []netip.Prefix{
	netip.MustParsePrefix("10.0.0.0/8"),
	netip.MustParsePrefix("127.0.0.0/8"),
	netip.MustParsePrefix("169.254.0.0/16"),
	netip.MustParsePrefix("172.16.0.0/12"),
	netip.MustParsePrefix("192.168.0.0/16"),
}

// check refuses domains where the default is open, and a MaskHost that is none;
// CIDRs are looked at only when a sandbox is made.
func (n *Network) check() error {
	if n.DomainsLoose() {
		return fault(CodeParams, "%s", DomainRule)
	}
	return n.checkMask()
}

var maskForm = regexp.MustCompile(`^[A-Za-z0-9._:\[\]-]*$`)

// checkMask refuses a MaskHost that is no Host: it would be more of the request than that.
func (n *Network) checkMask() error {
	if n == nil || maskForm.MatchString(strings.ReplaceAll(n.MaskHost, "${PORT}", "0")) {
		return nil
	}
	return fault(CodeParams, "invalid maskRequestHost: %q", n.MaskHost)
}

// DomainsLoose reports whether the policy allows domains but leaves all else open.
func (n *Network) DomainsLoose() bool {
	return n != nil && len(domains(n.Allow)) > 0 && (n.Internet == nil || *n.Internet) && !slices.Contains(n.Deny, "0.0.0.0/0")
}

// domains are the entries that look like names rather than addresses.
func domains(entries []string) []string {
	var names []string
	for _, e := range entries {
		if _, err := parsePrefix(e); err != nil && strings.ContainsAny(strings.ToLower(e), "ghijklmnopqrstuvwxyz") && strings.Contains(e, ".") && !strings.ContainsAny(e, " /:") {
			names = append(names, e)
		}
	}
	return names
}

// merge lays a request over a template's policy: its internet switch wins, its
// entries come on top. A sandbox cannot take away what the template allows.
func merge(template, request *Network) Network {
	var out Network
	for _, n := range []*Network{template, request} {
		if n == nil {
			continue
		}
		if n.Internet != nil {
			out.Internet = n.Internet
		}
		if n.PublicTraffic != nil {
			out.PublicTraffic = n.PublicTraffic
		}
		if n.MaskHost != "" {
			out.MaskHost = n.MaskHost
		}
		out.Allow = appendNew(out.Allow, n.Allow)
		out.Deny = appendNew(out.Deny, n.Deny)
	}
	return out
}

func appendNew[T comparable](list, more []T) []T {
	for _, e := range more {
		if !slices.Contains(list, e) {
			list = append(list, e)
		}
	}
	return list
}

// Rules is a policy with its entries parsed, ready to be enforced.
type Rules struct {
	Internet bool
	Allow    []netip.Prefix
	Deny     []netip.Prefix
}

// rules parses the entries, with the texts that CubeVS has for bad ones.
func (n Network) rules() (Rules, error) {
	out := Rules{Internet: n.Internet == nil || *n.Internet}
	names := domains(n.Allow)
	if len(names) > maxDomains {
		return out, tooMany("allow_out_domains", len(names), maxDomains)
	}
	if len(names) > 0 {
		return out, fault(CodeParams, "the local Cube enforces no domains in allow_out: %s", strings.Join(names, ", "))
	}
	var err error
	if out.Allow, err = prefixes(n.Allow); err != nil {
		return out, err
	}
	if out.Deny, err = prefixes(n.Deny); err != nil {
		return out, err
	}
	if len(out.Allow) > maxEntries {
		return out, tooMany("allow_out_v2", len(out.Allow), maxEntries)
	}
	if all := len(appendNew(slices.Clone(out.Deny), out.ownDeny())); all > maxEntries {
		return out, tooMany("deny_out_v2", all, maxEntries)
	}
	return out, nil
}

// ownDeny are the networks that CubeVS denies by itself; they count as the others do.
func (r Rules) ownDeny() []netip.Prefix {
	if !r.Internet {
		return []netip.Prefix{netip.PrefixFrom(netip.IPv4Unspecified(), 0)}
	}
	return builtIn
}

func tooMany(what string, got, most int) error {
	return fault(CodeParams, "network.%s exceeds maximum entries: got %d, max %d", what, got, most)
}

func prefixes(entries []string) ([]netip.Prefix, error) {
	var out []netip.Prefix
	for _, e := range entries {
		p, err := parsePrefix(e)
		if err != nil {
			return nil, fault(CodeParams, "invalid CIDR or IP: %s", e)
		}
		if !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	return out, nil
}

// parsePrefix reads an IPv4 CIDR or address; host bits are dropped, as CubeVS does.
func parsePrefix(text string) (netip.Prefix, error) {
	if addr, err := netip.ParseAddr(text); err == nil && addr.Is4() {
		return netip.PrefixFrom(addr, 32), nil
	}
	p, err := netip.ParsePrefix(text)
	if err == nil && !p.Addr().Is4() {
		return p, fault(CodeParams, "invalid CIDR or IP: %s", text)
	}
	return p.Masked(), err
}
