package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// reach remembers whether container addresses can be reached from here.
type reach struct {
	mu     sync.Mutex
	direct bool // try the container's address first
	sure   bool // it has answered once
}

// directPatience is short: an address that is not ours to reach does not answer at all.
const directPatience = 700 * time.Millisecond

// ErrNoPort means that a port is not published, where only published ports can be reached.
var ErrNoPort = errors.New("the port is not exposed by the template")

// dialBox connects to a port inside a box: at its own address where that can
// be reached, else at the published port on loopback.
func (c *Cluster) dialBox(ctx context.Context, b *box, port int) (net.Conn, error) {
	b.mu.Lock()
	ip, published := b.ip, b.published[port]
	b.mu.Unlock()
	c.dial.mu.Lock()
	direct, sure := c.dial.direct, c.dial.sure
	c.dial.mu.Unlock()
	if direct && ip != "" {
		conn, err := dialDirect(ctx, ip, port, sure)
		if err == nil || errors.Is(err, syscall.ECONNREFUSED) {
			c.dial.settle(true)
			return conn, err
		}
		if sure || ctx.Err() != nil {
			return nil, err
		}
		c.dial.settle(false)
	}
	if published == "" {
		return nil, fmt.Errorf("port %d: %w", port, ErrNoPort)
	}
	var d net.Dialer
	return d.DialContext(ctx, "tcp", published)
}

func dialDirect(ctx context.Context, ip string, port int, sure bool) (net.Conn, error) {
	var d net.Dialer
	if !sure {
		d.Timeout = directPatience
	}
	return d.DialContext(ctx, "tcp", net.JoinHostPort(ip, strconv.Itoa(port)))
}

func (r *reach) settle(works bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.direct, r.sure = works, works
}
