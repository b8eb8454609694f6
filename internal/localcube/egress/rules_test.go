package egress

import (
	"math"
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDecide(t *testing.T) {
	t.Parallel()
	internet := Rules{Internet: true}
	lanToo := Rules{Internet: true, Allow: prefixes("10.10.0.0/16")}
	all := Rules{Internet: true, Allow: prefixes("0.0.0.0/0")}
	for _, test := range []struct {
		name  string
		rules Rules
		pass  string
		drop  string
	}{
		{"zero", Rules{}, "", "1.1.1.1 203.0.113.5 10.10.0.5 100.64.0.1"},
		{
			"internet", internet, "1.1.1.1 203.0.113.5 100.64.0.1 9.255.255.255 11.0.0.0 172.15.255.255 172.32.0.0 192.167.255.255 192.169.0.0 169.253.255.255 169.255.0.0",
			"10.0.0.0 10.10.0.5 10.255.255.255 172.16.0.0 172.31.255.255 192.168.0.0 192.168.255.255 169.254.169.254 127.0.0.1",
		},
		{"internet and one LAN", lanToo, "10.10.0.0 10.10.255.255 1.1.1.1", "10.9.255.255 10.11.0.0 192.168.77.5"},
		{"all", all, "1.1.1.1 10.10.0.5 192.168.77.5 169.254.169.254", "127.0.0.1 0.0.0.1 224.0.0.1 255.255.255.255"},
		{"all, internet off", Rules{Allow: prefixes("0.0.0.0/0")}, "1.1.1.1 10.10.0.5", ""},
		{"internet off, one address", Rules{Allow: prefixes("8.8.8.8/32")}, "8.8.8.8", "8.8.8.7 8.8.8.9"},
		{"allow beats deny", Rules{Internet: true, Allow: prefixes("1.2.3.0/24"), Deny: prefixes("1.2.0.0/16")}, "1.2.3.4", "1.2.2.255 1.2.4.0"},
		{"a wide allow beats a narrow deny", Rules{Internet: true, Allow: prefixes("1.2.0.0/16"), Deny: prefixes("1.2.3.4/32")}, "1.2.3.4", ""},
		{"deny all", Rules{Internet: true, Deny: prefixes("0.0.0.0/0"), Allow: prefixes("1.1.1.1/32")}, "1.1.1.1", "1.1.1.2"},
		{"host bits", Rules{Allow: prefixes("10.10.9.9/16")}, "10.10.0.1", "10.11.0.1"},
		{"a resolver under the default policy", internet, "", "10.0.0.53"},
		{"a resolver that is opened, but for queries", Rules{DNS: addrs("10.0.0.53")}, "", "10.0.0.53 10.0.0.54"},
		{"IPv6", all, "", "2001:db8::1 ::ffff:1.1.1.1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			for want, texts := range map[Verdict]string{Pass: test.pass, Drop: test.drop} {
				for _, addr := range addrs(strings.Fields(texts)...) {
					if got := test.rules.Decide(addr); got != want {
						t.Errorf("Decide(%s): %s, want %s", addr, got, want)
					}
				}
			}
		})
	}
}

func TestDecideQuery(t *testing.T) {
	t.Parallel()
	opened := Rules{Internet: true, Deny: prefixes("9.9.9.0/24"), DNS: addrs("10.0.0.53", "9.9.9.9", "127.0.0.53")}
	for addr, want := range map[string]Verdict{
		"10.0.0.53": Pass, "9.9.9.9": Pass, "9.9.9.10": Drop, "10.0.0.54": Drop, "1.1.1.1": Pass, "127.0.0.53": Drop,
	} {
		if got := opened.DecideQuery(netip.MustParseAddr(addr)); got != want {
			t.Errorf("DecideQuery(%s): %s, want %s", addr, got, want)
		}
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	many := func(n int) []netip.Prefix {
		var list []netip.Prefix
		for i := range n {
			list = append(list, netip.PrefixFrom(netip.AddrFrom4([4]byte{20, byte(i >> 8), byte(i), 0}), 24))
		}
		return list
	}
	for _, test := range []struct {
		name  string
		rules Rules
		want  string
	}{
		{"zero", Rules{}, ""},
		{"full", Rules{Internet: true, Allow: many(8192), Deny: many(8187)}, ""},
		{"full, some twice", Rules{Allow: append(many(8192), many(8192)...)}, ""},
		{"too many allowed", Rules{Allow: many(8193)}, "network.allow_out_v2 exceeds maximum entries: got 8193, max 8192"},
		{"too many with a resolver", Rules{Allow: many(8192), DNS: addrs("1.1.1.1")}, "network.allow_out_v2 exceeds maximum entries: got 8193, max 8192"},
		{"too many denied with the built-in ones", Rules{Internet: true, Deny: many(8188)}, "network.deny_out_v2 exceeds maximum entries: got 8193, max 8192"},
		{"IPv6 allowed", Rules{Allow: prefixes("fd00::/8")}, "allow_out has fd00::/8: write an IPv4"},
		{"IPv4 as IPv6", Rules{Deny: prefixes("::ffff:1.2.3.4/128")}, "deny_out has ::ffff:1.2.3.4/128"},
		{"an IPv6 resolver", Rules{DNS: addrs("fd00::53")}, "allow_out has fd00::53/128"},
		{"nothing", Rules{Deny: make([]netip.Prefix, 1)}, "deny_out has invalid Prefix"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			err := test.rules.Check()
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("Check: %v, want %q", err, test.want)
			}
		})
	}
}

func TestTargetCheck(t *testing.T) {
	t.Parallel()
	good := Target{
		ID: "a.B-9_", NetNS: "/proc/1/ns/net", Address: netip.MustParseAddr("172.17.0.2"),
		MAC: net.HardwareAddr{2, 0, 0, 0, 0, 1}, Network: netip.MustParsePrefix("172.17.0.1/16"),
	}
	for _, test := range []struct {
		name string
		edit func(*Target)
		want string
	}{
		{"good", func(*Target) {}, ""},
		{"no network", func(x *Target) { x.Network = netip.Prefix{} }, ""},
		{"no ID", func(x *Target) { x.ID = "" }, `sandbox ID ""`},
		{"an ID with a slash", func(x *Target) { x.ID = "a/b" }, `"a/b"`},
		{"an ID of two lines", func(x *Target) { x.ID = "a\n" }, `"a\n"`},
		{"a long ID", func(x *Target) { x.ID = strings.Repeat("a", 65) }, "1 to 64"},
		{"not running", func(x *Target) { x.NetNS = "" }, "is it running?"},
		{"no address", func(x *Target) { x.Address = netip.Addr{} }, "invalid IP"},
		{"an IPv6 address", func(x *Target) { x.Address = netip.MustParseAddr("fd00::2") }, "fd00::2"},
		{"no MAC", func(x *Target) { x.MAC = nil }, "6 bytes"},
		{"a long MAC", func(x *Target) { x.MAC = make([]byte, 8) }, "00:00:00:00:00:00:00:00"},
		{"an IPv6 network", func(x *Target) { x.Network = netip.MustParsePrefix("fd00::1/64") }, "fd00::1/64"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			target := good
			test.edit(&target)
			err := target.check()
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("check: %v, want %q", err, test.want)
			}
		})
	}
}

func TestTargetSeen(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ host, netns, want string }{
		{"", "/proc/7/ns/net", "/proc/7/ns/net"},
		{"/run/netns/x", "/proc/7/ns/net", "/proc/7/ns/net"},
		{"/proc/self/fd/3", "/run/netns/y", "/run/netns/y"},
		{"/proc/12/ns/net", "/proc/7/ns/net", "/proc/12/root/proc/7/ns/net"},
		{"/proc/12/ns/net", "/run/docker/netns/y", "/proc/12/root/run/docker/netns/y"},
	} {
		if got := (Target{Host: test.host, NetNS: test.netns}).seen(); got != test.want {
			t.Errorf("%s of host %q: %s, want %s", test.netns, test.host, got, test.want)
		}
	}
}

func TestSpans(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, prefixes string
		want           []span
	}{
		{"none", "", nil},
		{"all", "0.0.0.0/0", []span{{0, math.MaxUint32}}},
		{"one address", "0.0.0.7/32", []span{{7, 7}}},
		{"the last address", "255.255.255.255/32", []span{{math.MaxUint32, math.MaxUint32}}},
		{"unsorted", "0.0.2.0/24 0.0.0.0/24", []span{{0, 255}, {512, 767}}},
		{"neighbours", "0.0.1.0/24 0.0.0.0/24", []span{{0, 511}}},
		{"nested", "0.0.0.0/16 0.0.1.0/24 0.0.255.255/32", []span{{0, 65535}}},
		{"twice", "0.0.0.0/24 0.0.0.0/24", []span{{0, 255}}},
		{"halves", "128.0.0.0/1 0.0.0.0/1", []span{{0, math.MaxUint32}}},
		{"within all", "255.0.0.0/8 0.0.0.0/0 10.0.0.0/8", []span{{0, math.MaxUint32}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, spans(prefixes(test.prefixes)), cmp.AllowUnexported(span{})); diff != "" {
				t.Errorf("spans (-want +got):\n%s", diff)
			}
		})
	}
}

// FuzzSpans holds the ranges against the networks that they were made of.
func FuzzSpans(f *testing.F) {
	f.Add([]byte{10, 0, 0, 0, 8, 10, 128, 0, 0, 9}, uint32(0x0a000000))
	f.Add([]byte{0, 0, 0, 0, 0, 255, 255, 255, 255, 32}, uint32(math.MaxUint32))
	f.Fuzz(func(t *testing.T, b []byte, n uint32) {
		var list []netip.Prefix
		for ; len(b) >= 5; b = b[5:] {
			list = append(list, netip.PrefixFrom(netip.AddrFrom4([4]byte(b)), int(b[4]%33)))
		}
		merged := spans(list)
		within := false
		for i, s := range merged {
			if s.first > s.last || i > 0 && uint64(s.first) <= uint64(merged[i-1].last)+1 {
				t.Fatalf("%v of %v: overlaps, touches or is backwards", merged, list)
			}
			within = within || s.first <= n && n <= s.last
		}
		addr := netip.AddrFrom4([4]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)})
		if covers(list, addr) != within {
			t.Fatalf("%s within %v: %t, within %v: %t", addr, list, !within, merged, within)
		}
	})
}

// prefixes reads networks separated by blanks.
func prefixes(text string) []netip.Prefix {
	return parse(strings.Fields(text)...)
}

func addrs(texts ...string) []netip.Addr {
	list := make([]netip.Addr, len(texts))
	for i, text := range texts {
		list[i] = netip.MustParseAddr(text)
	}
	return list
}
