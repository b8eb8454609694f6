package sandbox

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/hermesbox/hermesbox/internal/envd"
)

// WebUIPort is where the Web UI listens.
const WebUIPort = 9000

// defaultDomain is Cube's own, for versions that do not tell.
const defaultDomain = "cube.app"

// Route is how the ports of sandboxes are reached.
type Route struct {
	Proxy envd.Proxy
	// Domain ends host names; empty takes what Cube tells of a sandbox.
	Domain string
	// Roots are the authorities trusted for https; nil is the system's.
	Roots *x509.CertPool
}

// Target is a port of a sandbox, by its host name.
func (r Route) Target(port int, s Sandbox) envd.Target {
	domain := r.Domain
	if domain == "" {
		domain = s.Domain
	}
	if domain == "" {
		domain = defaultDomain
	}
	return envd.ByHost(r.Proxy, port, s.ID, domain)
}

// Service is the command service of a sandbox. The caller closes it.
func (r Route) Service(s Sandbox) (*envd.Client, error) {
	service, err := envd.New(r.Target(envd.Port, s), envd.Options{Roots: r.Roots})
	if err != nil {
		return nil, fmt.Errorf("reaching sandbox %s: %w", s.ID, err)
	}
	return service, nil
}

// WebUI is the address of the Web UI, without a token.
func (r Route) WebUI(s Sandbox) string {
	t := r.Target(WebUIPort, s)
	u, err := url.Parse(t.URL)
	if err != nil {
		return t.URL + "/"
	}
	if _, port, err := net.SplitHostPort(t.Dial); err == nil && u.Port() == "" && port != defaultPort(u.Scheme) {
		u.Host = net.JoinHostPort(u.Host, port) // what a browser has to be told
	}
	return u.String() + "/"
}

func defaultPort(scheme string) string {
	if scheme == "https" {
		return "443"
	}
	return "80"
}

// HTTP is a client that reaches a target. It follows no redirect, which would
// leave the sandbox. The caller gives up its idle connections.
func (r Route) HTTP(t envd.Target) *http.Client {
	dialer := &net.Dialer{Timeout: 10 * time.Second}
	return &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			TLSClientConfig:     &tls.Config{RootCAs: r.Roots, MinVersion: tls.VersionTLS12},
			TLSHandshakeTimeout: 10 * time.Second,
			DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
				if t.Dial != "" {
					addr = t.Dial
				}
				return dialer.DialContext(ctx, network, addr)
			},
		},
	}
}
