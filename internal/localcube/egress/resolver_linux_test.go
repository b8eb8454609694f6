package egress

import (
	"testing"
)

// TestResolver opens port 53 of a resolver, and nothing else.
func TestResolver(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s, target := w.sandbox(t)
	for _, addr := range everywhere() {
		echoAt(t, w.outside, addr+":53")
	}
	for _, test := range []struct {
		name  string
		rules Rules
		opens bool
	}{
		{"opened", Rules{DNS: addrs(lan)}, true},
		{"not opened", Rules{}, false},
		{"opened, whatever is denied", Rules{Internet: true, Deny: prefixes("0.0.0.0/0"), DNS: addrs(lan)}, true},
		{"the default", Rules{Internet: true}, false},
	} {
		mustApply(t, target, test.rules)
		for _, network := range []string{"udp", "tcp"} {
			want, within := Drop, patience
			if test.opens {
				want, within = Pass, enough
			}
			if err := wrong(want, network, reachAt(s, network, lan+":53", []byte("name?"), within)); err != nil {
				t.Errorf("%s: %s to the resolver: %v", test.name, network, err)
			}
			if err := wrong(Drop, network, reachAt(s, network, otherLAN+":53", []byte("name?"), patience)); err != nil {
				t.Errorf("%s: %s to another resolver: %v", test.name, network, err)
			}
		}
		expect(t, s, lan, Drop) // its other ports, and ping
	}
}

// TestResolverFragments sends the rest of a large datagram to port 53, which has no ports to judge by.
func TestResolverFragments(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s, target := w.sandbox(t)
	mustApply(t, target, Rules{DNS: addrs(lan)})
	payload := make([]byte, 9000)
	for i := range payload {
		payload[i] = 'x'
	}
	copy(payload[8000:], "the last fragment")
	left := arrives(t, w.host, "out0", "the last fragment", func() {
		if err := reachAt(s, "udp", lan+":53", payload, patience); err == nil {
			t.Error("a fragmented datagram was answered")
		}
	})
	if left {
		t.Error("a fragment without ports left the host")
	}
}
