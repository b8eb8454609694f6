package cubeproxy

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/textproto"
	"strconv"
	"strings"
	"time"
)

// isPlain reports whether a request has nothing to it but its head, so that it can
// go the short way: no second stack of HTTP, and bodies that the kernel moves.
func isPlain(r *http.Request) bool {
	return (r.Method == http.MethodGet || r.Method == http.MethodHead) && r.ContentLength == 0 && len(r.TransferEncoding) == 0 &&
		r.Header.Get("Upgrade") == "" && r.Header.Get("Expect") == ""
}

// direct passes a plain request on. An idle connection that turns out to be
// dead is replaced once: nothing was answered on it.
func (p *Proxy) direct(w http.ResponseWriter, r *http.Request, to target) {
	key := net.JoinHostPort(to.id, strconv.Itoa(to.port))
	for fresh := false; ; fresh = true {
		b, err := p.backends.take(r.Context(), to, key, fresh)
		if err != nil {
			upstreamFailed(w, r, err)
			return
		}
		stop := context.AfterFunc(r.Context(), func() { _ = b.Close() }) // ends reading and writing
		resp, err := b.ask(r, to)                                        //nolint:bodyclose // its body is the connection, which is kept or closed below
		if err != nil {
			stop()
			_ = b.Close() // it is of no use
			if b.reused && !fresh && r.Context().Err() == nil {
				continue
			}
			upstreamFailed(w, r, err)
			return
		}
		err = b.pass(w, r, resp)
		if stop() && err == nil && !resp.Close {
			p.backends.keep(b)
			return
		}
		_ = b.Close() // it is of no use
		if err != nil {
			panic(http.ErrAbortHandler) // the head is out: only a cut tells the client
		}
		return
	}
}

// ask sends the request and reads the head of its answer.
func (b *backend) ask(r *http.Request, to target) (*http.Response, error) {
	path := r.URL.RequestURI()
	if to.path != "" {
		path = to.path
		if r.URL.RawQuery != "" {
			path += "?" + r.URL.RawQuery
		}
	}
	var head strings.Builder
	head.WriteString(r.Method + " " + path + " HTTP/1.1\r\nHost: " + to.host + "\r\n")
	header := r.Header.Clone()
	cleanHeader(header)
	forwarded(header, r)
	if err := header.Write(&head); err != nil {
		return nil, err
	}
	head.WriteString("\r\n")
	if err := b.SetDeadline(time.Now().Add(answerTimeout)); err != nil {
		return nil, err
	}
	if _, err := io.WriteString(b, head.String()); err != nil {
		return nil, err
	}
	for {
		resp, err := http.ReadResponse(b.in, r)
		if err != nil || resp.StatusCode >= http.StatusOK {
			return resp, err
		}
		if resp.StatusCode == http.StatusSwitchingProtocols {
			return nil, errors.New("the sandbox switched protocols unasked")
		}
	}
}

// pass writes an answer to the client, as it comes.
func (b *backend) pass(w http.ResponseWriter, r *http.Request, resp *http.Response) error {
	cleanHeader(resp.Header)
	for name, values := range resp.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(resp.StatusCode)
	switch {
	case r.Method == http.MethodHead || resp.ContentLength == 0:
		return nil
	case resp.ContentLength > 0:
		return b.move(w, resp.ContentLength)
	}
	return stream(w, resp)
}

// move passes a body of known size: what was read with the head, then the rest
// from connection to connection, which the kernel does by itself where it can.
func (b *backend) move(w http.ResponseWriter, size int64) error {
	early := min(size, int64(b.in.Buffered()))
	if _, err := io.CopyN(w, b.in, early); err != nil {
		return err
	}
	if early == size {
		return nil
	}
	if err := http.NewResponseController(w).Flush(); err != nil {
		return err
	}
	n, err := io.Copy(w, io.LimitReader(b.Conn, size-early))
	if err == nil && n < size-early {
		return io.ErrUnexpectedEOF
	}
	return err
}

// stream passes a body of unknown size, each part at once.
func stream(w http.ResponseWriter, resp *http.Response) error {
	out := http.NewResponseController(w)
	if err := out.Flush(); err != nil {
		return err
	}
	buffer := make([]byte, streamBuffer)
	for {
		n, err := resp.Body.Read(buffer)
		if n > 0 {
			_, werr := w.Write(buffer[:n])
			if werr = errors.Join(werr, out.Flush()); werr != nil {
				return werr
			}
		}
		if errors.Is(err, io.EOF) {
			for name, values := range resp.Trailer {
				w.Header()[http.TrailerPrefix+name] = values
			}
			return nil
		}
		if err != nil {
			return err
		}
	}
}

const streamBuffer = 32 << 10

// cleanHeader removes what concerns one connection only.
func cleanHeader(h http.Header) {
	for _, list := range h["Connection"] {
		for name := range strings.SplitSeq(list, ",") {
			h.Del(textproto.TrimString(name))
		}
	}
	for _, name := range []string{"Connection", "Proxy-Connection", "Keep-Alive", "Te", "Trailer", "Transfer-Encoding", "Upgrade", "Proxy-Authenticate", "Proxy-Authorization"} {
		h.Del(name)
	}
}

// forwarded tells where the request came from, and believes nobody else about it.
func forwarded(h http.Header, r *http.Request) {
	h.Del("Forwarded")
	if ip, _, err := net.SplitHostPort(r.RemoteAddr); err == nil {
		h.Set("X-Forwarded-For", ip)
	}
	h.Set("X-Forwarded-Host", r.Host)
	h.Set("X-Forwarded-Proto", "http")
	if r.TLS != nil {
		h.Set("X-Forwarded-Proto", "https")
	}
}
