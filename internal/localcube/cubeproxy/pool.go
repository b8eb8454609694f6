package cubeproxy

import (
	"bufio"
	"context"
	"net"
	"sync"
	"time"
)

// backend is a connection to a port of a sandbox.
type backend struct {
	net.Conn
	in     *bufio.Reader
	key    string
	reused bool
	expiry *time.Timer
}

// backends keeps connections for the next request. None is older than idleTimeout.
type backends struct {
	mu   sync.Mutex
	idle map[string][]*backend
}

const idlePerPort = 64

// take gives an idle connection, or a new one where there is none or fresh is wanted.
func (p *backends) take(ctx context.Context, to target, key string, fresh bool) (*backend, error) {
	if b := p.pop(key); b != nil {
		if !fresh {
			return b, nil
		}
		_ = b.Close() // as stale as the one before
	}
	conn, err := to.visit.Dial(ctx, to.port)
	if err != nil {
		return nil, err
	}
	return &backend{Conn: conn, in: bufio.NewReader(conn), key: key}, nil
}

func (p *backends) pop(key string) *backend {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := p.idle[key]
	if len(list) == 0 {
		return nil
	}
	b := list[len(list)-1]
	p.set(key, list[:len(list)-1])
	b.expiry.Stop()
	b.reused = true
	return b
}

func (p *backends) set(key string, list []*backend) {
	if len(list) == 0 {
		delete(p.idle, key)
		return
	}
	p.idle[key] = list
}

// keep puts a connection by whose last answer was read to its end.
func (p *backends) keep(b *backend) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.idle[b.key]) >= idlePerPort {
		_ = b.Close() // there are enough
		return
	}
	b.expiry = time.AfterFunc(idleTimeout, func() { p.drop(b) })
	p.idle[b.key] = append(p.idle[b.key], b)
}

// drop closes a connection that has been idle for too long.
func (p *backends) drop(old *backend) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, b := range p.idle[old.key] {
		if b == old {
			p.set(old.key, append(p.idle[old.key][:i:i], p.idle[old.key][i+1:]...))
			_ = old.Close() // nobody uses it
			return
		}
	}
}

// close drops them all.
func (p *backends) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for key, list := range p.idle {
		for _, b := range list {
			b.expiry.Stop()
			_ = b.Close() // nobody uses it
		}
		delete(p.idle, key)
	}
}
