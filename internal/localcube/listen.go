package localcube

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"syscall"
	"time"
)

// ErrAddress is an address that cannot be listened on.
var ErrAddress = errors.New("cannot listen")

const headerTimeout = 30 * time.Second

// listen opens a loopback address; "" is otherwise's, or any free port where that is taken.
func listen(ctx context.Context, addr, otherwise string) (net.Listener, error) {
	var lc net.ListenConfig
	if addr == "" {
		l, err := lc.Listen(ctx, "tcp", otherwise)
		if !errors.Is(err, syscall.EADDRINUSE) && !errors.Is(err, syscall.EACCES) {
			return l, err
		}
		return lc.Listen(ctx, "tcp", "127.0.0.1:0")
	}
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("%w: %q is no address like 127.0.0.1:3000: %w", ErrAddress, addr, err)
	}
	if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
		return nil, fmt.Errorf("%w: %q is not on loopback; the local Cube has no authentication", ErrAddress, addr)
	}
	l, err := lc.Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrAddress, err)
	}
	return l, nil
}

// listeners are the open addresses of a local Cube.
type listeners struct {
	api, master, proxy, tls, control net.Listener
}

func (o *Options) listen(ctx context.Context) (l listeners, err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, l.close())
		}
	}()
	if l.api, err = listen(ctx, o.API, DefaultAPI); err != nil {
		return l, err
	}
	if l.master, err = listen(ctx, o.Master, DefaultMaster); err != nil {
		return l, err
	}
	if l.proxy, err = listen(ctx, o.Proxy, DefaultProxy); err != nil {
		return l, err
	}
	if o.TLS != "" {
		if l.tls, err = listenTLS(ctx, o.TLS, o.CertFile, o.KeyFile); err != nil {
			return l, err
		}
	}
	l.control, err = listenControl(ctx, o.StateDir)
	return l, err
}

func listenTLS(ctx context.Context, addr, certFile, keyFile string) (net.Listener, error) {
	cert, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		return nil, fmt.Errorf("%w: reading the proxy's certificate: %w", ErrAddress, err)
	}
	l, err := listen(ctx, addr, addr)
	if err != nil {
		return nil, err
	}
	config := &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}
	return tls.NewListener(l, config), nil
}

func (l listeners) close() error {
	var errs []error
	for _, one := range []net.Listener{l.api, l.master, l.proxy, l.tls, l.control} {
		if one != nil {
			if err := one.Close(); !errors.Is(err, net.ErrClosed) {
				errs = append(errs, err)
			}
		}
	}
	return errors.Join(errs...)
}

func newServer(h http.Handler) *http.Server {
	return &http.Server{Handler: h, ReadHeaderTimeout: headerTimeout}
}
