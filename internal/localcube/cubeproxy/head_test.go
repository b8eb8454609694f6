package cubeproxy

import (
	"bufio"
	"bytes"
	"net/http"
	"strings"
	"testing"
)

func TestPlainHead(t *testing.T) {
	t.Parallel()
	const get, host = "GET /a?b=%zz HTTP/1.1\r\n", "Host: 9000-x.localhost:8090\r\n"
	for _, test := range []struct {
		name, text string
		plain      bool
	}{
		{"GET", get + host + "\r\n", true},
		{"HEAD", "HEAD / HTTP/1.1\r\n" + host + "\r\n", true},
		{"more headers", get + "Accept: */*\r\n" + host + "X-Empty:\r\nCookie: a=b; c=\"d\"\tx\r\n\r\n", true},
		{"keep-alive", get + host + "connection: Keep-Alive\r\n\r\n", true},
		{"the next one too", get + host + "\r\nGET / HTT", true},
		{"nothing", "", false},
		{"half", get + host, false},
		{"POST", "POST / HTTP/1.1\r\n" + host + "\r\n", false},
		{"HTTP/1.0", "GET / HTTP/1.0\r\n" + host + "\r\n", false},
		{"HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", false},
		{"absolute", "GET http://a/ HTTP/1.1\r\n" + host + "\r\n", false},
		{"a space in the path", "GET /a b HTTP/1.1\r\n" + host + "\r\n", false},
		{"not ASCII", "GET /ä HTTP/1.1\r\n" + host + "\r\n", false},
		{"no Host", get + "\r\n", false},
		{"two Hosts", get + host + host + "\r\n", false},
		{"an odd Host", get + "Host: a/b\r\n\r\n", false},
		{"a length", get + host + "Content-Length: 0\r\n\r\n", false},
		{"chunks", get + host + "transfer-encoding: chunked\r\n\r\n", false},
		{"an upgrade", get + host + "Upgrade: websocket\r\n\r\n", false},
		{"closing", get + host + "Connection: close\r\n\r\n", false},
		{"Expect", get + host + "Expect: 100-continue\r\n\r\n", false},
		{"a bare LF", get + host + "X: a\nContent-Length: 5\r\n\r\n", false},
		{"a bare CR", get + host + "X: a\rContent-Length: 5\r\n\r\n", false},
		{"LF LF", "GET / HTTP/1.1\nHost: a\n\n", false},
		{"a folded line", get + host + "X: a\r\n b\r\n\r\n", false},
		{"a space before the colon", get + host + "Content-Length : 5\r\n\r\n", false},
		{"no colon", get + host + "Content-Length\r\n\r\n", false},
		{"no name", get + host + ": 5\r\n\r\n", false},
		{"NUL", get + host + "X: \x00\r\n\r\n", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			want := 0
			if test.plain {
				want = strings.Index(test.text, "\r\n\r\n") + 4
			}
			if got := plainHead([]byte(test.text)); got != want {
				t.Errorf("%d, want %d", got, want)
			}
		})
	}
}

// FuzzPlainHead wants net/http to see in a plain head what we see: one request without a body.
func FuzzPlainHead(f *testing.F) {
	f.Add([]byte("GET /a HTTP/1.1\r\nHost: 9000-x.y\r\nA: b\r\n\r\n"))
	f.Add([]byte("HEAD /%zz HTTP/1.1\r\nHost:\r\nConnection: keep-alive\r\n\r\nGET / HTTP/1.1\r\n"))
	f.Add([]byte("GET / HTTP/1.1\r\nHost: a\r\nContent-Length : 3\r\n\r\nabc"))
	f.Fuzz(func(t *testing.T, text []byte) {
		length := plainHead(text)
		if length == 0 {
			return
		}
		in := bufio.NewReader(bytes.NewReader(text[:length]))
		r, err := http.ReadRequest(in)
		if err != nil {
			return // it is handed over
		}
		if in.Buffered() > 0 || r.ContentLength != 0 || len(r.TransferEncoding) > 0 || r.Close || !r.ProtoAtLeast(1, 1) {
			t.Errorf("%q: %+v", text, r)
		}
		if r.Method != http.MethodGet && r.Method != http.MethodHead || r.Header.Get("Upgrade") != "" || r.Header.Get("Expect") != "" {
			t.Errorf("%q: %+v", text, r)
		}
	})
}
