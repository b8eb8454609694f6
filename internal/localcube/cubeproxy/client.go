package cubeproxy

import (
	"bufio"
	"bytes"
	"net"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"
)

const (
	// firstTimeout is how long a new connection may say nothing, as net/http has it.
	firstTimeout = 30 * time.Second
	// clientBuffer bounds the heads that go the short way.
	clientBuffer = 8 << 10
)

// client is a connection that goes the short way.
type client struct {
	front  *front
	conn   *net.TCPConn
	in     *bufio.Reader
	parser *bufio.Reader // of one head
	out    bytes.Buffer  // the head of an answer, and what is written with it
	remote string
	busy   atomic.Bool // with a request
}

func newClient(f *front, conn *net.TCPConn) *client {
	return &client{
		front: f, conn: conn, in: bufio.NewReaderSize(conn, clientBuffer), parser: bufio.NewReader(nil), remote: conn.RemoteAddr().String(),
	}
}

// serve answers requests, until one comes that is net/http's (true), or none any more.
func (c *client) serve() (over bool) {
	_ = c.conn.SetReadDeadline(time.Now().Add(firstTimeout)) // where this fails, reading does too
	for first := true; ; first = false {
		c.busy.Store(false)
		if c.front.ending.Load() {
			return false
		}
		if _, err := c.in.Peek(1); err != nil {
			return false
		}
		c.busy.Store(true)
		if first {
			_ = c.conn.SetReadDeadline(time.Time{})
		}
		r := c.next()
		if r == nil {
			return true
		}
		if !c.exchange(r) {
			return false
		}
	}
}

// next takes the request that has begun to come, if it goes the short way.
func (c *client) next() *http.Request {
	text, _ := c.in.Peek(c.in.Buffered()) // what is there is there
	length := plainHead(text)
	if length == 0 {
		return nil
	}
	c.parser.Reset(bytes.NewReader(text[:length]))
	r, err := http.ReadRequest(c.parser)
	if err != nil {
		return nil // net/http words the refusal
	}
	_, _ = c.in.Discard(length) // it is there
	r.RemoteAddr = c.remote
	return r
}

// begin writes the head of an answer into c.out.
func (c *client) begin(status int, header http.Header) {
	c.out.Reset()
	c.out.WriteString("HTTP/1.1 ")
	c.out.WriteString(strconv.Itoa(status))
	c.out.WriteByte(' ')
	c.out.WriteString(http.StatusText(status))
	c.out.WriteString("\r\n")
	_ = header.Write(&c.out) // a buffer takes everything
	c.out.WriteString("\r\n")
}

// flush sends c.out.
func (c *client) flush() error {
	_, err := c.conn.Write(c.out.Bytes())
	c.out.Reset()
	return err
}

// said is an answer of the proxy's own. It is a http.ResponseWriter.
type said struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (s *said) Header() http.Header         { return s.header }
func (s *said) WriteHeader(status int)      { s.status = status }
func (s *said) Write(p []byte) (int, error) { return s.body.Write(p) }

// say sends an answer of the proxy's own, and reports whether the connection is still good.
func (c *client) say(r *http.Request, s *said) bool {
	s.header.Set("Content-Length", strconv.Itoa(s.body.Len()))
	s.header.Set("Date", time.Now().UTC().Format(http.TimeFormat))
	c.begin(s.status, s.header)
	if r.Method != http.MethodHead {
		c.out.Write(s.body.Bytes())
	}
	return c.flush() == nil
}
