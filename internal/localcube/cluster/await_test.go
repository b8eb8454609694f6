package cluster

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestProbePath: a path without a slash is one all the same, and a query stays one.
func TestProbePath(t *testing.T) {
	t.Parallel()
	var asked string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.Host + " " + r.RequestURI
		if r.URL.Path == "/no" {
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	t.Cleanup(server.Close)
	dial := func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, server.Listener.Addr().String())
	}
	client := &http.Client{Transport: &http.Transport{DialContext: dial}}
	for path, want := range map[string]string{
		"": "/health", "/": "/", "status": "/status", "/status": "/status", "/a?b=c%20d": "/a?b=c%20d", "a?b=/": "/a?b=/",
	} {
		if err := probeOnce(t.Context(), client, HTTPGet{Path: path, Port: 9000}); err != nil || asked != "localhost:9000 "+want {
			t.Errorf("%q: asked for %s, %v", path, asked, err)
		}
	}
	if err := probeOnce(t.Context(), client, HTTPGet{Path: "/no", Port: 9000}); err == nil {
		t.Error("404 passes")
	}
}
