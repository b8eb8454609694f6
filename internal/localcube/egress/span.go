package egress

import (
	"encoding/binary"
	"net/netip"
	"slices"
)

// A span is a range of IPv4 addresses as numbers, both ends included.
type span struct{ first, last uint32 }

// spans merges IPv4 networks into the fewest disjoint ranges, ascending. The
// kernel's interval sets take no overlaps.
func spans(prefixes []netip.Prefix) []span {
	all := make([]span, len(prefixes))
	for i, p := range prefixes {
		all[i] = spanOf(p)
	}
	slices.SortFunc(all, func(a, b span) int {
		return int(int64(a.first) - int64(b.first))
	})
	var merged []span
	for _, s := range all {
		if n := len(merged); n > 0 && uint64(s.first) <= uint64(merged[n-1].last)+1 {
			merged[n-1].last = max(merged[n-1].last, s.last)
			continue
		}
		merged = append(merged, s)
	}
	return merged
}

func spanOf(p netip.Prefix) span {
	first := number(p.Masked().Addr())
	return span{first: first, last: first | uint32(1<<(32-p.Bits())-1)}
}

func number(addr netip.Addr) uint32 {
	b := addr.As4()
	return binary.BigEndian.Uint32(b[:])
}
