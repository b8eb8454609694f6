package template

import (
	"encoding/json"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hermesbox/hermesbox/internal/cube"
)

func networks(t testing.TB, list ...string) []netip.Prefix {
	t.Helper()
	out, err := ParseNetworks(list)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func policy(t testing.TB, internet bool, allow, deny string) Egress {
	t.Helper()
	return Egress{Switch: &internet, Allow: networks(t, strings.Fields(allow)...), Deny: networks(t, strings.Fields(deny)...)}
}

// TestOpen walks through the order in which Cube judges an address.
func TestOpen(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name        string
		internet    bool
		allow, deny string
		open        string // of these addresses
		closed      string
	}{
		{"internet on does not open the LAN", true, "", "", "203.0.113.5 100.64.0.1 8.8.8.8", "10.10.0.5 172.31.0.1 192.168.77.1 169.254.169.254 127.0.0.1"},
		{"a narrow allow opens that and nothing more", true, "10.10.0.0/16", "", "10.10.3.4 203.0.113.5", "10.11.0.1 192.168.77.1 169.254.169.254"},
		{"everything allowed opens everything", true, "0.0.0.0/0", "", "10.0.0.1 192.168.77.1 169.254.169.254 203.0.113.5", ""},
		{"allow beats a narrower deny", true, "10.0.0.0/8", "10.10.0.0/16", "10.10.0.5 10.0.0.1", "192.168.0.1"},
		{"deny closes what is public", true, "", "203.0.113.0/24", "203.0.114.1", "203.0.113.5"},
		{"internet off closes all", false, "", "", "", "203.0.113.5 10.0.0.1 8.8.8.8"},
		{"internet off but for what is allowed", false, "203.0.113.5/32", "", "203.0.113.5", "203.0.113.6 10.0.0.1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e := policy(t, tt.internet, tt.allow, tt.deny)
			for want, list := range map[bool]string{true: tt.open, false: tt.closed} {
				for _, addr := range strings.Fields(list) {
					if open, rule := e.Open(netip.MustParseAddr(addr)); open != want || rule == "" {
						t.Errorf("%s: open is %t (%s)", addr, open, rule)
					}
				}
			}
		})
	}
}

func TestWords(t *testing.T) {
	t.Parallel()
	const fixed = " (fixed: a sandbox cannot take it back)"
	tests := []struct {
		name string
		e    Egress
		want []string
	}{
		{"all", policy(t, true, "0.0.0.0/0", "10.0.0.0/8"), []string{
			"everything is open, private networks and the metadata address 169.254.169.254 among it" + fixed,
			"nothing is closed",
		}},
		{"off", policy(t, false, "10.10.0.0/16", ""), []string{
			"10.10.0.0/16 is open" + fixed,
			"everything else is closed: internet access is off; a sandbox can switch it on for itself",
		}},
		{"on", policy(t, true, "10.10.0.0/16 169.254.0.0/16", "203.0.113.0/24 10.10.3.0/24"), []string{
			"10.10.0.0/16 is open" + fixed,
			"169.254.0.0/16 is open, the metadata address 169.254.169.254 among it" + fixed,
			"10.10.3.0/24 is closed in name only: 10.10.0.0/16 opens all of it",
			"203.0.113.0/24 is closed",
			"10.0.0.0/8 is closed except 10.10.0.0/16: internet access does not open it",
			"127.0.0.0/8 is closed: internet access does not open it",
			"172.16.0.0/12 is closed: internet access does not open it",
			"192.168.0.0/16 is closed: internet access does not open it",
			"everything else is open: internet access is on; a sandbox can switch it off for itself",
		}},
		{"a domain", Egress{Names: []string{"*.example.com"}, Allow: networks(t, "0.0.0.0/0")}, []string{
			"everything is open, private networks and the metadata address 169.254.169.254 among it" + fixed,
			`"*.example.com" is open, as Cube learns its addresses` + fixed,
			"nothing is closed",
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, tt.e.Words()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestEgressJSON(t *testing.T) {
	t.Parallel()
	got, err := json.Marshal(policy(t, true, "10.0.0.0/8", ""))
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"internet":true,"allow":["10.0.0.0/8"],"deny":[]}`; string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestParseNetworksRefuses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"10.0.0.1/8":          "write 10.0.0.0/8",
		"010.0.0.0/8":         "write 10.0.0.0/8",
		"10.0.0.0/08":         "write 10.0.0.0/8",
		"10.10.0.5":           "write 10.10.0.5/32",
		"::/0":                "IPv6",
		"::ffff:10.0.0.0/104": "write 10.0.0.0/8",
		"garbage":             "no network",
		"api.example.com":     "no network",
		"":                    "no network",
	} {
		if _, err := ParseNetworks([]string{"203.0.113.0/24", text}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q in it", text, err, want)
		}
	}
}

func TestStoredEgress(t *testing.T) {
	t.Parallel()
	off := false
	got := storedEgress(&cube.Network{Internet: &off, Allow: []string{"10.0.0.1/8", "10.9.9.9", "*.example.com", "::/0"}, Deny: []string{"010.0.0.0/8"}})
	want := Egress{
		Switch: &off, Allow: networks(t, "10.0.0.0/8", "10.9.9.9/32"),
		Names: []string{"*.example.com", "::/0", "010.0.0.0/8"},
	}
	if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })); diff != "" {
		t.Error(diff)
	}
	if !storedEgress(nil).Internet() {
		t.Error("nothing said is not the internet open")
	}
}

// FuzzStoredEgress: whatever Cube stores is read, judged and explained.
func FuzzStoredEgress(f *testing.F) {
	for _, seed := range []string{"10.0.0.1/8", "10.0.0.1", "::1", "", "/", "1.2.3.4/33", "*.example.com", "0.0.0.0/0"} {
		f.Add(seed, true)
	}
	f.Fuzz(func(t *testing.T, text string, internet bool) {
		e := storedEgress(&cube.Network{Internet: &internet, Allow: []string{text}, Deny: []string{text}})
		if problem := e.check(); problem != "" {
			t.Errorf("%q: %s", text, problem)
		}
		for _, p := range e.Allow {
			if open, _ := e.Open(p.Addr()); !open {
				t.Errorf("%q: %s is allowed and closed", text, p)
			}
		}
		if len(e.Words()) == 0 || !e.same(e) {
			t.Errorf("%q has no words, or differs from itself", text)
		}
	})
}
