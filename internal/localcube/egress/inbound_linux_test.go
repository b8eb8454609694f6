package egress

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"
	"testing"
	"time"

	"github.com/hermesbox/hermesbox/internal/nettest"
)

// TestInbound is the proxy's way: connections to a sandbox that may send
// nothing of its own accord.
func TestInbound(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s, target := w.sandbox(t)
	echo(t, s, target.Address.String())
	mustApply(t, target, Rules{})
	for name, from := range map[string]nettest.Space{"the host": w.host, "outside": w.outside} {
		for range 20 {
			if err := reach(from, "tcp", target.Address.String(), []byte("hello"), enough); err != nil {
				t.Fatalf("from %s: %v", name, err)
			}
		}
	}
	big := make([]byte, 1<<15)
	if err := reach(w.outside, "tcp", target.Address.String(), big, enough); err != nil {
		t.Errorf("32 KiB: %v", err)
	}
	if err := reach(w.host, "udp", target.Address.String(), []byte("x"), patience); err == nil {
		t.Error("UDP from the host was answered, against the package comment")
	}
}

// TestInboundLives changes the rules under a connection that is open.
func TestInboundLives(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s, target := w.sandbox(t)
	echo(t, s, target.Address.String())
	mustApply(t, target, Rules{})
	c := dialFrom(t, w.host, target.Address.String()+":7")
	for i, r := range []Rules{{Internet: true}, {}, {Allow: prefixes("10.10.0.0/16")}, {}} {
		mustApply(t, target, r)
		if err := exchange(c, []byte("still there?"), enough); err != nil {
			t.Fatalf("after change %d: %v", i, err)
		}
	}
	expect(t, s, public, Drop)
}

// TestFlowLasts looks at how long connections are remembered.
func TestFlowLasts(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		of   func(*testing.T, *world, Target)
		want time.Duration
	}{
		{"a SYN that nobody answers", func(t *testing.T, w *world, target Target) {
			w.host.Run(t, "ip", "neigh", "replace", target.Address.String(), "lladdr", "02:00:00:00:00:77", "dev", "br0")
			w.host.Run(t, "bridge", "fdb", "add", "02:00:00:00:00:77", "dev", "box1", "master", "static")
			if err := reach(w.host, "tcp", target.Address.String(), nil, patience); err == nil {
				t.Error("somebody answered")
			}
		}, opening},
		{"a connection", func(t *testing.T, w *world, target Target) {
			dialFrom(t, w.host, target.Address.String()+":7")
		}, established},
		{"a connection in use", func(t *testing.T, w *world, target Target) {
			c := dialFrom(t, w.host, target.Address.String()+":7")
			if err := exchange(c, []byte("hello"), enough); err != nil {
				t.Error(err)
			}
		}, established},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			s, target := w.sandbox(t)
			echo(t, s, target.Address.String())
			mustApply(t, target, Rules{})
			test.of(t, w, target)
			c, err := dial(w.host.File)
			if err != nil {
				t.Fatal(err)
			}
			noted, err := c.GetSetElements(newTable(target, link{}).flows)
			if err != nil || len(noted) != 1 {
				t.Fatalf("%d connections noted, want 1 (%v)", len(noted), err)
			}
			if left := noted[0].Expires; left > test.want || left < test.want-time.Minute {
				t.Errorf("forgotten after %s, want %s", left, test.want)
			}
		})
	}
}

// dialFrom connects and closes at the end of the test.
func dialFrom(t testing.TB, s nettest.Space, addr string) net.Conn {
	t.Helper()
	var c net.Conn
	s.Do(t, func() (err error) {
		c, err = net.DialTimeout("tcp", addr, enough)
		return err
	})
	t.Cleanup(func() { _ = c.Close() }) // the test may have closed it
	return c
}

// TestHalfClosed ends one direction and goes on in the other.
func TestHalfClosed(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		ends func(host, inside *net.TCPConn) (ended, goesOn *net.TCPConn)
	}{
		{"by the host", func(host, inside *net.TCPConn) (_, _ *net.TCPConn) { return host, inside }},
		{"by the sandbox", func(host, inside *net.TCPConn) (_, _ *net.TCPConn) { return inside, host }},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			s, target := w.sandbox(t)
			mustApply(t, target, Rules{})
			listener := listenIn(t, s, ":80")
			host := dialFrom(t, w.host, target.Address.String()+":80").(*net.TCPConn)
			inside, err := listener.Accept()
			if err != nil {
				t.Fatal(err)
			}
			defer inside.Close()
			ended, goesOn := test.ends(host, inside.(*net.TCPConn))
			if err := ended.CloseWrite(); err != nil {
				t.Fatal(err)
			}
			for range 3 {
				time.Sleep(20 * time.Millisecond)
				if err := carry(goesOn, ended); err != nil {
					t.Fatalf("after the FIN: %v", err)
				}
			}
			if open, closing := w.flows(t, target); open != 0 || closing != 1 {
				t.Errorf("%d open and %d closing connections noted, want 0 and 1", open, closing)
			}
		})
	}
}

// carry sends from one end to the other.
func carry(from, to net.Conn) error {
	if _, err := from.Write([]byte("more")); err != nil {
		return err
	}
	if err := to.SetReadDeadline(time.Now().Add(enough)); err != nil {
		return err
	}
	_, err := to.Read(make([]byte, 4))
	return err
}

// flows counts what the sandbox's table has noted.
func (w *world) flows(t *testing.T, target Target) (open, closing int) {
	t.Helper()
	c, err := dial(w.host.File)
	if err != nil {
		t.Fatal(err)
	}
	x := newTable(target, link{})
	noted, err := c.GetSetElements(x.flows)
	if err != nil {
		t.Fatal(err)
	}
	ended, err := c.GetSetElements(x.closing)
	if err != nil {
		t.Fatal(err)
	}
	return len(noted), len(ended)
}

// TestFlowIsNoLicence tries to make use of a connection from the LAN.
func TestFlowIsNoLicence(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s, target := w.sandbox(t)
	mustApply(t, target, Rules{})
	inside := listenIn(t, s, ":80")
	c := dialFrom(t, w.outside, target.Address.String()+":80").(*net.TCPConn)
	peer := netip.MustParseAddrPort(c.LocalAddr().String())
	if err := reach(s, "tcp", peer.Addr().String(), nil, patience); err == nil {
		t.Error("another port of the peer could be reached")
	}
	if err := errors.Join(c.SetLinger(0), c.Close(), inside.Close()); err != nil { // a RST frees both ports at once
		t.Fatal(err)
	}
	listenIn(t, w.outside, fmt.Sprintf(":%d", peer.Port()))
	err := s.Try(func() error {
		from := net.Dialer{Timeout: patience, LocalAddr: net.TCPAddrFromAddrPort(netip.AddrPortFrom(target.Address, 80)), Control: reuse}
		connection, err := from.Dial("tcp", peer.String())
		if err == nil {
			_ = connection.Close() // it should not have been
		}
		return err
	})
	if !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("a new connection over the closed one's ports: %v, want it refused", err)
	}
	if _, closing := w.flows(t, target); closing != 1 {
		t.Errorf("%d closing connections noted: the test did not try what it should", closing)
	}
}

// listenIn listens on an address of s until the end of the test.
func listenIn(t testing.TB, s nettest.Space, addr string) net.Listener {
	t.Helper()
	var listener net.Listener
	s.Do(t, func() (err error) {
		listener, err = net.Listen("tcp", addr)
		return err
	})
	t.Cleanup(func() { _ = listener.Close() }) // the test may have closed it
	return listener
}

// reuse lets a socket share its port with the listener.
func reuse(_, _ string, c syscall.RawConn) error {
	var failure error
	err := c.Control(func(fd uintptr) {
		failure = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1)
	})
	return errors.Join(err, failure)
}

// TestFlowsAreForgotten sees that connections that ended leave nothing that
// stays for long, however they ended.
func TestFlowsAreForgotten(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s, target := w.sandbox(t)
	echo(t, s, target.Address.String())
	mustApply(t, target, Rules{})
	for range 10 {
		if err := reach(w.host, "tcp", target.Address.String(), []byte("hello"), enough); err != nil {
			t.Fatal(err)
		}
	}
	c := dialFrom(t, w.host, target.Address.String()+":7").(*net.TCPConn)
	if err := errors.Join(c.SetLinger(0), c.Close()); err != nil { // with a RST
		t.Fatal(err)
	}
	time.Sleep(100 * time.Millisecond)
	if open, closing := w.flows(t, target); open != 0 || closing != 11 {
		t.Errorf("%d open and %d closing connections noted, want 0 and 11", open, closing)
	}
}
