package egress

import (
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/hermesbox/hermesbox/internal/nettest"
)

// TestRoot does inside what root may do, short of writing frames.
func TestRoot(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, do string }{
		{"nothing", ""},
		{"routes", "route replace 10.10.0.0/16 via 172.31.0.1 dev eth0 onlink"},
		{"another address", "addr add 172.31.9.9/16 dev eth0\nroute replace default via 172.31.0.1 src 172.31.9.9"},
		{"another MAC address", "link set eth0 down\nlink set eth0 address 02:00:00:00:09:09\nlink set eth0 up\nroute add default via 172.31.0.1"},
		{"a pair of its own", "link add x0 type veth peer name x1\nlink set x0 up\nlink set x1 up"},
		{"renamed", "link set eth0 down\nlink set eth0 name lan0\nlink set lan0 up\nroute add default via 172.31.0.1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			s, target := w.sandbox(t)
			mustApply(t, target, Rules{Internet: true})
			s.IP(t, test.do)
			flush(t, s)
			for _, addr := range []string{lan, otherLAN, gateway} {
				for network, payload := range map[string][]byte{"tcp": nil, "udp": []byte("x"), "ip4:icmp": ping()} {
					if err := reach(s, network, addr, payload, patience); err == nil {
						t.Errorf("%s to %s passed", network, addr)
					}
				}
			}
			// Rules put again while root is at it are the same rules.
			mustApply(t, target, Rules{Internet: true})
			if err := reach(s, "tcp", lan, nil, patience); err == nil {
				t.Error("tcp to the LAN passed after rules were applied again")
			}
		})
	}
}

// flush removes all that nftables holds inside.
func flush(t *testing.T, s nettest.Space) {
	t.Helper()
	c, err := dial(s.File)
	if err != nil {
		t.Fatal(err)
	}
	c.FlushRuleset()
	if err := c.Flush(); err != nil {
		t.Fatal(err)
	}
}

func TestRawFrames(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s, target := w.sandbox(t)
	_, neighbour := w.sandbox(t)
	w.host.IP(t, "neigh replace 172.31.1.1 lladdr 02:00:00:00:01:01 dev br0")
	mustApply(t, target, Rules{Internet: true, Allow: prefixes("192.168.77.0/24")})
	mustApply(t, neighbour, Rules{Internet: true, Allow: prefixes("0.0.0.0/0")})
	for _, test := range []struct {
		name string
		edit func(*frame)
		want bool
	}{
		{"honest, to the allowed LAN", func(*frame) {}, true},
		{"to the public internet", func(f *frame) { f.dest = netip.MustParseAddr(public) }, true},
		{"to the denied LAN", func(f *frame) { f.dest = netip.MustParseAddr(lan) }, false},
		{"from a neighbour's address", func(f *frame) { f.source = neighbour.Address }, false},
		{"from a neighbour's MAC", func(f *frame) { f.from = neighbour.MAC }, false},
		{"all the neighbour's", func(f *frame) { f.source, f.from = neighbour.Address, neighbour.MAC }, false},
		{"as the outside", func(f *frame) { f.source = netip.MustParseAddr(public) }, false},
		{"in a VLAN", func(f *frame) { f.tag = []byte{0x81, 0, 0, 5} }, false},
		{"in VLAN 0", func(f *frame) { f.tag = []byte{0x81, 0, 0, 0} }, false},
		{"in two VLANs", func(f *frame) { f.tag = []byte{0x88, 0xa8, 0, 0, 0x81, 0, 0, 0} }, false},
		{"as IPv6", func(f *frame) { f.etherType = 0x86dd }, false},
		{"as no known protocol", func(f *frame) { f.etherType = 0x88b5 }, false},
		{"with options", func(f *frame) { f.options = []byte{1, 1, 1, 0} }, false},
		{"by a loose source route", func(f *frame) { f.options = []byte{0x83, 7, 4, 10, 10, 0, 5, 0} }, false},
		{"to multicast", func(f *frame) { f.dest, f.to = netip.MustParseAddr("224.0.0.1"), net.HardwareAddr{1, 0, 0x5e, 0, 0, 1} }, false},
		{"to broadcast", func(f *frame) {
			f.dest, f.to = netip.MustParseAddr("255.255.255.255"), net.HardwareAddr{255, 255, 255, 255, 255, 255}
		}, false},
		{"to the host's loopback", func(f *frame) { f.dest = netip.MustParseAddr("127.0.0.1") }, false},
		{"to a neighbour", func(f *frame) { f.dest, f.to = neighbour.Address, neighbour.MAC }, false},
		{"public, to a neighbour's MAC", func(f *frame) { f.dest, f.to = netip.MustParseAddr("8.8.8.8"), neighbour.MAC }, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := honest(target, otherLAN, "payload of "+test.name)
			test.edit(&f)
			device, where := "out0", "the host's way out"
			if f.dest.IsMulticast() || f.dest == netip.MustParseAddr("255.255.255.255") || f.dest.IsLoopback() {
				device, where = "br0", "the bridge"
			} else if f.to.String() == neighbour.MAC.String() {
				device, where = "box2", "the neighbour"
			}
			got := arrives(t, w.host, device, f.payload, func() { send(t, s, f.bytes()) })
			if got != test.want {
				t.Errorf("reached %s: %t, want %t", where, got, test.want)
			}
		})
	}
}

// TestRawFramesWithoutRules is what makes the zeros above mean something.
func TestRawFramesWithoutRules(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s, target := w.sandbox(t)
	_, neighbour := w.sandbox(t)
	f := honest(target, lan, "no rules")
	if got := arrives(t, w.host, "out0", f.payload, func() { send(t, s, f.bytes()) }); !got {
		t.Error("it did not leave the host")
	}
	f.to = neighbour.MAC
	if got := arrives(t, w.host, "box2", f.payload, func() { send(t, s, f.bytes()) }); !got {
		t.Error("it did not reach the neighbour")
	}
}

func TestFragments(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s, target := w.sandbox(t)
	mustApply(t, target, Rules{Allow: prefixes(lan + "/32")})
	big := make([]byte, 9000)
	if err := reach(s, "udp", lan, big, enough); err != nil {
		t.Errorf("a fragmented datagram to the allowed LAN: %v", err)
	}
	for i := range big {
		big[i] = 'x'
	}
	left := arrives(t, w.host, "out0", "xxxx", func() {
		if err := reach(s, "udp", otherLAN, big, patience); err == nil {
			t.Error("a fragmented datagram to the denied LAN passed")
		}
	})
	if left {
		t.Error("fragments left the host")
	}
}

func TestIPv6(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s, target := w.sandbox(t)
	w.host.IP(t, "addr add fd00::1/64 dev br0 nodad")
	s.IP(t, "addr add fd00::2/64 dev eth0 nodad")
	echo(t, w.host, "[fd00::1]")
	if err := six(s, enough); err != nil {
		t.Fatalf("without rules: %v", err)
	}
	mustApply(t, target, Rules{Internet: true, Allow: prefixes("0.0.0.0/0")})
	if err := six(s, patience); err == nil {
		t.Error("IPv6 passed")
	}
}

func six(s nettest.Space, within time.Duration) error {
	return s.Try(func() error {
		c, err := net.DialTimeout("udp6", "[fd00::1]:7", within)
		if err != nil {
			return err
		}
		defer c.Close()
		return exchange(c, []byte("six"), within)
	})
}

// TestARP sends a claim to be the gateway, which must not leave the port.
func TestARP(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s, target := w.sandbox(t)
	mustApply(t, target, Rules{Internet: true, Allow: prefixes("0.0.0.0/0")})
	for _, test := range []struct {
		name string
		mac  net.HardwareAddr
		addr string
		want bool
	}{
		{"its own", target.MAC, target.Address.String(), true},
		{"a probe", target.MAC, "0.0.0.0", true},
		{"the gateway's address", target.MAC, gateway, false},
		{"another MAC", net.HardwareAddr{2, 0, 0, 0, 0, 1}, target.Address.String(), false},
	} {
		t.Run(test.name, func(t *testing.T) {
			frame := arp(target, test.mac, netip.MustParseAddr(test.addr))
			got := arrives(t, w.host, "br0", string(frame[14:]), func() { send(t, s, frame) })
			if got != test.want {
				t.Errorf("reached the bridge: %t, want %t", got, test.want)
			}
		})
	}
}

// arp announces that addr is at mac.
func arp(target Target, mac net.HardwareAddr, addr netip.Addr) []byte {
	frame := append([]byte{255, 255, 255, 255, 255, 255}, target.MAC...)
	frame = append(frame, 8, 6, 0, 1, 8, 0, 6, 4, 0, 1)
	frame = append(append(frame, mac...), addr.AsSlice()...)
	return append(append(frame, 0, 0, 0, 0, 0, 0), addr.AsSlice()...)
}
