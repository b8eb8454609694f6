package cmd

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"
)

// door is an address on loopback that leads to another one, once.
type door struct {
	address string
	used    chan struct{} // closed once it was gone through
	server  *http.Server
	serving sync.WaitGroup
}

// openDoor serves the door. The caller closes it.
func openDoor(ctx context.Context, to string) (*door, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listening for the browser: %w", err)
	}
	host, path := listener.Addr().String(), "/"+rand.Text()
	d := &door{address: "http://" + host + path, used: make(chan struct{})}
	d.server = &http.Server{Handler: d.handler(host, path, to), ReadHeaderTimeout: 10 * time.Second}
	d.serving.Go(func() { _ = d.server.Serve(listener) }) // it ends with close
	return d, nil
}

// handler sends the first one who has the path on. The token is in the fragment
// of the address, which browsers take from Location.
func (d *door) handler(host, path, to string) http.Handler {
	var once sync.Once
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("Referrer-Policy", "no-referrer")
		first := false
		if r.Host == host && r.Method == http.MethodGet && r.URL.Path == path && ownPeer(r.RemoteAddr, host) {
			once.Do(func() { first = true })
		}
		if !first {
			http.Error(w, "this address works once", http.StatusNotFound)
			return
		}
		w.Header().Set("Location", to)
		w.WriteHeader(http.StatusFound)
		close(d.used)
	})
}

// close lets the answer that is under way through.
func (d *door) close() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := d.server.Shutdown(ctx); errors.Is(err, context.DeadlineExceeded) {
		_ = d.server.Close() // somebody keeps a connection open
	}
	d.serving.Wait()
}

// queryEscape writes a value as a parameter of an address.
func queryEscape(s string) string { return url.QueryEscape(s) }
