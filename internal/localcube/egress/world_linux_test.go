package egress

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hermesbox/hermesbox/internal/nettest"
)

// The world of these tests: a host with the bridge br0 of the sandboxes, and
// behind it an outside with a LAN, another LAN and the public internet. What
// is none of these is a black hole.
const (
	lan      = "10.10.0.5"
	otherLAN = "192.168.77.5"
	public   = "203.0.113.5"
	gateway  = "172.31.0.1"
)

func everywhere() []string { return []string{lan, otherLAN, public} }

type world struct {
	host, outside nettest.Space
	sandboxes     int
}

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{host: newSpace(t), outside: newSpace(t)}
	w.host.IP(t, `
		link add br0 address 02:00:00:00:00:01 type bridge
		addr add 172.31.0.1/16 dev br0
		link set br0 up
		link add out0 type veth peer name in0`)
	w.host.Move(t, "in0", w.outside)
	w.host.IP(t, `
		addr add 198.18.0.1/30 dev out0
		link set out0 up
		route add 10.10.0.0/16 via 198.18.0.2
		route add 192.168.77.0/24 via 198.18.0.2
		route add 203.0.113.0/24 via 198.18.0.2
		route add blackhole default`)
	w.host.Sysctl(t, "ipv4/ip_forward", "1")
	w.outside.IP(t, `
		addr add 198.18.0.2/30 dev in0
		link set in0 up
		addr add 10.10.0.5/32 dev lo
		addr add 192.168.77.5/32 dev lo
		addr add 203.0.113.5/32 dev lo
		route add 172.31.0.0/16 via 198.18.0.1
		route add blackhole default`)
	for _, addr := range everywhere() {
		echo(t, w.outside, addr)
	}
	echo(t, w.host, gateway)
	return w
}

// sandbox joins a namespace to the bridge, as an Engine does, and waits until it reaches everything.
func (w *world) sandbox(t testing.TB) (nettest.Space, Target) {
	t.Helper()
	s := w.joined(t)
	n := w.sandboxes
	w.settle(t, s)
	return s, Target{
		ID: fmt.Sprintf("box-%d", n), NetNS: s.Path(), Host: w.host.Path(),
		Address: netip.AddrFrom4([4]byte{172, 31, 1, byte(n)}),
		MAC:     net.HardwareAddr{2, 0, 0, 0, 1, byte(n)},
		Network: netip.MustParsePrefix("172.31.0.1/16"),
	}
}

// joined is a namespace on the bridge.
func (w *world) joined(t testing.TB) nettest.Space {
	t.Helper()
	w.sandboxes++
	n := w.sandboxes
	s := newSpace(t)
	w.host.IP(t, fmt.Sprintf("link add box%d type veth peer name eth0 address 02:00:00:00:01:%02x", n, n))
	w.host.Move(t, "eth0", s)
	w.host.IP(t, fmt.Sprintf("link set box%d master br0 up", n))
	s.IP(t, fmt.Sprintf("addr add 172.31.1.%d/16 dev eth0\nlink set eth0 up\nroute add default via 172.31.0.1", n))
	return s
}

// settle waits until bridge and neighbour tables have got to know the sandbox;
// datagrams get lost before.
func (w *world) settle(t testing.TB, s nettest.Space) {
	t.Helper()
	for _, addr := range append(everywhere(), gateway) {
		if err := reach(s, "tcp", addr, []byte("x"), enough); err != nil {
			t.Fatalf("reaching %s without rules: %v", addr, err)
		}
	}
}

// echo serves TCP and UDP on port 7 of the address until the test ends.
func echo(t testing.TB, s nettest.Space, addr string) {
	t.Helper()
	echoAt(t, s, addr+":7")
}

func echoAt(t testing.TB, s nettest.Space, addr string) {
	t.Helper()
	s.Do(t, func() error {
		listener, err := net.Listen("tcp", addr)
		if err != nil {
			return err
		}
		packets, err := net.ListenPacket("udp", addr)
		if err != nil {
			return err
		}
		t.Cleanup(func() {
			if err := errors.Join(listener.Close(), packets.Close()); err != nil {
				t.Errorf("closing listeners on %s: %v", addr, err)
			}
		})
		go serve(listener)
		go answer(packets)
		return nil
	})
}

func serve(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return // closed
		}
		go func() {
			defer c.Close()
			buffer := make([]byte, 1<<16)
			for {
				n, err := c.Read(buffer)
				if _, werr := c.Write(buffer[:n]); err != nil || werr != nil {
					return
				}
			}
		}()
	}
}

func answer(p net.PacketConn) {
	buffer := make([]byte, 1<<16)
	for {
		n, from, err := p.ReadFrom(buffer)
		if err != nil {
			return // closed
		}
		_, _ = p.WriteTo(buffer[:n], from) // who is gone needs no answer
	}
}

// An answer that must not come is waited for with patience, one that must come
// for as long as a busy machine may take.
const (
	patience = 300 * time.Millisecond
	enough   = 10 * time.Second
)

// reach sends over the network ("tcp", "udp" or "ip4:icmp") and wants it back in time.
func reach(s nettest.Space, network, addr string, payload []byte, within time.Duration) error {
	if network != "ip4:icmp" {
		addr = net.JoinHostPort(addr, "7")
	}
	return reachAt(s, network, addr, payload, within)
}

func reachAt(s nettest.Space, network, addr string, payload []byte, within time.Duration) error {
	return s.Try(func() error {
		c, err := net.DialTimeout(network, addr, within)
		if err != nil {
			return err
		}
		defer c.Close()
		return exchange(c, payload, within)
	})
}

func exchange(c net.Conn, payload []byte, within time.Duration) error {
	if err := c.SetDeadline(time.Now().Add(within)); err != nil {
		return err
	}
	if _, err := c.Write(payload); err != nil {
		return err
	}
	if len(payload) == 0 {
		return nil
	}
	_, err := c.Read(make([]byte, 1<<16))
	return err
}

// ping is an ICMP echo request.
func ping() []byte {
	message := []byte{8, 0, 0, 0, 0x12, 0x34, 0, 1}
	sum := checksum(message)
	message[2], message[3] = byte(sum>>8), byte(sum)
	return message
}

func checksum(b []byte) uint16 {
	var sum uint32
	for i := 0; i+1 < len(b); i += 2 {
		sum += uint32(b[i])<<8 | uint32(b[i+1])
	}
	for sum>>16 != 0 {
		sum = sum&0xffff + sum>>16
	}
	return ^uint16(sum)
}

// expect tries TCP, UDP and ICMP to addr and wants all to pass or none.
func expect(t testing.TB, s nettest.Space, addr string, want Verdict) {
	t.Helper()
	within := patience
	if want == Pass {
		within = enough
	}
	var group sync.WaitGroup
	for network, payload := range map[string][]byte{"tcp": []byte("hello"), "udp": []byte("hello"), "ip4:icmp": ping()} {
		group.Go(func() {
			if err := wrong(want, network, reach(s, network, addr, payload, within)); err != nil {
				t.Errorf("%s to %s: %v", network, addr, err)
			}
		})
	}
	group.Wait()
}

// wrong is nil where an attempt ended as it should: denied TCP is refused, the rest unheard.
func wrong(want Verdict, network string, err error) error {
	silence := os.ErrDeadlineExceeded
	if network == "tcp" {
		silence = syscall.ECONNREFUSED
	}
	switch {
	case want == Pass && err != nil:
		return fmt.Errorf("%w, but it is allowed", err)
	case want == Drop && err == nil:
		return errors.New("passed, but it is denied")
	case want == Drop && !errors.Is(err, silence):
		return fmt.Errorf("%w, want %w", err, silence)
	}
	return nil
}

// mustApply applies and releases at the end.
func mustApply(t testing.TB, target Target, r Rules) {
	t.Helper()
	if _, err := Apply(t.Context(), target, r); err != nil {
		t.Fatal(err)
	}
}
