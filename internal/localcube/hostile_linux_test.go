package localcube_test

import (
	"encoding/json"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/docker/docker/api/types/network"
	"github.com/google/nftables"

	"github.com/hermesbox/hermesbox/internal/nettest"
)

// TestOutboundRoot does in a sandbox what root may do, and more than a
// container's root may: rules and routes are changed by the machine's root.
func TestOutboundRoot(t *testing.T) {
	t.Parallel()
	f := newFenced(t, "")
	id, _ := f.make("")
	open, _ := f.make(`,"network":{"allowOut":["0.0.0.0/0"]}`)
	space, gateway := f.space(id), f.where(id).Gateway
	f.wants(id, "the default", public)
	for _, test := range []struct{ name, do string }{
		{"rules flushed", "iptables -F\niptables -t nat -F\niptables -t raw -F\niptables -P OUTPUT ACCEPT"},
		{"other routes", "ip route replace 10.10.0.0/16 via " + gateway + " dev eth0 onlink\nip route replace 192.168.77.0/24 via " + gateway + " dev eth0 onlink"},
		{"a pair of its own", "ip link add x0 type veth peer name x1\nip link set x0 up\nip link set x1 up"},
	} {
		for line := range strings.Lines(test.do) {
			argv := strings.Fields(line)
			space.Run(t, argv[0], argv[1:]...)
		}
		f.wants(id, test.name, public)
	}
	flush(t, space)
	f.wants(id, "all of nftables flushed", public)
	f.frames(id, open)
	f.another(id, open, space)
}

// flush removes all that nftables holds inside, of every family.
func flush(t *testing.T, space nettest.Space) {
	t.Helper()
	c, err := nftables.New(nftables.WithNetNSFd(int(space.File.Fd())))
	if err != nil {
		t.Fatal(err)
	}
	c.FlushRuleset()
	if err := c.Flush(); err != nil {
		t.Fatal(err)
	}
}

// space is the namespace of a sandbox.
func (f *fenced) space(id string) nettest.Space {
	f.t.Helper()
	found, err := f.engine.Client.ContainerInspect(f.t.Context(), "hermesbox-"+id)
	if err != nil {
		f.t.Fatal(err)
	}
	return nettest.Open(f.t, strings.TrimSuffix(f.out.path, "/ns/net")+fmt.Sprintf("/root/proc/%d/ns/net", found.State.Pid))
}

// where is a sandbox on its network.
func (f *fenced) where(id string) *network.EndpointSettings {
	f.t.Helper()
	found, err := f.engine.Client.ContainerInspect(f.t.Context(), "hermesbox-"+id)
	if err != nil {
		f.t.Fatal(err)
	}
	for _, n := range found.NetworkSettings.Networks {
		return n
	}
	f.t.Fatalf("sandbox %s has no network", id)
	return nil
}

// frames writes frames past every hook inside: none with a denied address, of
// another kind, or with a neighbour's address arrives.
func (f *fenced) frames(id, neighbour string) {
	f.t.Helper()
	var links []struct{ Address string }
	text := f.out.host.Run(f.t, "ip", "-j", "link", "show", bridgeOf(instanceOf(f.t, f.opts.StateDir)))
	if err := json.Unmarshal([]byte(text), &links); err != nil || len(links) != 1 {
		f.t.Fatalf("the bridge: %v, %s", err, text)
	}
	mac := links[0].Address
	neighbours := f.where(neighbour).IPAddress
	for _, test := range []struct {
		name string
		args []string
		want int // of three kinds three frames each
	}{
		{"honest, to the public address", []string{public}, 3},
		{"to the LAN", []string{lan}, 0},
		{"to the LAN, as the neighbour who may", []string{lan, neighbours}, 0},
		{"to the public address, as the neighbour", []string{public, neighbours}, 0},
		{"to the LAN, as the public address", []string{lan, public}, 0},
	} {
		before := f.out.arrived(test.args[0])
		f.inside(id, "frame.py", append([]string{mac}, test.args...)...)
		got := 0
		for end := time.Now().Add(time.Second); time.Now().Before(end) && (test.want == 0 || got < test.want); time.Sleep(50 * time.Millisecond) {
			got = f.out.arrived(test.args[0]) - before
		}
		if got != test.want {
			f.t.Errorf("frames %s: %d arrived, want %d", test.name, got, test.want)
		}
	}
}

// another gives the sandbox the neighbour's address and one of IPv6.
func (f *fenced) another(id, neighbour string, space nettest.Space) {
	f.t.Helper()
	stolen := f.where(neighbour).IPAddress
	f.out.host.IP(f.t, "addr add fd00:5b::1/64 dev "+bridgeOf(instanceOf(f.t, f.opts.StateDir))+" nodad")
	f.out.serve(f.t, f.out.host, "[fd00:5b::1]:7", echoed)
	space.Sysctl(f.t, "ipv6/conf/eth0/disable_ipv6", "0")
	space.IP(f.t, "addr add fd00:5b::2/64 dev eth0 nodad\naddr add "+stolen+"/32 dev eth0\nroute replace 10.10.0.0/16 dev eth0 via "+f.where(id).Gateway+" src "+stolen+" onlink")
	before := f.out.arrived(lan)
	f.inside(id, "reach.py", lan)
	if n := f.out.arrived(lan) - before; n > 0 {
		f.t.Errorf("with the neighbour's address: %d packets reached the LAN", n)
	}
	err := space.Try(six)
	if err == nil {
		f.t.Error("IPv6 passed")
	}
	if err := f.out.host.Try(six); err != nil {
		f.t.Errorf("IPv6 on the host's side: %v", err)
	}
}

func six() error {
	c, err := net.DialTimeout("tcp6", "[fd00:5b::1]:7", time.Second)
	if err != nil {
		return err
	}
	return c.Close()
}
