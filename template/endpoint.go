package template

import (
	"fmt"
	"net/netip"
	"net/url"
)

// target is a model endpoint with an address.
type target struct {
	endpoint string
	addr     netip.Addr
}

// readEndpoints finds those that an outbound policy can be judged for.
func readEndpoints(endpoints []string) (targets []target, found []Finding) {
	for _, endpoint := range endpoints {
		u, err := url.Parse(endpoint)
		if err != nil || u.Hostname() == "" {
			found = append(found, Finding{Error, "endpoint", fmt.Sprintf("model endpoint %q is no address", endpoint), "write it as http://10.10.0.5:8000"})
			continue
		}
		addr, err := netip.ParseAddr(u.Hostname())
		switch {
		case err != nil:
			found = append(found, nameFinding(endpoint, u.Hostname()))
		case addr.Unmap().IsLoopback():
			found = append(found, Finding{Warning, "endpoint-loopback", fmt.Sprintf("model endpoint %s is the sandbox itself when seen from inside", endpoint), "name the address that other machines use"})
		case !addr.Is4():
			found = append(found, Finding{Error, "endpoint-ipv6", fmt.Sprintf("model endpoint %s: sandboxes have no IPv6", endpoint), "name its IPv4 address"})
		default:
			targets = append(targets, target{endpoint, addr})
		}
	}
	return targets, found
}

func nameFinding(endpoint, host string) Finding {
	if host == "localhost" {
		return Finding{Warning, "endpoint-loopback", fmt.Sprintf("model endpoint %s is the sandbox itself when seen from inside", endpoint), "name the address that other machines use"}
	}
	return Finding{
		Note, "endpoint-name", fmt.Sprintf("model endpoint %s is judged only once it is resolved, which lint does not do", endpoint),
		"where " + host + " has a private address, allow that address; a name in the LAN needs a resolver of the LAN too (--dns)",
	}
}

// lintTargets judges the endpoints, whose policy may be wrong in either way.
func lintTargets(e Egress, targets []target) []Finding {
	var out []Finding
	for _, t := range targets {
		if open, rule := e.Open(t.addr); open {
			out = append(out, Finding{Note, "endpoint-open", fmt.Sprintf("model endpoint %s is open: %s", t.endpoint, rule), ""})
		} else {
			out = append(out, Finding{
				Error, "endpoint-closed", fmt.Sprintf("model endpoint %s is closed: %s", t.endpoint, rule),
				fmt.Sprintf("allow %s/32: --allow-out-cidr %s/32, or template.egress.allow", t.addr, t.addr),
			})
		}
	}
	return out
}
