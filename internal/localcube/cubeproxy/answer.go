package cubeproxy

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httputil"
	"slices"
	"strings"
	"time"
)

// moveLeast is the size from which on a body is moved by the kernel: below, that costs more than it saves.
const moveLeast = 64 << 10

// answer writes the sandbox's answer to the client, as it comes.
func (c *client) answer(r *http.Request, b *backend, resp *http.Response, w *watch) error {
	cleanHeader(resp.Header)
	if resp.StatusCode == http.StatusNoContent {
		resp.Header.Del("Content-Length") // some clients would wait for that much
	}
	bodiless := r.Method == http.MethodHead || resp.StatusCode == http.StatusNoContent || resp.StatusCode == http.StatusNotModified
	if !bodiless && resp.ContentLength < 0 {
		return c.stream(b, resp, w)
	}
	c.begin(resp.StatusCode, resp.Header)
	if bodiless {
		return c.flush()
	}
	early := min(resp.ContentLength, int64(b.in.Buffered()))
	if _, err := io.CopyN(&c.out, b.in, early); err != nil {
		return err
	}
	if err := c.flush(); err != nil || early == resp.ContentLength {
		return err
	}
	w.start(b)
	if err := b.SetReadDeadline(time.Now().Add(answerTimeout)); err != nil {
		return err
	}
	return c.move(b, resp.ContentLength-early)
}

// move passes the rest of a body of known size on: nothing of it is in b.in.
func (c *client) move(b *backend, rest int64) error {
	var n int64
	var err error
	if rest >= moveLeast {
		n, err = io.Copy(c.conn, io.LimitReader(b.Conn, rest)) // from connection to connection: the kernel can do it by itself
	} else {
		n, err = io.Copy(struct{ io.Writer }{c.conn}, io.LimitReader(b.Conn, rest))
	}
	if err == nil && n < rest {
		return io.ErrUnexpectedEOF
	}
	return err
}

// stream passes a body of unknown size, each part at once.
func (c *client) stream(b *backend, resp *http.Response, w *watch) error {
	resp.Header.Set("Transfer-Encoding", "chunked")
	if len(resp.Trailer) > 0 {
		resp.Header.Set("Trailer", strings.Join(names(resp.Trailer), ", "))
	}
	c.begin(resp.StatusCode, resp.Header)
	if b.in.Buffered() == 0 {
		if err := c.flush(); err != nil {
			return err
		}
	}
	buffer := c.front.proxy.buffers.Get()
	defer c.front.proxy.buffers.Put(buffer)
	defer func() { c.out = bytes.Buffer{} }() // it may have become large
	chunks := httputil.NewChunkedWriter(&c.out)
	for {
		if b.in.Buffered() == 0 {
			_ = b.wait(w) // where it fails, so does reading
		}
		if err := b.SetReadDeadline(time.Now().Add(answerTimeout)); err != nil {
			return err
		}
		n, err := resp.Body.Read(buffer)
		if n > 0 {
			_, _ = chunks.Write(buffer[:n]) // a buffer takes everything
		}
		if errors.Is(err, io.EOF) {
			_ = chunks.Close()
			_ = resp.Trailer.Write(&c.out)
			c.out.WriteString("\r\n")
			return c.flush()
		}
		if werr := c.flush(); werr != nil || err != nil {
			return errors.Join(werr, err)
		}
	}
}

func names(h http.Header) []string {
	list := make([]string, 0, len(h))
	for name := range h {
		list = append(list, name)
	}
	slices.Sort(list)
	return list
}
