package localcube

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"syscall"
	"time"
)

// What keeps a local Cube from listening.
var (
	ErrAddress     = errors.New("address cannot be used") // it is none, or not on loopback
	ErrTaken       = errors.New("cannot listen")          // the system refuses it: in use, for one
	ErrCertificate = errors.New("certificate cannot be used")
)

const headerTimeout = 30 * time.Second

// CheckAddress refuses what is no loopback address with a port, such as
// 127.0.0.1:3000; port 0 is any free one. The error wraps ErrAddress.
func CheckAddress(addr string) error {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("%w: %q is none like 127.0.0.1:3000", ErrAddress, addr)
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return fmt.Errorf("%w: %q has the port %q, wanted is a number up to 65535", ErrAddress, addr, port)
	}
	if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
		return fmt.Errorf("%w: %q is not on loopback, and the local Cube has no authentication; write 127.0.0.1:%s", ErrAddress, addr, port)
	}
	return nil
}

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
	if err := CheckAddress(addr); err != nil {
		return nil, err
	}
	l, err := lc.Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrTaken, err)
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
		return nil, fmt.Errorf("%w: %w", ErrCertificate, err)
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

// disown leaves the control socket's name to whoever has it now.
func (l listeners) disown() {
	if unix, ok := l.control.(*net.UnixListener); ok {
		unix.SetUnlinkOnClose(false)
	}
}
