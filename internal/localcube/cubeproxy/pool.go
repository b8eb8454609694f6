package cubeproxy

import (
	"bufio"
	"context"
	"io"
	"net"
	"strconv"
	"sync"
	"time"
)

// backend is a connection to a port of a sandbox.
type backend struct {
	net.Conn
	in     *bufio.Reader
	limit  *io.LimitedReader // between the two
	key    string
	reused bool
	since  time.Time // when it became idle
}

// backends keeps connections for the next request, none much longer than idleTimeout.
type backends struct {
	mu    sync.Mutex
	idle  map[string][]*backend // the latest last
	sweep *time.Timer           // runs while there are any
}

const (
	idlePerPort = 64
	// headBuffer holds the head of an answer, and a short answer whole.
	headBuffer = 32 << 10
	// maxHead bounds the head of an answer.
	maxHead = 1 << 20
)

func (t target) key() string { return t.id + ":" + strconv.Itoa(t.port) }

// take gives an idle connection, or a new one where there is none or fresh is wanted.
func (p *backends) take(ctx context.Context, to target, fresh bool) (*backend, error) {
	key := to.key()
	for b := p.pop(key); b != nil; b = p.pop(key) {
		if !fresh && isQuiet(b.Conn) {
			return b, nil
		}
		_ = b.Close() // as stale as the one before, or something came unasked
	}
	conn, err := to.visit.Dial(ctx, to.port)
	if err != nil {
		return nil, err
	}
	limit := &io.LimitedReader{R: conn}
	return &backend{Conn: conn, in: bufio.NewReaderSize(limit, headBuffer), limit: limit, key: key}, nil
}

func (p *backends) pop(key string) *backend {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := p.idle[key]
	if len(list) == 0 {
		return nil
	}
	b := list[len(list)-1]
	p.idle[key] = list[:len(list)-1] // an empty list stays until the next sweep: it is likely to be filled again
	b.reused = true
	return b
}

// keep puts a connection by whose last answer was read to its end.
func (p *backends) keep(b *backend) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.idle[b.key]) >= idlePerPort || b.in.Buffered() > 0 {
		_ = b.Close() // there are enough, or it said more than it was to say
		return
	}
	b.since = time.Now()
	p.idle[b.key] = append(p.idle[b.key], b)
	if p.sweep == nil {
		p.sweep = time.AfterFunc(idleTimeout, p.expire)
	}
}

// expire closes what was idle for too long.
func (p *backends) expire() {
	p.mu.Lock()
	defer p.mu.Unlock()
	limit := time.Now().Add(-idleTimeout)
	for key, list := range p.idle {
		n := 0
		for n < len(list) && !list[n].since.After(limit) {
			_ = list[n].Close() // nobody uses it
			n++
		}
		p.idle[key] = append([]*backend(nil), list[n:]...)
		if n == len(list) {
			delete(p.idle, key)
		}
	}
	p.sweep = nil
	if len(p.idle) > 0 {
		p.sweep = time.AfterFunc(idleTimeout/2, p.expire)
	}
}

// close drops them all.
func (p *backends) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.sweep != nil {
		p.sweep.Stop()
	}
	for key, list := range p.idle {
		for _, b := range list {
			_ = b.Close() // nobody uses it
		}
		delete(p.idle, key)
	}
}
