package cmd_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// backend is an application in a sandbox that tells what it was asked.
func backend(t *testing.T, gone chan<- struct{}) string {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("/told", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%s %s %s origin=%s referer=%s", r.Method, r.Host, r.URL.RequestURI(), r.Header.Get("Origin"), r.Header.Get("Referer"))
	})
	mux.HandleFunc("/redirect", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", "http://"+r.Host+"/next?a=b#c")
		w.WriteHeader(http.StatusFound)
	})
	mux.HandleFunc("/away", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", "https://example.org/x")
		w.WriteHeader(http.StatusFound)
	})
	mux.HandleFunc("/stream", func(w http.ResponseWriter, r *http.Request) {
		for i := 0; ; i++ {
			fmt.Fprintf(w, "data: %d\n\n", i)
			if http.NewResponseController(w).Flush() != nil || r.Context().Err() != nil {
				gone <- struct{}{}
				return
			}
			time.Sleep(20 * time.Millisecond)
		}
	})
	mux.HandleFunc("/early", func(w http.ResponseWriter, r *http.Request) {
		out := http.NewResponseController(w)
		_ = out.EnableFullDuplex()
		fmt.Fprintf(w, "early ")
		_ = out.Flush()
		body, err := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %v", body, err)
	})
	mux.HandleFunc("/socket", func(w http.ResponseWriter, r *http.Request) {
		conn, in, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		fmt.Fprintf(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: %s\r\n\r\n", r.Header.Get("Upgrade"))
		for {
			line, err := in.ReadString('\n')
			if err != nil {
				return
			}
			fmt.Fprintf(conn, "echo %s", line)
		}
	})
	s := httptest.NewServer(mux)
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	return s.Listener.Addr().String()
}

// forwarded is a running sandbox forward.
type forwarded struct {
	url, host string
	cmd       *exec.Cmd
	stderr    *bytes.Buffer
}

func startForward(t *testing.T, w *world, args ...string) *forwarded {
	t.Helper()
	f := &forwarded{stderr: &bytes.Buffer{}}
	f.cmd = w.command(t, append([]string{"sandbox", "forward"}, args...)...)
	f.cmd.Stderr = f.stderr
	out, err := f.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := f.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		_ = f.cmd.Wait() // for what it said
		t.Fatalf("no address: %v\n%s", err, f.stderr)
	}
	f.url = strings.TrimSpace(line)
	f.host = strings.TrimPrefix(f.url, "http://")
	t.Cleanup(func() { _ = f.cmd.Process.Kill(); _ = f.cmd.Wait() }) // as a rule it has ended
	return f
}

// ask sends a request with these headers; Host among them is the request's.
func (f *forwarded) ask(t *testing.T, method, path string, header ...string) (int, string, http.Header) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, f.url+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	if host := req.Header.Get("Host"); host != "" {
		req.Host = host
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(body), res.Header
}

func TestForward(t *testing.T) {
	t.Parallel()
	gone := make(chan struct{}, 10)
	w := startWorld(t, map[string]string{"9000": backend(t, gone)})
	f := startForward(t, w, "alice", "--listen", "127.0.0.1:0")
	_, port, err := net.SplitHostPort(f.host)
	if err != nil {
		t.Fatal(err)
	}
	const denied = "hermesbox: a page of another site sent this request\n"
	for _, test := range []struct {
		name, method, path string
		header             []string
		code               int
		want               string
	}{
		{"plain", "GET", "/told?token=x&y", nil, 200, "GET 9000-sb-1.cube.test /told?token=x&y origin= referer="},
		{"own page", "POST", "/told", []string{"Origin", f.url, "Referer", f.url + "/page?q"}, 200, "POST 9000-sb-1.cube.test /told origin=http://9000-sb-1.cube.test referer=http://9000-sb-1.cube.test/page?q"},
		{"by localhost", "GET", "/told", []string{"Host", "localhost:" + port, "Origin", "http://localhost:" + port}, 200, "GET 9000-sb-1.cube.test /told origin=http://9000-sb-1.cube.test referer="},
		{"a name made to lead here", "GET", "/told", []string{"Host", "evil.example:" + port}, 403, "hermesbox: this is not the address that the sandbox is forwarded to\n"},
		{"another port's name", "GET", "/told", []string{"Host", "127.0.0.1:1"}, 403, "hermesbox: this is not the address that the sandbox is forwarded to\n"},
		{"another site's script", "POST", "/told", []string{"Origin", "https://evil.example"}, 403, denied},
		{"https is another origin", "GET", "/told", []string{"Origin", "https://" + f.host}, 403, denied},
		{"a page without an origin", "GET", "/told", []string{"Origin", "null"}, 403, denied},
		{"another site's image", "GET", "/told", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors"}, 403, denied},
		{"another port's image", "GET", "/told", []string{"Sec-Fetch-Site", "same-site", "Sec-Fetch-Mode", "no-cors"}, 403, denied},
		{"a link elsewhere", "GET", "/told", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate"}, 200, "GET 9000-sb-1.cube.test /told origin= referer="},
		{"missing", "GET", "/nothing", nil, 404, "404 page not found\n"},
	} {
		code, body, _ := f.ask(t, test.method, test.path, test.header...)
		if code != test.code || body != test.want {
			t.Errorf("%s: %d %q, want %d %q", test.name, code, body, test.code, test.want)
		}
	}
	for path, want := range map[string]string{"/redirect": "/next?a=b#c", "/away": "https://example.org/x"} {
		if _, _, header := f.ask(t, "GET", path); header.Get("Location") != want {
			t.Errorf("%s leads to %q, want %q", path, header.Get("Location"), want)
		}
	}
	testForwardStream(t, f, gone)
	testForwardSocket(t, f)
	testForwardEarly(t, f)
	w.set(func() { w.ports = nil })
	if code, _, _ := f.ask(t, "GET", "/told"); code != 502 {
		t.Errorf("nothing listens: %d, want the proxy's 502", code)
	}
	w.server.Close()
	if code, body, _ := f.ask(t, "GET", "/told"); code != 502 || !strings.HasPrefix(body, "hermesbox: ") {
		t.Errorf("no proxy: %d %q", code, body)
	}
	if err := f.cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	_ = f.cmd.Wait() // the code tells
	if code := f.cmd.ProcessState.ExitCode(); code != 130 || !strings.Contains(f.stderr.String(), "warning: GET /told: ") {
		t.Errorf("exit code %d\n%s", code, f.stderr)
	}
}

// testForwardStream: events come one by one, and a browser that leaves ends the stream.
func testForwardStream(t *testing.T, f *forwarded, gone <-chan struct{}) {
	t.Helper()
	res, err := http.Get(f.url + "/stream")
	if err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(res.Body)
	for i := range 5 {
		line, err := in.ReadString('\n')
		if want := fmt.Sprintf("data: %d\n", i); err != nil || line != want {
			t.Fatalf("event %q, %v; want %q", line, err, want)
		}
		if _, err := in.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	res.Body.Close()
	select {
	case <-gone:
	case <-time.After(20 * time.Second):
		t.Error("the stream goes on without a reader")
	}
}

// testForwardSocket: what a WebSocket is made of.
func testForwardSocket(t *testing.T, f *forwarded) {
	t.Helper()
	conn, err := net.Dial("tcp", f.host)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "GET /socket HTTP/1.1\r\nHost: %s\r\nOrigin: %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n", f.host, f.url)
	in := bufio.NewReader(conn)
	res, err := http.ReadResponse(in, nil)
	if err != nil || res.StatusCode != 101 || res.Header.Get("Upgrade") != "websocket" {
		t.Fatalf("%v, %v", res, err)
	}
	for _, word := range []string{"one\n", "two\n"} {
		fmt.Fprintf(conn, "%s", word)
		if line, err := in.ReadString('\n'); err != nil || line != "echo "+word {
			t.Errorf("%q, %v", line, err)
		}
	}
}

// testForwardEarly: an answer that begins before the request ends cuts nothing off.
func testForwardEarly(t *testing.T, f *forwarded) {
	t.Helper()
	conn, err := net.Dial("tcp", f.host)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "POST /early HTTP/1.1\r\nHost: %s\r\nContent-Length: 10\r\nConnection: close\r\n\r\n01234", f.host)
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	begin := make([]byte, 6)
	if _, err := io.ReadFull(res.Body, begin); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(conn, "56789")
	rest, err := io.ReadAll(res.Body)
	if got := string(begin) + string(rest); err != nil || got != "early 0123456789 <nil>" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestForwardAddresses(t *testing.T) {
	t.Parallel()
	w := startWorld(t, map[string]string{"8099": backend(t, nil)})
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { taken.Close() })
	for _, test := range []struct {
		name string
		args []string
		code int
		says []string
	}{
		{"all interfaces", []string{"alice", "--listen", "0.0.0.0:9000"}, 2, []string{`error: --listen "0.0.0.0:9000" is not on loopback`, "hint: use 127.0.0.1:PORT"}},
		{"no host", []string{"alice", "--listen", ":9000"}, 2, []string{"is not on loopback"}},
		{"IPv6, all", []string{"alice", "--listen", "[::]:9000"}, 2, []string{"is not on loopback"}},
		{"a name", []string{"alice", "--listen", "example.org:9000"}, 2, []string{"is not on loopback"}},
		{"a port alone", []string{"alice", "--listen", "9000"}, 2, []string{"is no address and port"}},
		{"a port that is none", []string{"alice", "--listen", "127.0.0.1:99999"}, 2, []string{`"99999" is no port`}},
		{"a remote port that is none", []string{"alice", "http"}, 2, []string{`error: "http" is no port`, "hint: use a number"}},
		{"port 0", []string{"alice", "0"}, 2, []string{`"0" is no port`}},
		{"too many", []string{"alice", "1", "2"}, 2, []string{"at most 2"}},
		{"taken", []string{"alice", "--listen", taken.Addr().String()}, 1, []string{"address already in use", "hint: name another address with --listen"}},
		{"nobody", []string{"bob"}, 1, []string{`finding "bob"`}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := w.run(t.Context(), t, nil, nil, append([]string{"sandbox", "forward"}, test.args...)...)
			if got.code != test.code || got.stdout != "" {
				t.Errorf("exit code %d, want %d; stdout %q", got.code, test.code, got.stdout)
			}
			for _, text := range test.says {
				if !strings.Contains(got.stderr, text) {
					t.Errorf("stderr lacks %q:\n%s", text, got.stderr)
				}
			}
		})
	}
	f := startForward(t, w, "sb-1", "8099", "--listen", "[::1]:0")
	if code, body, _ := f.ask(t, "GET", "/told"); code != 200 || !strings.HasPrefix(body, "GET 8099-sb-1.cube.test /told") {
		t.Errorf("on IPv6: %d %q", code, body)
	}
	if diff := cmp.Diff(true, strings.HasPrefix(f.url, "http://[::1]:")); diff != "" {
		t.Errorf("address %s", f.url)
	}
}
