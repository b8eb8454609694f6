package cubeproxy

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// front takes connections before net/http does. It is the net.Listener of an
// http.Server, which gets those that are more than the short way carries.
type front struct {
	net.Listener
	proxy  *Proxy
	handed chan arrival
	ctx    context.Context //nolint:containedctx // the life of its connections, which no request starts
	ending atomic.Bool
	closed chan struct{}
	once   sync.Once
	cut    context.CancelFunc
	work   sync.WaitGroup

	mu      sync.Mutex
	clients map[*client]struct{}
}

// arrival is what Accept gives.
type arrival struct {
	conn net.Conn
	err  error
}

// Listen gives the listener that an http.Server with this Proxy as its handler
// is to serve: plain requests that come in on l never reach the server. Close
// of the proxy waits for those, and ends l, too.
func (p *Proxy) Listen(l net.Listener) net.Listener {
	f := &front{Listener: l, proxy: p, handed: make(chan arrival), closed: make(chan struct{}), clients: map[*client]struct{}{}}
	f.ctx, f.cut = context.WithCancel(context.Background())
	p.fronts = append(p.fronts, f)
	f.work.Go(f.accept)
	return f
}

// accept serves every connection that comes. Errors are net/http's: it waits
// where more than a moment is needed, and until it asks again nothing is done.
func (f *front) accept() {
	for {
		conn, err := f.Listener.Accept()
		switch tcp, ok := conn.(*net.TCPConn); {
		case err != nil && errors.Is(err, net.ErrClosed):
			_ = f.Close() // if it was not, it is now
			return
		case err != nil || !ok:
			f.hand(arrival{conn, err})
		default:
			f.work.Go(func() { f.serve(newClient(f, tcp)) })
		}
	}
}

// serve answers what goes the short way on a connection, and hands it over or closes it.
func (f *front) serve(c *client) {
	f.mu.Lock()
	f.clients[c] = struct{}{}
	f.mu.Unlock()
	over := c.serve()
	f.mu.Lock()
	delete(f.clients, c)
	f.mu.Unlock()
	if over {
		f.hand(arrival{conn: &handed{TCPConn: c.conn, in: c.in}})
		return
	}
	_ = c.conn.Close() // all that was to be said was said
}

// hand gives a connection to net/http.
func (f *front) hand(a arrival) {
	select {
	case f.handed <- a:
	case <-f.closed:
		if a.conn != nil {
			_ = a.conn.Close() // nobody is there for it
		}
	}
}

// Accept waits for a connection that is net/http's.
func (f *front) Accept() (net.Conn, error) {
	select {
	case a := <-f.handed:
		return a.conn, a.err
	case <-f.closed:
		return nil, net.ErrClosed
	}
}

// Close ends listening and what is idle. Requests under way go on.
func (f *front) Close() (err error) {
	f.once.Do(func() {
		f.ending.Store(true)
		close(f.closed)
		err = f.Listener.Close()
		f.each(func(c *client) {
			if !c.busy.Load() {
				_ = c.conn.SetReadDeadline(longAgo) // ends its waiting
			}
		})
	})
	return err
}

func (f *front) each(do func(*client)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for c := range f.clients {
		do(c)
	}
}

// wait closes, and waits for the requests under way; after the grace they are cut off.
func (f *front) wait(grace time.Duration) error {
	err := f.Close()
	timer := time.AfterFunc(grace, func() {
		f.cut()
		f.each(func(c *client) { _ = c.conn.Close() })
	})
	f.work.Wait()
	timer.Stop()
	f.cut()
	return err
}

var longAgo = time.Unix(1, 0)
