package egress

import "testing"

func TestApply(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		rules Rules
		opens []string // of everywhere and the gateway
	}{
		{"nothing given", Rules{}, nil},
		{"internet", Rules{Internet: true}, []string{public}},
		{"internet and the LAN", Rules{Internet: true, Allow: prefixes("10.10.0.0/16")}, []string{lan, public}},
		{"all", Rules{Internet: true, Allow: prefixes("0.0.0.0/0")}, []string{lan, otherLAN, public, gateway}},
		{"allow beats deny", Rules{Internet: true, Allow: prefixes("203.0.113.5/32"), Deny: prefixes("203.0.113.0/24")}, []string{public}},
		{"deny", Rules{Internet: true, Deny: prefixes("203.0.0.0/16")}, nil},
		{"internet off, one address", Rules{Allow: prefixes("192.168.77.5/32")}, []string{otherLAN}},
		{"overlaps", Rules{Allow: prefixes("10.0.0.0/8 10.10.0.0/16 10.10.0.5/32")}, []string{lan}},
		{"the gateway", Rules{Allow: prefixes("172.31.0.1/32")}, []string{gateway}},
		{"a resolver, but for queries", Rules{DNS: addrs(lan)}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			s, target := w.sandbox(t)
			for _, addr := range append(everywhere(), gateway) {
				expect(t, s, addr, Pass) // or a later refusal would prove nothing
			}
			mustApply(t, target, test.rules)
			for _, addr := range append(everywhere(), gateway) {
				want := Drop
				for _, open := range test.opens {
					if open == addr {
						want = Pass
					}
				}
				expect(t, s, addr, want)
			}
		})
	}
}
