package localcube_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hermesbox/hermesbox/internal/localcube"
)

// dial connects to the proxy and sends text as it is.
func (c *cube) dial(text string) (net.Conn, *bufio.Reader) {
	c.t.Helper()
	conn, err := new(net.Dialer).DialContext(c.t.Context(), "tcp", strings.TrimPrefix(c.proxyURL(), "http://"))
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		c.t.Fatal(err)
	}
	if _, err := io.WriteString(conn, text); err != nil {
		c.t.Fatal(err)
	}
	return conn, bufio.NewReader(conn)
}

// TestUse is about what keeps a sandbox from timing out.
func TestUse(t *testing.T) {
	t.Parallel()
	c := newCube(t)
	for _, test := range []struct{ name, head, begins string }{
		{"a stream", "GET /hold HTTP/1.1\r\nHost: 9000-%s.x\r\n\r\n", "HTTP/1.1 200"},
		{"a request without an answer", "GET /silent HTTP/1.1\r\nHost: 9000-%s.x\r\n\r\n", ""},
		{"a request with a body", "POST /hold HTTP/1.1\r\nHost: 9000-%s.x\r\nContent-Length: 2\r\n\r\n{}", "HTTP/1.1 200"},
		{"a WebSocket", "GET /upgrade HTTP/1.1\r\nHost: 9000-%s.x\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n", "HTTP/1.1 101"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			id, _ := c.make(`,"timeout":2`)
			conn, in := c.dial(fmt.Sprintf(test.head, id))
			if test.begins != "" {
				if line, err := in.ReadString('\n'); err != nil || !strings.HasPrefix(line, test.begins) {
					t.Fatalf("%q, %v", line, err)
				}
			}
			for range 8 {
				time.Sleep(500 * time.Millisecond)
				got := c.api(http.MethodGet, "/sandboxes/"+id, "")
				if got.status != 200 {
					t.Fatalf("it timed out in use: %d %s", got.status, got.body)
				}
			}
			if err := conn.Close(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(1200 * time.Millisecond)
			if got := c.api(http.MethodGet, "/sandboxes/"+id, ""); got.status != 200 {
				t.Errorf("the idle window did not begin with the end of the request: %d %s", got.status, got.body)
			}
			c.awaitGone(id)
		})
	}
}

// awaitGone waits until a sandbox has timed out.
func (c *cube) awaitGone(id string) {
	c.t.Helper()
	var got reply
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if got = c.api(http.MethodGet, "/sandboxes/"+id, ""); got.status == 404 {
			return
		}
	}
	c.t.Errorf("it never timed out: %d %s", got.status, got.body)
}

// TestHangUp wants the sandbox to learn that a client has left.
func TestHangUp(t *testing.T) {
	t.Parallel()
	c := newCube(t)
	id, _ := c.make("")
	for i, test := range []struct{ name, head string }{
		{"in a stream", "GET /hold HTTP/1.1\r\nHost: 9000-%s.x\r\n\r\n"},
		{"before the answer", "GET /silent HTTP/1.1\r\nHost: 9000-%s.x\r\n\r\n"},
		{"with a body", "POST /silent HTTP/1.1\r\nHost: 9000-%s.x\r\nContent-Length: 2\r\n\r\n{}"},
	} {
		conn, _ := c.dial(fmt.Sprintf(test.head, id))
		time.Sleep(300 * time.Millisecond)
		if got := c.visit(id, "/left"); got.body != itoa(i) {
			t.Fatalf("%s: %s have left already", test.name, got.body)
		}
		if err := conn.Close(); err != nil {
			t.Fatal(err)
		}
		var got reply
		for end := time.Now().Add(10 * time.Second); got.body != itoa(i+1) && time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
			got = c.visit(id, "/left")
		}
		if got.body != itoa(i+1) {
			t.Errorf("%s: the sandbox has not seen the client leave: %s", test.name, got.body)
		}
	}
}

// TestDownUnderStreams: streams that do not end, on both ways through, do not keep it from ending.
func TestDownUnderStreams(t *testing.T) {
	t.Parallel()
	c := newCube(t)
	id, _ := c.make("")
	host := " /hold HTTP/1.1\r\nHost: 9000-" + id + ".x\r\n"
	var streams []*bufio.Reader
	for _, request := range []string{"GET" + host + "\r\n", "POST" + host + "Content-Length: 2\r\n\r\nhi"} {
		_, in := c.dial(request)
		if line, err := in.ReadString('\n'); err != nil || line != "HTTP/1.1 200 OK\r\n" {
			t.Fatalf("%q, %v", line, err)
		}
		streams = append(streams, in)
	}
	start, opts := time.Now(), c.opts
	opts.SharedRoot = t.TempDir()
	if err := localcube.Down(t.Context(), opts); err != nil {
		t.Error(err)
	}
	t.Logf("down after %s", time.Since(start))
	for _, in := range streams {
		if _, err := io.Copy(io.Discard, in); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Error("a stream stays open")
		}
	}
}

// TestGone asks a sandbox all the while that it is being killed: there is nothing between an answer and 410.
func TestGone(t *testing.T) {
	t.Parallel()
	c := newCube(t)
	for _, test := range []struct {
		name, fields string
		kill         func(id string)
	}{
		{"deleted", "", func(id string) { c.api(http.MethodDelete, "/sandboxes/"+id, "") }},
		{"timed out", `,"timeout":600`, func(id string) {
			c.api(http.MethodPost, "/sandboxes/"+id+"/timeout", `{"timeout":0}`)
			c.awaitGone(id)
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			id, _ := c.make(test.fields)
			ctx, cancel := context.WithCancel(t.Context())
			var all sync.WaitGroup
			for _, method := range []string{http.MethodGet, http.MethodGet, http.MethodPost} {
				all.Go(func() { c.askUntil(ctx, id, method) })
			}
			time.Sleep(200 * time.Millisecond)
			if test.fields == "" { // with a window, a request that never ends would keep it
				all.Go(func() {
					if got := c.visit(id, "/silent"); got.status != 410 || got.body != `{"error":"gone"}` {
						t.Errorf("a request under way: %d %s", got.status, got.body)
					}
				})
				time.Sleep(200 * time.Millisecond)
			} else {
				cancel() // requests would go on to keep it
			}
			test.kill(id)
			cancel()
			all.Wait()
			if got := c.visit(id, "/"); got.status != 410 || got.body != `{"error":"gone"}` {
				t.Errorf("afterwards: %d %s", got.status, got.body)
			}
		})
	}
}

// askUntil sends requests until ctx ends. Each is answered, until the first that hears the sandbox is gone.
func (c *cube) askUntil(ctx context.Context, id, method string) {
	gone := false
	for ctx.Err() == nil {
		req, err := http.NewRequestWithContext(c.t.Context(), method, c.proxyURL()+"/sandbox/"+id+"/9000/", http.NoBody)
		if err != nil {
			c.t.Error(err)
			return
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			c.t.Error(err)
			return
		}
		_, err = io.Copy(io.Discard, resp.Body)
		if err := errors.Join(err, resp.Body.Close()); err != nil {
			c.t.Error(err)
		}
		if resp.StatusCode != 410 && (resp.StatusCode != 200 || gone) {
			c.t.Errorf("%s: %s (gone before: %v)", method, resp.Status, gone)
		}
		gone = resp.StatusCode == 410
	}
}

// TestProxyHeads sends what clients may send, as it is on the wire, and counts the answers.
func TestProxyHeads(t *testing.T) {
	t.Parallel()
	c := newCube(t)
	id, _ := c.make("")
	host := "Host: 9000-" + id + ".x\r\n"
	get := func(path, more string) string { return "GET " + path + " HTTP/1.1\r\n" + host + more + "\r\n" }
	const closing = "Connection: close\r\n"
	for _, test := range []struct {
		name string
		send []string // with a pause after each
		want []string // what the answers are like: status, or status and body
	}{
		{"one after the other", []string{get("/1", ""), get("/2", ""), get("/3", closing)}, []string{"200 /1", "200 /2", "200 /3"}},
		{"at once", []string{get("/1", "") + get("/2", "") + get("/3", closing)}, []string{"200 /1", "200 /2", "200 /3"}},
		{"at once, slowly answered", []string{get("/slow", "") + get("/2", closing)}, []string{"200 at last", "200 /2"}},
		{"the next while one is answered", []string{get("/slow", ""), get("/2", closing)}, []string{"200 at last", "200 /2"}},
		{"a head in parts", []string{"GET /par", "ts HTTP/1.1\r\nHo", "st: 9000-" + id + ".x\r\n", closing + "\r\n"}, []string{"200 /parts"}},
		{"a head in parts, later", []string{get("/1", ""), "GET /parts HTTP/1.1\r\n", host + closing + "\r\n"}, []string{"200 /1", "200 /parts"}},
		{"bodies between", []string{get("/1", "") + "POST /2 HTTP/1.1\r\n" + host + "Content-Length: 3\r\n\r\nabc" + get("/3", closing)}, []string{"200 /1", "200 /2", "200 /3"}},
		{"a body in chunks", []string{"POST /2 HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n" + get("/3", closing)}, []string{"200 /2", "200 /3"}},
		{"GET with a body", []string{"GET /1 HTTP/1.1\r\n" + host + "Content-Length: 20\r\n\r\nGET /no HTTP/1.1\r\n\r\n" + get("/2", closing)}, []string{"200 /1", "200 /2"}},
		{"a long head", []string{get("/1", "X-Long: "+strings.Repeat("x", 20_000)+"\r\n"+closing)}, []string{"200 /1"}},
		{"HTTP/1.0", []string{"GET /1 HTTP/1.0\r\n" + host + "\r\n"}, []string{"200 /1"}},
		{"LF only", []string{"GET /1 HTTP/1.1\n" + "Host: 9000-" + id + ".x\nConnection: close\n\n"}, []string{"200 /1"}},
		{"no Host", []string{"GET /1 HTTP/1.1\r\n\r\n"}, []string{"400"}},
		{"two Hosts", []string{"GET /1 HTTP/1.1\r\n" + host + host + "\r\n"}, []string{"400"}},
		{"two lengths", []string{"GET /1 HTTP/1.1\r\n" + host + "Content-Length: 1\r\nContent-Length: 2\r\n\r\n"}, []string{"400"}},
		{"length and chunks", []string{get("/1", "Content-Length: 9\r\nTransfer-Encoding: chunked\r\n"+closing) + "0\r\n\r\n"}, []string{"200 /1"}},
		{"a space before the colon", []string{get("/1", "X : y\r\n")}, []string{"400"}},
		{"a path that is none", []string{get("/%zz", "")}, []string{"400"}},
		{"refused and on", []string{"GET / HTTP/1.1\r\nHost: 9000-nope.x\r\n\r\n" + get("/2", closing)}, []string{`404 {"error":"not found"}`, "200 /2"}},
		{"not a word of HTTP", []string{"\x16\x03\x01\x02\x00\r\n\r\n"}, []string{"400"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			conn, in := c.dial("")
			for i, part := range test.send {
				if i > 0 {
					time.Sleep(50 * time.Millisecond)
				}
				if _, err := io.WriteString(conn, part); err != nil {
					t.Fatal(err)
				}
			}
			for i, want := range test.want {
				resp, err := http.ReadResponse(in, nil)
				if err != nil {
					t.Fatalf("answer %d: %v", i+1, err)
				}
				text, err := io.ReadAll(resp.Body)
				status, body, _ := strings.Cut(want, " ")
				if err != nil || itoa(resp.StatusCode) != status || !strings.HasSuffix(string(text), body) {
					t.Errorf("answer %d: %s %q, %v, want %s", i+1, resp.Status, text, err, want)
				}
			}
			if rest, err := io.ReadAll(in); err != nil && !errors.Is(err, net.ErrClosed) || len(rest) > 0 {
				t.Errorf("after the answers: %q, %v", rest, err)
			}
		})
	}
}
