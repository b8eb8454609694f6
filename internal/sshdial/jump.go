package sshdial

import (
	"net/url"
	"strings"
)

// isJump says what is wrong with a value of ProxyJump.
func isJump(s string) string {
	if _, err := parseJump(s); err != nil {
		return err.Error()
	}
	return ""
}

// parseJump reads a list of jump hosts, the first to be reached first; none is
// no host.
func parseJump(s string) ([]Target, error) {
	if strings.EqualFold(s, "none") {
		return nil, nil
	}
	var hops []Target
	for hop := range strings.SplitSeq(s, ",") {
		t, err := parseHop(strings.TrimSpace(hop))
		if err != nil {
			return nil, err
		}
		hops = append(hops, t)
	}
	return hops, nil
}

// parseHop reads [user@]host[:port], or the same as a URL.
func parseHop(s string) (Target, error) {
	if !strings.HasPrefix(s, "ssh://") {
		return ParseTarget(s)
	}
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" {
		return Target{}, &TargetError{Target: s, Reason: "it is not ssh://[user@]host[:port]"}
	}
	user := ""
	if u.User != nil {
		user = u.User.Username() + "@"
	}
	return ParseTarget(user + u.Host)
}

// hop is one connection of a chain.
type hop struct {
	target Target
	set    *settings
}

// maxHops keeps chains that lead back to themselves from growing for ever.
const maxHops = 8

// route gives the connections that lead to a target, itself last. A hop named
// in a list is reached through those before it; the first of them by its own
// ProxyJump, as with OpenSSH.
func (d *Dialer) route(t Target) ([]hop, error) {
	set, err := d.configure(t)
	if err != nil {
		return nil, err
	}
	route := []hop{{t, set}}
	for {
		if route[0].set.jump == "" {
			return route, nil
		}
		jumps, err := parseJump(route[0].set.jump)
		if err != nil {
			return nil, err
		}
		before, err := d.hops(jumps)
		if err != nil {
			return nil, err
		}
		if before[len(before)-1].set.same(route[0].set) {
			return route, nil // Host * holds for the jump host too
		}
		route = append(before, route...)
		if len(route) > maxHops {
			return nil, set.jumpOption.fault("the jump hosts lead back to themselves")
		}
	}
}

func (d *Dialer) hops(jumps []Target) ([]hop, error) {
	var route []hop
	for _, j := range jumps {
		set, err := d.configure(j)
		if err != nil {
			return nil, err
		}
		route = append(route, hop{j, set})
	}
	return route, nil
}

// same tells whether both are one server and user.
func (s *settings) same(other *settings) bool {
	return strings.EqualFold(s.host, other.host) && s.port == other.port && s.user == other.user
}
