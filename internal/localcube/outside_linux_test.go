package localcube_test

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/hermesbox/hermesbox/internal/dockertest"
	"github.com/hermesbox/hermesbox/internal/localcube/egress"
	"github.com/hermesbox/hermesbox/internal/nettest"
)

// What sandboxes may try to reach: an echo server in a LAN, in another one and
// on the public internet, and a resolver in each.
const (
	lan, lanResolver       = "10.10.0.5", "10.10.0.53"
	other, otherResolver   = "192.168.77.5", "192.168.77.53"
	public, publicResolver = "203.0.113.5", "203.0.113.53"
)

// answered is what the resolvers say of every name.
const answered = "192.0.2.80"

// outside is a namespace that has them. Only the sandboxes of one local Cube
// are routed there; all else is a black hole to them.
type outside struct {
	path string        // of the Engine's namespace
	host nettest.Space // the same
	mu   sync.Mutex
	hits map[string]int // "udp 10.10.0.5:7": packets and connections that arrived
}

func newOutside(t *testing.T, engine dockertest.Engine, instance string) *outside {
	t.Helper()
	path, err := egress.EngineNetNS(t.Context(), strings.TrimPrefix(engine.Host, "unix://"))
	if err != nil {
		t.Fatal(err)
	}
	o := &outside{path: path, host: nettest.Open(t, path), hits: map[string]int{}}
	far := nettest.New(t)
	n := rand.IntN(1 << 14)
	link, net30 := fmt.Sprintf("hbt%d", n), fmt.Sprintf("198.18.%d.%d", n>>6, n&63<<2)
	near, peer := nextOf(net30, 1), nextOf(net30, 2)
	t.Cleanup(func() {
		if err := o.host.Try(func() error { return undo(link, bridgeOf(instance), n) }); err != nil {
			t.Errorf("removing the outside: %v", err)
		}
	})
	o.host.IP(t, fmt.Sprintf("link add %s type veth peer name %sp", link, link))
	o.host.Move(t, link+"p", far)
	o.host.IP(t, fmt.Sprintf("addr add %s/30 dev %s\nlink set %s up", near, link, link))
	far.IP(t, fmt.Sprintf("addr add %s/30 dev %sp\nlink set %sp up\nroute add blackhole default", peer, link, link))
	table := table(n)
	for _, to := range []string{"10.10.0.0/16", "192.168.77.0/24", "203.0.113.0/24"} {
		o.host.IP(t, fmt.Sprintf("route add %s via %s dev %s table %s", to, peer, link, table))
	}
	o.host.IP(t, fmt.Sprintf("route add blackhole default table %s\nrule add iif %s lookup %s", table, bridgeOf(instance), table))
	for _, addr := range []string{lan, other, public, lanResolver, otherResolver, publicResolver} {
		far.IP(t, "addr add "+addr+"/32 dev lo")
		o.serve(t, far, addr+":7", echoed)
	}
	for _, addr := range []string{lanResolver, otherResolver, publicResolver} {
		o.serve(t, far, addr+":53", resolved)
	}
	return o
}

func nextOf(net30 string, n int) string {
	addr := net.ParseIP(net30).To4()
	addr[3] += byte(n)
	return addr.String()
}

func bridgeOf(instance string) string { return "hbx-" + instance[:8] }

func table(n int) string { return fmt.Sprint(100_000 + n) }

// serve answers what arrives at an address, by TCP and UDP.
func (o *outside) serve(t *testing.T, s nettest.Space, addr string, answer func([]byte) []byte) {
	t.Helper()
	s.Do(t, func() error {
		l, err := net.Listen("tcp", addr)
		if err != nil {
			return err
		}
		p, err := net.ListenPacket("udp", addr)
		if err != nil {
			return err
		}
		t.Cleanup(func() { _ = errors.Join(l.Close(), p.Close()) })
		go o.accept(l, answer)
		go o.receive(p, answer)
		return nil
	})
}

func (o *outside) accept(l net.Listener, answer func([]byte) []byte) {
	for {
		c, err := l.Accept()
		if err != nil {
			return // closed
		}
		o.hit("tcp", l.Addr())
		go func() {
			defer c.Close()
			buffer := make([]byte, 1500)
			n, err := c.Read(buffer)
			if err == nil || errors.Is(err, io.EOF) {
				_, _ = c.Write(answer(buffer[:n])) // who is gone needs no answer
			}
		}()
	}
}

func (o *outside) receive(p net.PacketConn, answer func([]byte) []byte) {
	buffer := make([]byte, 1500)
	for {
		n, from, err := p.ReadFrom(buffer)
		if err != nil {
			return // closed
		}
		o.hit("udp", p.LocalAddr())
		_, _ = p.WriteTo(answer(buffer[:n]), from)
	}
}

func (o *outside) hit(network string, addr net.Addr) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.hits[network+" "+addr.String()]++
}

// arrived counts what came to an address, whatever the network and port.
func (o *outside) arrived(addr string) (n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for key, hits := range o.hits {
		if strings.Contains(key, " "+addr+":") {
			n += hits
		}
	}
	return n
}

func echoed(b []byte) []byte { return b }

// resolved answers a query for any name with one address.
func resolved(query []byte) []byte {
	const header = 12
	if len(query) < header {
		return nil
	}
	end := header
	for end < len(query) && query[end] != 0 {
		end += int(query[end]) + 1
	}
	if end += 5; end > len(query) {
		return nil
	}
	b := append([]byte{}, query[:2]...)
	b = append(b, 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0)
	b = append(b, query[header:end]...)
	if query[end-3] == 1 { // an address is asked for
		b[7] = 1
		b = append(b, 0xc0, header, 0, 1, 0, 1, 0, 0, 0, 1, 0, 4)
		b = append(b, net.ParseIP(answered).To4()...)
	}
	return b
}

// undo removes what newOutside made in the Engine's namespace; it runs inside.
func undo(link, bridge string, n int) error {
	var err error
	for _, line := range []string{"rule del iif " + bridge + " lookup " + table(n), "route flush table " + table(n), "link del " + link} {
		if out, e := exec.Command("ip", strings.Fields(line)...).CombinedOutput(); e != nil {
			err = errors.Join(err, fmt.Errorf("ip %s: %w: %s", line, e, out))
		}
	}
	return err
}
