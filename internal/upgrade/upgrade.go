// Package upgrade keeps what arrives early on a connection whose protocol is
// switched: a ReverseProxy drops what net/http had read of it by then.
package upgrade

import (
	"bufio"
	"net"
	"net/http"
)

// Whole is w where r asks for another protocol, but gives its connection away
// with all that came on it; else it is w.
func Whole(w http.ResponseWriter, r *http.Request) http.ResponseWriter {
	if r.Header.Get("Upgrade") == "" {
		return w
	}
	return upgrader{w}
}

type upgrader struct{ http.ResponseWriter }

// Unwrap is for http.ResponseController.
func (u upgrader) Unwrap() http.ResponseWriter { return u.ResponseWriter }

// Hijack is http.Hijacker's.
func (u upgrader) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, both, err := http.NewResponseController(u.ResponseWriter).Hijack()
	if err == nil && both.Reader.Buffered() > 0 {
		conn = &unread{conn, both.Reader}
	}
	return conn, both, err
}

// unread is a connection of which something was read already.
type unread struct {
	net.Conn
	in *bufio.Reader
}

// Read gives what was read before, then what comes.
func (u *unread) Read(p []byte) (int, error) {
	if u.in.Buffered() > 0 {
		return u.in.Read(p)
	}
	return u.Conn.Read(p)
}
