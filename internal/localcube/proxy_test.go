package localcube_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"

	"github.com/hermesbox/hermesbox/internal/dockertest"
	"github.com/hermesbox/hermesbox/internal/localcube"
)

// cube is a local Cube with a template of testdata/app.
type cube struct {
	t    *testing.T
	opts localcube.Options
	st   localcube.Status
	tpl  string
}

func newCube(t *testing.T) *cube {
	t.Helper()
	engine := dockertest.Default(t)
	image := "hermesbox-test/" + strings.ToLower(t.Name()) + ":1"
	importApp(t, engine, image, `ENTRYPOINT ["/entry.sh"]`)
	c := &cube{t: t, opts: localcube.Options{Docker: engine.Client, StateDir: tempDir(t)}}
	c.st = serve(t, c.opts)
	c.tpl = appTemplate(t, c.st, image)
	return c
}

// faults switches exactly these on.
func (c *cube) faults(names ...string) {
	c.t.Helper()
	if err := localcube.SetFaults(c.t.Context(), c.opts.StateDir, names); err != nil {
		c.t.Fatal(err)
	}
}

// reply is what a request got.
type reply struct {
	status int
	header http.Header
	body   string
}

// send asks url; of headers, Host is the request's host.
func (c *cube) send(method, url, body string, headers ...string) reply {
	c.t.Helper()
	req, err := http.NewRequestWithContext(c.t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for pair := range slices.Chunk(headers, 2) {
		if pair[0] == "Host" {
			req.Host = pair[1]
		}
		req.Header.Set(pair[0], pair[1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		c.t.Fatal(err)
	}
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	if err := resp.Body.Close(); err != nil {
		c.t.Fatal(err)
	}
	return reply{resp.StatusCode, resp.Header, string(text)}
}

func (c *cube) api(method, path, body string) reply {
	c.t.Helper()
	return c.send(method, c.st.APIURL+path, body)
}

// make creates a sandbox of the template, with more fields, and gives the id and the whole answer.
func (c *cube) make(fields string) (id, answer string) {
	c.t.Helper()
	got := c.api(http.MethodPost, "/sandboxes", `{"templateID":"`+c.tpl+`"`+fields+`}`)
	if got.status != http.StatusCreated {
		c.t.Fatalf("creating a sandbox: %d %s", got.status, got.body)
	}
	_, rest, _ := strings.Cut(got.body, `"sandboxID":"`)
	id, _, _ = strings.Cut(rest, `"`)
	return id, got.body
}

func (c *cube) proxyURL() string { return fmt.Sprintf("http://%s:%d", c.st.Proxy.IP, c.st.Proxy.Port) }

// visit asks port 9000 of a sandbox by its host name.
func (c *cube) visit(id, path string, headers ...string) reply {
	c.t.Helper()
	return c.send(http.MethodGet, c.proxyURL()+path, "", append([]string{"Host", "9000-" + id + ".any.domain"}, headers...)...)
}

func TestProxy(t *testing.T) {
	t.Parallel()
	c := newCube(t)
	id, _ := c.make("")
	host := "9000-" + id + ".cube.app"
	for _, test := range []struct {
		name, path, host string
		status           int
		body             string
	}{
		{"by host", "/a%2Fb?c=d", host, 200, host + " /a%2Fb?c=d"},
		{"by path", "/sandbox/" + id + "/9000/x/y?z=1", "127.0.0.1", 200, "127.0.0.1 /x/y?z=1"},
		{"a query that Go cannot parse", "/x?a=1;y=2&z=%zz&b=2&a=1", host, 200, host + " /x?a=1;y=2&z=%zz&b=2&a=1"},
		{"by path, root", "/sandbox/" + id + "/9000", "127.0.0.1", 200, "127.0.0.1 /"},
		{"the other port", "/", "49983-" + id + ".localhost:8090", 200, "49983-" + id + ".localhost:8090 /"},
		{"no port in the host", "/", id + ".localhost", 400, `{"error":"bad request"}`},
		{"port 0", "/", "0-" + id + ".localhost", 400, `{"error":"bad request"}`},
		{"port 70000", "/", "70000-" + id + ".localhost", 400, `{"error":"bad request"}`},
		{"plain host", "/", "localhost", 400, `{"error":"bad request"}`},
		{"unknown sandbox", "/", "9000-nope.localhost", 404, `{"error":"not found"}`},
	} {
		t.Run(test.name, func(t *testing.T) { //nolint:paralleltest // they share one sandbox with the steps below
			if got := c.send(http.MethodGet, c.proxyURL()+test.path, "", "Host", test.host); got.status != test.status || got.body != test.body {
				t.Errorf("%d %q, want %d %q", got.status, got.body, test.status, test.body)
			}
		})
	}
	if got := c.send(http.MethodGet, c.proxyURL()+"/", "", "Host", "8080-"+id+".localhost"); got.status != 502 || got.header.Get("Content-Type") != "text/html" {
		t.Errorf("a port where nothing listens: %d %s", got.status, got.header)
	}
	c.stream(id)
	c.upgrade(id, "")
	c.upgrade(id, "early\n")
	if got := c.api(http.MethodDelete, "/sandboxes/"+id, ""); got.status != 204 {
		t.Fatalf("deleting: %d %s", got.status, got.body)
	}
	if got := c.visit(id, "/"); got.status != 410 || got.body != `{"error":"gone"}` {
		t.Errorf("a deleted sandbox: %d %s", got.status, got.body)
	}
}

// stream wants the first part of an answer before the second is made.
func (c *cube) stream(id string) {
	c.t.Helper()
	start := time.Now()
	resp, err := http.Get(c.proxyURL() + "/sandbox/" + id + "/9000/stream")
	if err != nil {
		c.t.Fatal(err)
	}
	first := make([]byte, 3)
	if _, err := io.ReadFull(resp.Body, first); err != nil || string(first) != "one" || time.Since(start) > 700*time.Millisecond {
		c.t.Errorf("the first part: %q, %v, after %s", first, err, time.Since(start))
	}
	rest, err := io.ReadAll(resp.Body)
	if err != nil || string(rest) != "two" {
		c.t.Errorf("the second part: %q, %v", rest, err)
	}
	if err := resp.Body.Close(); err != nil {
		c.t.Error(err)
	}
}

// upgrade speaks another protocol through the proxy, as a WebSocket does; early
// is what it says before it is let.
func (c *cube) upgrade(id, early string) {
	c.t.Helper()
	conn, err := new(net.Dialer).DialContext(c.t.Context(), "tcp", strings.TrimPrefix(c.proxyURL(), "http://"))
	if err != nil {
		c.t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	fmt.Fprintf(conn, "GET /upgrade HTTP/1.1\r\nHost: 9000-%s.localhost\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n%s", id, early)
	in := bufio.NewReader(conn)
	resp, err := http.ReadResponse(in, nil)
	if err != nil || resp.StatusCode != http.StatusSwitchingProtocols {
		c.t.Fatalf("upgrading: %v, %v", resp, err)
	}
	if got, err := in.Peek(len(early)); err != nil || string(got) != early {
		c.t.Errorf("echo of %q: %q, %v", early, got, err)
	}
	if _, err := in.Discard(len(early)); err != nil {
		c.t.Error(err)
	}
	for _, word := range []string{"hello\n", "again\n"} {
		if _, err := io.WriteString(conn, word); err != nil {
			c.t.Fatal(err)
		}
		if got, err := in.ReadString('\n'); err != nil || got != word {
			c.t.Errorf("echo of %q: %q, %v", word, got, err)
		}
	}
}

// TestProxyConnections is about connections that are used again, go stale, or break.
func TestProxyConnections(t *testing.T) {
	t.Parallel()
	c := newCube(t)
	id, _ := c.make("")
	url := c.proxyURL() + "/sandbox/" + id + "/9000"
	for range 3 {
		if got := c.visit(id, "/large"); got.status != 200 || len(got.body) != 10_000_000 {
			t.Errorf("a large body: %d, %d bytes", got.status, len(got.body))
		}
	}
	if got := c.send(http.MethodHead, url+"/large", ""); got.status != 200 || got.body != "" || got.header.Get("Content-Length") != "10000000" {
		t.Errorf("HEAD: %d %s", got.status, got.header)
	}
	resp, err := http.Get(url + "/trailer")
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(resp.Body)
	if err := errors.Join(err, resp.Body.Close()); err != nil || string(text) != "body" || resp.Trailer.Get("X-Sum") != "4" {
		t.Errorf("a trailer: %q, %v, %v", text, resp.Trailer, err)
	}
	if resp, err = http.Get(url + "/cut"); err != nil {
		t.Fatal(err)
	}
	text, err = io.ReadAll(resp.Body)
	if cerr := resp.Body.Close(); cerr != nil || !errors.Is(err, io.ErrUnexpectedEOF) || string(text) != "ten bytes." {
		t.Errorf("a body that is cut: %q, %v", text, err)
	}
	for path, want := range map[string]string{"/more": "200 ok", "/two": "200 ok", "/endless": "502"} {
		got := c.visit(id, path)
		if status, body, _ := strings.Cut(want, " "); itoa(got.status) != status || body != "" && got.body != body {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
		time.Sleep(300 * time.Millisecond) // now all of it is there
		if got := c.visit(id, "/next"); got.status != 200 || !strings.HasSuffix(got.body, "/next") {
			t.Errorf("after %s: %d %s", path, got.status, got.body)
		}
	}
	if got := c.send(http.MethodPost, url+"/post?x=y", `{}`); got.status != 200 || !strings.HasSuffix(got.body, " /post?x=y") {
		t.Errorf("POST: %d %s", got.status, got.body)
	}
	if err := c.opts.Docker.ContainerRestart(t.Context(), "hermesbox-"+id, container.StopOptions{}); err != nil {
		t.Fatal(err)
	}
	var got reply
	for end := time.Now().Add(10 * time.Second); got.status != 200 && time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		got = c.visit(id, "/")
	}
	if got.status != 200 {
		t.Errorf("after a restart of the container: %d %s", got.status, got.body)
	}
}

// TestProxyOdd is about answers that no good server gives; both ways through pass the same on.
func TestProxyOdd(t *testing.T) {
	t.Parallel()
	c := newCube(t)
	id, _ := c.make("")
	for _, test := range []struct {
		path   string
		status int
		absent string // a header that the answer must not have
	}{{"/none", 204, "Content-Length"}, {"/zero", 502, "Server"}, {"/bare", 200, "Content-Type"}} {
		for way, headers := range map[string][]string{"short": nil, "net/http": {"Connection", "x-other"}} {
			got := c.visit(id, test.path, headers...)
			if got.status != test.status || got.header[test.absent] != nil {
				t.Errorf("%s, %s: %d %v", test.path, way, got.status, got.header)
			}
		}
	}
}

func TestProxyPolicy(t *testing.T) {
	t.Parallel()
	c := newCube(t)
	id, answer := c.make(`,"network":{"allowPublicTraffic":false,"maskRequestHost":"localhost:${PORT}"}`)
	_, rest, _ := strings.Cut(answer, `"trafficAccessToken":"`)
	token, _, _ := strings.Cut(rest, `"`)
	if got := c.visit(id, "/"); got.status != 403 || got.body != `{"error":"forbidden"}` {
		t.Errorf("without a token: %d %s", got.status, got.body)
	}
	for _, name := range []string{"e2b-traffic-access-token", "cube-traffic-access-token"} {
		if got := c.visit(id, "/p", name, token); got.body != "localhost:9000 /p" {
			t.Errorf("with %s: %d %s", name, got.status, got.body)
		}
	}

	id, _ = c.make(`,"timeout":1,"lifecycle":{"onTimeout":"pause"}`)
	c.await(id, "paused")
	if got := c.visit(id, "/"); got.status != 503 || got.header.Get("Retry-After") != "2" || got.body != `{"error":"service unavailable"}` {
		t.Errorf("a paused sandbox: %d %s %s", got.status, got.header, got.body)
	}

	id, _ = c.make(`,"timeout":1,"lifecycle":{"onTimeout":"pause","autoResume":true}`)
	c.await(id, "paused")
	c.faults("resume-busy")
	if got := c.visit(id, "/"); got.status != 503 || got.header.Get("Retry-After") != "5" {
		t.Errorf("a sandbox that cannot be resumed: %d %s %s", got.status, got.header, got.body)
	}
	c.faults()
	if got := c.visit(id, "/"); got.status != 200 {
		t.Errorf("a sandbox that wakes: %d %s", got.status, got.body)
	}
}

// await waits for a state.
func (c *cube) await(id, state string) {
	c.t.Helper()
	var got reply
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		got = c.api(http.MethodGet, "/sandboxes/"+id, "")
		if strings.Contains(got.body, `"state":"`+state+`"`) {
			return
		}
	}
	c.t.Fatalf("never %s: %s", state, got.body)
}
