package nettest

import (
	"net"
	"testing"
	"time"
)

// TestSpace joins two namespaces and speaks from one to the other, and not from outside.
func TestSpace(t *testing.T) {
	t.Parallel()
	a, b := New(t), New(t)
	a.IP(t, "link add left type veth peer name right")
	a.Move(t, "right", b)
	a.IP(t, "addr add 198.18.5.1/30 dev left\nlink set left up")
	b.IP(t, "addr add 198.18.5.2/30 dev right\nlink set right up")
	a.Sysctl(t, "ipv4/ip_forward", "1")
	b.Do(t, func() error {
		l, err := net.Listen("tcp", "198.18.5.2:7")
		if err == nil {
			t.Cleanup(func() { _ = l.Close() })
		}
		return err
	})
	dial := func() error {
		c, err := net.DialTimeout("tcp", "198.18.5.2:7", 5*time.Second)
		if err == nil {
			_ = c.Close()
		}
		return err
	}
	Open(t, a.Path()).Do(t, dial)
	if err := New(t).Try(dial); err == nil {
		t.Error("a third namespace reaches the second")
	}
}
