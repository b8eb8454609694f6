package verify

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/hermesbox/hermesbox/internal/check"
	"github.com/hermesbox/hermesbox/internal/dockertest"
)

// here runs a probe on this machine, each old of its text replaced by a new.
func here(t *testing.T, parts []string, asked map[string]any, oldnew ...string) facts {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		dockertest.Missing(t, "python", "no python3")
	}
	script, err := probeScript(parts)
	if err != nil {
		t.Fatal(err)
	}
	script = strings.NewReplacer(oldnew...).Replace(script)
	args, err := json.Marshal(asked)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, python, "-I", "-S", "-B", "-c", script, "m", string(args))
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil || said.Len() > 0 {
		t.Fatalf("%s: %v: %s", parts, err, said.String())
	}
	body, err := unframe(out, "m")
	if err != nil {
		t.Fatal(err)
	}
	var found facts
	if err := json.Unmarshal(body, &found); err != nil {
		t.Fatal(err)
	}
	return found
}

// talk listens and has each connection handled; it gives the address.
func talk(t *testing.T, handle func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				handle(c)
			}()
		}
	}()
	return l.Addr().String()
}

// dripping is a server of HTTP whose answer has no end.
func dripping(t *testing.T) string {
	t.Helper()
	stop := t.Context().Done()
	return talk(t, func(c net.Conn) {
		for _, err := fmt.Fprint(c, "HTTP/1.1 200 OK\r\n"); err == nil; _, err = fmt.Fprint(c, "X: y\r\n") {
			select {
			case <-stop:
				return
			case <-time.After(500 * time.Millisecond):
			}
		}
	})
}

// TestReach: whatever a model endpoint does, it is told of, and in time.
func TestReach(t *testing.T) {
	t.Parallel()
	say := func(w io.Writer, text string) { _, _ = io.WriteString(w, text) } // who asked may be gone
	plain := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch strings.Split(r.URL.Path, "/")[1] {
		case "ok":
			w.Header().Set("Content-Type", "application/json")
			say(w, `{"data":[]}`)
		case "key":
			w.WriteHeader(http.StatusUnauthorized)
		case "moved":
			http.Redirect(w, r, "/html/", http.StatusFound)
		case "html":
			w.Header().Set("Content-Type", "text/html")
			say(w, "<html>")
		case "down":
			w.WriteHeader(http.StatusInternalServerError)
		case "parts":
			w.Header().Set("Content-Type", "application/json")
			for _, part := range []string{" ", "<", "html>"} {
				say(w, part)
				w.(http.Flusher).Flush()
			}
		case "empty":
			w.WriteHeader(http.StatusNoContent)
		case "huge":
			w.Header().Set("Content-Type", "application/json")
			for range 1 << 12 {
				say(w, strings.Repeat(" ", 1<<12))
			}
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(plain.Close)
	secure := httptest.NewTLSServer(plain.Config.Handler)
	t.Cleanup(secure.Close)
	stop := t.Context().Done()
	drip := dripping(t)
	silent := talk(t, func(net.Conn) { <-stop })
	shut := talk(t, func(net.Conn) {})
	waiting := talk(t, func(c net.Conn) { // keeps the connection, as asked not to
		say(c, "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
		<-stop
	})
	fields := talk(t, func(c net.Conn) { say(c, "HTTP/1.1 200 OK\r\n"+strings.Repeat("X: y\r\n", 1000)+"\r\n{}") })
	lying := talk(t, func(c net.Conn) {
		say(c, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nmany\r\n{}\r\n0\r\n\r\n")
	})
	garbage := talk(t, func(c net.Conn) { fmt.Fprint(c, "220 mail ready\r\n") }) //nolint:errcheck // of a test
	_, port, _ := net.SplitHostPort(garbage)

	const none = "none"
	for endpoint, want := range map[string]struct {
		status check.Status
		says   string
	}{
		plain.URL + "/ok/v1":       {check.Pass, "HTTP 200"},
		plain.URL + "/ok":          {check.Pass, "HTTP 200"},
		plain.URL + "/huge":        {check.Pass, "HTTP 200"},
		plain.URL + "/key":         {check.Pass, "it wants a key"},
		plain.URL + "/moved":       {check.Fail, "HTTP 302"},
		plain.URL + "/none":        {check.Warn, "HTTP 404"},
		plain.URL + "/html":        {check.Fail, "HTML"},
		plain.URL + "/down":        {check.Fail, "HTTP 500"},
		plain.URL + "/parts":       {check.Fail, "HTML"},
		plain.URL + "/empty":       {check.Pass, "HTTP 204"},
		plain.URL + "/a b":         {check.Fail, "spaces or control characters"},
		secure.URL + "/ok":         {check.Fail, "failed at tls"},
		"http://" + silent:         {check.Fail, "failed at http"},
		"http://" + shut:           {check.Fail, "failed at http"},
		"http://" + waiting:        {check.Pass, "HTTP 200"},
		"http://" + fields:         {check.Fail, "more than 100 header fields"},
		"http://" + lying:          {check.Fail, "failed at http"},
		"http://" + drip:           {check.Fail, "failed at http"},
		"http://" + garbage:        {check.Fail, "failed at http"},
		"https://" + garbage:       {check.Fail, "failed at tls"},
		"http://127.0.0.1:1":       {check.Fail, "failed at connect"},
		"http://[::1]:" + port:     {check.Fail, "IPv4 alone"},
		"http://models.invalid/v1": {check.Fail, "failed at resolve"},
		"http://" + strings.Repeat("a", 64) + ".example/v1": {check.Fail, "failed at resolve"},
		"http://127.0.0.1:99999/v1":                         {check.Fail, "failed at resolve"},
		none:                                                {check.Fail, "failed at resolve"},
	} {
		t.Run(endpoint, func(t *testing.T) {
			t.Parallel()
			found := here(t, networkProbe, map[string]any{"allowed": []string{endpoint}, "denied": []string{}}, "LIMIT = 30", "LIMIT = 3")
			var got map[string]reached
			if err := found.read("allowed", &got); err != nil {
				t.Fatal(err)
			}
			if r := judgeReached([]string{endpoint}, got); r.Status != want.status || !strings.Contains(r.Evidence, want.says) {
				t.Errorf("%s: %s", r.Status, r.Evidence)
			}
		})
	}
}

// TestDenied: what could not be tried is not out of reach.
func TestDenied(t *testing.T) {
	t.Parallel()
	open := talk(t, func(net.Conn) {})
	found := here(t, networkProbe, map[string]any{"allowed": []string{}, "denied": []string{open, "127.0.0.1:1", "127.0.0.1:none"}})
	var got map[string]reached
	if err := found.read("denied", &got); err != nil {
		t.Fatal(err)
	}
	s := &subject{options: Options{Denied: []string{"10.0.0.1:1"}, Reach: func(a netip.Addr) (bool, string) { return !a.IsPrivate(), "" }}}
	closed := map[string]reached{}
	for _, addr := range s.denied() {
		closed[addr] = reached{Address: addr, Layer: "connect", Error: "timed out"}
	}
	for name, c := range map[string]struct {
		got  reached
		want check.Status
		says string
	}{
		"open":    {got[open], check.Fail, "reached, though the policy denies it"},
		"refused": {got["127.0.0.1:1"], check.Pass, "127.0.0.1:1 ("},
		"untried": {got["127.0.0.1:none"], check.Fail, "trying to reach 10.0.0.1:1"},
	} {
		closed["10.0.0.1:1"] = c.got
		if r := s.judgeDenied(closed); r.Status != c.want || !strings.Contains(r.Evidence, c.says) {
			t.Errorf("%s: %+v", name, r)
		}
	}
	delete(closed, "10.0.0.1:1")
	if r := s.judgeDenied(closed); r.Status != check.Fail || !strings.Contains(r.Evidence, "says nothing of 10.0.0.1:1") {
		t.Errorf("nothing said: %+v", r)
	}
}
