package cubeproxy

import (
	"bytes"
	"errors"
	"math"
	"net"
	"net/http"
	"net/textproto"
	"os"
	"strings"
	"time"
)

// patience is how long an answer may take before the proxy looks whether the client still waits for it.
const patience = 100 * time.Millisecond

// exchange answers one request, and reports whether the connection is good for another.
func (c *client) exchange(r *http.Request) bool {
	own := said{header: http.Header{}}
	to, ok := c.front.proxy.admit(c.front.ctx, &own, r)
	if !ok {
		return c.say(r, &own)
	}
	defer to.visit.Leave()
	w := watch{c: c}
	defer w.stop()
	b, resp, err := c.ask(r, to, &w) //nolint:bodyclose // its body is the connection, which is kept or closed below
	switch {
	case err != nil && w.gone.Load():
		return false
	case err != nil:
		upstreamFailed(&own, to, err)
		w.stop()
		return c.say(r, &own)
	}
	err = c.answer(r, b, resp, &w)
	if err == nil && !resp.Close && !w.gone.Load() {
		c.front.proxy.backends.keep(b)
	} else {
		_ = b.Close() // it is of no use
	}
	return err == nil // of an answer that breaks off, only a cut tells the client
}

// ask sends a request to the sandbox and reads the head of its answer. An idle
// connection that turns out to be dead is replaced once: nothing was answered on it.
func (c *client) ask(r *http.Request, to target, w *watch) (*backend, *http.Response, error) {
	cleanHeader(r.Header)
	forwarded(r.Header, r)
	for fresh := false; ; fresh = true {
		b, err := c.front.proxy.backends.take(c.front.ctx, to, fresh)
		if err != nil {
			return nil, nil, err
		}
		resp, err := b.ask(r, to, w)
		if err == nil {
			return b, resp, nil
		}
		_ = b.Close() // it is of no use
		if !b.reused || fresh || w.done != nil {
			return nil, nil, err
		}
	}
}

// ask sends the request and reads the head of its answer.
func (b *backend) ask(r *http.Request, to target, w *watch) (*http.Response, error) {
	path := r.RequestURI // as it came
	if to.path != "" {
		path = to.path
		if r.URL.RawQuery != "" {
			path += "?" + r.URL.RawQuery
		}
	}
	out := &w.c.out
	out.Reset()
	out.WriteString(r.Method + " " + path + " HTTP/1.1\r\nHost: " + to.host + "\r\n")
	_ = r.Header.Write(out) // a buffer takes everything
	out.WriteString("\r\n")
	b.limit.N = maxHead
	if _, err := b.Write(out.Bytes()); err != nil {
		return nil, err
	}
	if err := b.wait(w); err != nil {
		return nil, err
	}
	for {
		resp, err := http.ReadResponse(b.in, r)
		switch {
		case err != nil:
			return nil, err
		case resp.StatusCode >= http.StatusOK:
			b.limit.N = math.MaxInt64
			return resp, nil
		case resp.StatusCode == http.StatusSwitchingProtocols:
			return nil, errors.New("the sandbox switched protocols unasked")
		}
		if err := checkStatus(resp); err != nil {
			return nil, err
		}
	}
}

// wait waits for the answer to begin, or to go on, and meanwhile for the client to hang up.
//
// A deadline that only ever moves away costs next to nothing; one that comes
// nearer wakes the runtime's poller. So the short one stays where the whole
// head came within it.
func (b *backend) wait(w *watch) error {
	if err := b.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	_, err := b.in.Peek(1)
	slow := errors.Is(err, os.ErrDeadlineExceeded)
	if err != nil && !slow {
		return err
	}
	if slow {
		w.start(b)
	}
	if text, _ := b.in.Peek(b.in.Buffered()); isWhole(text) {
		return nil
	}
	return b.SetReadDeadline(time.Now().Add(answerTimeout))
}

// isWhole reports whether text has the head of a final answer.
func isWhole(text []byte) bool {
	_, status, _ := bytes.Cut(text, []byte(" "))
	return !bytes.HasPrefix(status, []byte("1")) && bytes.Contains(text, []byte("\r\n\r\n"))
}

// cleanHeader removes what concerns one connection only.
func cleanHeader(h http.Header) {
	for _, list := range h["Connection"] {
		for name := range strings.SplitSeq(list, ",") {
			h.Del(textproto.TrimString(name))
		}
	}
	for _, name := range [...]string{"Connection", "Proxy-Connection", "Keep-Alive", "Te", "Trailer", "Transfer-Encoding", "Upgrade", "Proxy-Authenticate", "Proxy-Authorization"} {
		delete(h, name)
	}
}

// forwarded tells where the request came from, and believes nobody else about it.
func forwarded(h http.Header, r *http.Request) {
	h.Del("Forwarded")
	h.Del("X-Forwarded-For")
	if ip, _, err := net.SplitHostPort(r.RemoteAddr); err == nil {
		h.Set("X-Forwarded-For", ip)
	}
	h.Set("X-Forwarded-Host", r.Host)
	h.Set("X-Forwarded-Proto", "http")
}
