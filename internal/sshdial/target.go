package sshdial

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"unicode"
)

// Target is where to connect to, as a user writes it.
type Target struct {
	// User is empty where ssh_config or the local user decides.
	User string
	// Host is a name, an address, or an alias of ssh_config.
	Host string
	// Port is 0 where ssh_config decides, 22 by default.
	Port int
}

// TargetError is a target that cannot be read.
type TargetError struct {
	Target, Reason string
}

// Error names the target.
func (e *TargetError) Error() string {
	return fmt.Sprintf("ssh target %q: %s", e.Target, e.Reason)
}

// String writes the target as ParseTarget reads it.
func (t Target) String() string {
	s := t.Host
	if strings.Contains(s, ":") {
		s = "[" + s + "]"
	}
	if t.User != "" {
		s = t.User + "@" + s
	}
	if t.Port != 0 {
		s += ":" + strconv.Itoa(t.Port)
	}
	return s
}

// ParseTarget reads [user@]host[:port]. An IPv6 address with a port stands in
// brackets. The error is a *TargetError.
func ParseTarget(s string) (Target, error) {
	t, reason := splitTarget(s)
	if reason == "" {
		reason = t.fault()
	}
	if reason != "" {
		return Target{}, &TargetError{Target: s, Reason: reason}
	}
	return t, nil
}

func splitTarget(s string) (t Target, reason string) {
	rest := s
	if i := strings.LastIndexByte(s, '@'); i >= 0 {
		t.User, rest = s[:i], s[i+1:]
		if t.User == "" {
			return t, "the user before @ is empty"
		}
	}
	var port string
	var hasPort bool
	switch {
	case strings.HasPrefix(rest, "["):
		inner, after, ok := strings.Cut(rest[1:], "]")
		if !ok {
			return t, "the bracket is not closed"
		}
		t.Host = inner
		port, hasPort = strings.CutPrefix(after, ":")
		if !hasPort && after != "" {
			return t, "only :port can follow the bracket"
		}
	case strings.Count(rest, ":") > 1:
		if _, err := netip.ParseAddr(rest); err != nil {
			return t, "more than one colon; an IPv6 address with a port is written [address]:port"
		}
		t.Host = rest
	default:
		t.Host, port, hasPort = strings.Cut(rest, ":")
	}
	if hasPort {
		if t.Port, reason = parsePort(port); reason != "" {
			return t, reason
		}
	}
	return t, ""
}

func parsePort(s string) (port int, reason string) {
	port, err := strconv.Atoi(s)
	if err != nil || port < 1 || port > 65535 || s[0] == '+' {
		return 0, fmt.Sprintf("port %q is not a number from 1 to 65535", s)
	}
	return port, ""
}

// fault says what is wrong with the parts, or nothing.
func (t Target) fault() string {
	odd := func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }
	switch {
	case t.Host == "":
		return "the host is empty"
	case strings.HasPrefix(t.Host, "-") || strings.HasPrefix(t.User, "-"):
		return "neither user nor host can begin with -"
	case strings.IndexFunc(t.Host+t.User, odd) >= 0:
		return "neither user nor host can hold spaces or control characters"
	case strings.ContainsAny(t.Host, "[]/@"):
		return "the host holds a character that no host has"
	}
	return ""
}
