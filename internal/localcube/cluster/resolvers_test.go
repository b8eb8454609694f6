package cluster

import (
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func addrs(texts ...string) []netip.Addr {
	var list []netip.Addr
	for _, text := range texts {
		list = append(list, netip.MustParseAddr(text))
	}
	return list
}

func TestResolversBelow(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name         string
		etc, systemd string // "" is no file
		want         []netip.Addr
	}{
		{"private ones", "nameserver 10.0.0.53\nnameserver 192.168.1.1\n", "", addrs("10.0.0.53", "192.168.1.1")},
		{"comments, options and blanks", "# nameserver 1.1.1.1\nsearch lan\n\tnameserver\t9.9.9.9 # quad\noptions ndots:5\n", "", addrs("9.9.9.9")},
		{"more than programs look at", "nameserver 1.0.0.1\nnameserver 1.0.0.2\nnameserver 1.0.0.3\nnameserver 1.0.0.4", "", addrs("1.0.0.1", "1.0.0.2", "1.0.0.3")},
		{"a stub of systemd's", "nameserver 127.0.0.53\n", "nameserver 10.1.1.1\n", addrs("10.1.1.1")},
		{"a stub, IPv6 behind it", "nameserver 127.0.0.53\n", "nameserver fd00::53\n", addrs("119.29.29.29")},
		{"loopback alone", "nameserver 127.0.0.1\nnameserver ::1\n", "", addrs("119.29.29.29")},
		{"one of them loopback", "nameserver 127.0.0.1\nnameserver 10.2.2.2\n", "", addrs("10.2.2.2")},
		{"no address", "nameserver one.one.one.one\nnameserver 0.0.0.0\nnameserver 224.0.0.1\nnameserver\n", "", addrs("119.29.29.29")},
		{"no file", "", "", addrs("119.29.29.29")},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			for i, text := range []string{test.etc, test.systemd} {
				path := root + resolverFiles()[i]
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if text == "" {
					continue
				}
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			got, err := resolversBelow(root)
			if diff := cmp.Diff(test.want, got, cmpopts.EquateComparable(netip.Addr{})); diff != "" || err != nil {
				t.Errorf("resolversBelow: %v (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestResolversUnreadable(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	if err := os.MkdirAll(root+resolverFiles()[0], 0o755); err != nil { // a directory
		t.Fatal(err)
	}
	if got, err := resolversBelow(root); err == nil || !strings.Contains(err.Error(), "/etc/resolv.conf") {
		t.Errorf("resolversBelow: %v, %v, want an error that names the file", got, err)
	}
}

func FuzzParseResolvers(f *testing.F) {
	f.Add("nameserver 10.0.0.53\nnameserver fe80::1%eth0\n")
	f.Add("nameserver\t127.0.0.53\r\nnameserver 1.1.1.1 x\x00")
	f.Fuzz(func(t *testing.T, text string) {
		got := parseResolvers(text)
		if len(got) > maxResolvers {
			t.Fatalf("%d resolvers", len(got))
		}
		for _, addr := range got {
			if !addr.Is4() || addr.IsLoopback() || !strings.Contains(text, addr.String()) {
				t.Fatalf("%s of %q", addr, text)
			}
		}
	})
}

// TestOpened opens the node's resolvers with the internet, and no others.
func TestOpened(t *testing.T) {
	t.Parallel()
	node := boxSpec{Resolvers: addrs("10.0.0.53", "9.9.9.9")}
	named := node
	named.Overrides.DNS = &DNSConfig{Servers: []string{"10.0.0.53"}}
	empty := node
	empty.Overrides.DNS = &DNSConfig{}
	deny := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
	for _, test := range []struct {
		name    string
		spec    boxSpec
		rules   Rules
		servers []string
		want    []netip.Addr
	}{
		{"internet on", node, Rules{Internet: true}, []string{"10.0.0.53", "9.9.9.9"}, addrs("10.0.0.53", "9.9.9.9")},
		{"one denied", node, Rules{Internet: true, Deny: deny}, []string{"10.0.0.53", "9.9.9.9"}, addrs("9.9.9.9")},
		{"internet off", node, Rules{}, []string{"10.0.0.53", "9.9.9.9"}, nil},
		{"named by the template", named, Rules{Internet: true}, []string{"10.0.0.53"}, nil},
		{"an empty list in the template", empty, Rules{Internet: true}, []string{"10.0.0.53", "9.9.9.9"}, addrs("10.0.0.53", "9.9.9.9")},
		{"none, where nothing is enforced", boxSpec{}, Rules{Internet: true}, nil, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			b := &box{spec: test.spec}
			if diff := cmp.Diff(test.servers, b.servers()); diff != "" {
				t.Errorf("servers (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.want, b.opened(test.rules), cmpopts.EquateComparable(netip.Addr{})); diff != "" {
				t.Errorf("opened (-want +got):\n%s", diff)
			}
		})
	}
}
