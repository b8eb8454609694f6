package config

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// ParseCIDR reads an IPv4 network in its one canonical form. Whatever a
// cluster would silently read as something else is an error that prints the
// network to write instead: host bits, leading zeros, an address without a
// length, IPv4 inside IPv6.
func ParseCIDR(s string) (netip.Prefix, error) {
	p, err := netip.ParsePrefix(s)
	if err != nil {
		return netip.Prefix{}, garbled(s)
	}
	if a := p.Addr(); a.Is4In6() && p.Bits() >= 96 {
		return netip.Prefix{}, instead(s, "is IPv4 written as IPv6", netip.PrefixFrom(a.Unmap(), p.Bits()-96))
	} else if !a.Is4() {
		return netip.Prefix{}, fmt.Errorf("%q is IPv6, which sandboxes do not have: write an IPv4 network", s)
	}
	if p != p.Masked() {
		return netip.Prefix{}, instead(s, "has host bits set", p)
	}
	return p, nil
}

// garbled finds out what a text that is no network was meant to be.
func garbled(s string) error {
	if a, err := netip.ParseAddr(s); err == nil && a.Is6() && !a.Is4In6() {
		return fmt.Errorf("%q is IPv6, which sandboxes do not have: write an IPv4 network", s)
	} else if err == nil {
		return instead(s, "has no length", netip.PrefixFrom(a.Unmap(), 32))
	}
	address, length, slash := strings.Cut(strings.TrimSpace(s), "/")
	if !slash {
		length = "32"
	}
	a, errAddress := netip.ParseAddr(withoutZeros(address))
	bits, errBits := strconv.Atoi(length)
	if errAddress != nil || errBits != nil || !a.Is4() || bits < 0 || bits > 32 {
		return fmt.Errorf("%q is no network: write an IPv4 network such as 10.0.0.0/16", short(s))
	}
	return instead(s, "is not written canonically", netip.PrefixFrom(a, bits))
}

// withoutZeros strips leading zeros; the numbers are then read as decimal.
func withoutZeros(address string) string {
	parts := strings.Split(address, ".")
	for i, part := range parts {
		if trimmed := strings.TrimLeft(part, "0"); part != "" && trimmed == "" {
			parts[i] = "0"
		} else {
			parts[i] = trimmed
		}
	}
	return strings.Join(parts, ".")
}

// instead is the error that prints the corrected value.
func instead(s, problem string, p netip.Prefix) error {
	return fmt.Errorf("%q %s: write %s", s, problem, p.Masked())
}

func checkEgress(c Egress) []finding {
	check := func(key, value string) []finding {
		_, err := ParseCIDR(value)
		if err == nil {
			return nil
		}
		return []finding{{key: key, problem: err.Error()}}
	}
	return slices.Concat(each("template.egress.allow", c.Allow, check), each("template.egress.deny", c.Deny, check))
}
