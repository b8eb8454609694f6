package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"time"
)

// reverse serves Go's own reverse proxy, as it comes, before an address, and says where, until ctx ends.
func reverse(ctx context.Context, out io.Writer, addr string) error {
	l, err := listenFree(ctx, out)
	if err != nil {
		return err
	}
	server := http.Server{Handler: httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: addr}), ReadHeaderTimeout: time.Minute}
	context.AfterFunc(ctx, func() { _ = server.Close() }) // ends Serve
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving: %w", err)
	}
	return nil
}

// relay passes bytes to and from an address, whatever they are, and says where, until ctx ends: the least that a
// process in between can cost.
func relay(ctx context.Context, out io.Writer, addr string) error {
	l, err := listenFree(ctx, out)
	if err != nil {
		return err
	}
	context.AfterFunc(ctx, func() { _ = l.Close() }) // ends Accept
	for {
		client, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("accepting: %w", err)
		}
		server, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
		if err != nil {
			return errors.Join(fmt.Errorf("connecting: %w", err), client.Close())
		}
		go pump(client, server)
		go pump(server, client)
	}
}

// pump passes bytes one way until there are no more, then closes both.
func pump(to, from net.Conn) {
	_, _ = io.Copy(to, from) // either end may go at any time
	_ = to.Close()
	_ = from.Close()
}

func listenFree(ctx context.Context, out io.Writer) (net.Listener, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listening: %w", err)
	}
	if _, err := fmt.Fprintln(out, l.Addr()); err != nil {
		return nil, errors.Join(fmt.Errorf("writing output: %w", err), l.Close())
	}
	return l, nil
}
