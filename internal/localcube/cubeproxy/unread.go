package cubeproxy

import (
	"bufio"
	"net"
	"net/http"
)

// upgrader gives a connection away with all that came on it: a ReverseProxy
// drops what net/http had read of it before the protocol was switched.
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
