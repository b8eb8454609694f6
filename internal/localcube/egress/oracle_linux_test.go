package egress

import (
	"encoding/binary"
	"math/rand/v2"
	"net"
	"net/netip"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hermesbox/hermesbox/internal/nettest"
)

// TestKernelDecides holds the kernel against Decide: for rules made at random,
// at the edges of every network in them and at addresses from anywhere.
func TestKernelDecides(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s, target := w.sandbox(t)
	target.Network = netip.Prefix{} // Decide knows no neighbours
	random := rand.New(rand.NewPCG(1, 2))
	for round := range 8 {
		r := Rules{Internet: round%2 == 0, Allow: networks(random, round), Deny: networks(random, 2*round)}
		mustApply(t, target, r)
		asked := append(edges(r), target.Address.Next())
		passed := w.ask(t, s, target, asked)
		if n := len(passed); round == 0 && (n == 0 || n == len(asked)) {
			t.Errorf("%d of %d passed, which proves nothing", n, len(asked))
		}
		for _, addr := range asked {
			if want := r.Decide(addr) == Pass; passed[addr] != want {
				t.Errorf("%s passed: %t, want %t under %+v", addr, passed[addr], want, r)
			}
		}
	}
}

func networks(random *rand.Rand, n int) []netip.Prefix {
	var list []netip.Prefix
	for range n {
		addr := numbered(random.Uint32())
		list = append(list, netip.PrefixFrom(addr, 2+random.IntN(31)).Masked())
	}
	return list
}

// edges are the first and last address of each network and those just outside.
func edges(r Rules) []netip.Addr {
	var list []netip.Addr
	for _, s := range append(spans(r.Allow), append(spans(r.denied()), spans(never())...)...) {
		list = append(list, numbered(s.first-1), numbered(s.first), numbered(s.last), numbered(s.last+1), numbered(s.first/2+s.last/2))
	}
	return list
}

func numbered(n uint32) netip.Addr {
	return netip.AddrFrom4([4]byte(binary.BigEndian.AppendUint32(nil, n)))
}

// ask sends a datagram to each address and returns those that reached the bridge.
func (w *world) ask(t *testing.T, s nettest.Space, target Target, addrs []netip.Addr) map[netip.Addr]bool {
	t.Helper()
	fd := listenRaw(t, w.host, "br0")
	defer closeFD(t, fd)
	for _, addr := range addrs {
		f := honest(target, "0.0.0.0", "")
		f.dest = addr
		send(t, s, f.bytes())
	}
	passed := make(map[netip.Addr]bool)
	buffer := make([]byte, 1<<16)
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		size, _, err := unix.Recvfrom(fd, buffer, 0)
		if err == nil && size >= 34 && net.HardwareAddr(buffer[6:12]).String() == target.MAC.String() && buffer[12] == 8 && buffer[13] == 0 {
			passed[netip.AddrFrom4([4]byte(buffer[30:34]))] = true
			deadline = time.Now().Add(patience)
		}
	}
	return passed
}
