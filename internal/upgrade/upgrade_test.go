package upgrade_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"testing"

	"github.com/hermesbox/hermesbox/internal/upgrade"
)

// TestWhole: what a client sends right with its request for another protocol
// arrives, and what follows too.
func TestWhole(t *testing.T) {
	t.Parallel()
	echo := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, both, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
		_, _ = io.Copy(conn, both.Reader)
	}))
	t.Cleanup(echo.Close)
	to, err := url.Parse(echo.URL)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) }}
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		proxy.ServeHTTP(upgrade.Whole(w, r), r)
	}))
	t.Cleanup(front.Close)
	conn, err := net.Dial("tcp", front.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\nEARLY"); err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(conn)
	res, err := http.ReadResponse(in, nil)
	if err != nil || res.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("%v, %v", res, err)
	}
	defer res.Body.Close()
	if _, err := io.WriteString(conn, "late"); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, len("EARLYlate"))
	if _, err := io.ReadFull(in, got); err != nil || string(got) != "EARLYlate" {
		t.Errorf("%q, %v", got, err)
	}
}

// TestWholePlain: other requests keep their writer.
func TestWholePlain(t *testing.T) {
	t.Parallel()
	w := httptest.NewRecorder()
	if got := upgrade.Whole(w, httptest.NewRequest(http.MethodGet, "/", nil)); got != http.ResponseWriter(w) {
		t.Errorf("got %T", got)
	}
}
