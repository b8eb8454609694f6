package cmd

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"time"

	"github.com/hermesbox/hermesbox/internal/envd"
	"github.com/hermesbox/hermesbox/internal/upgrade"
)

// forwarder passes requests on to a port of a sandbox.
type forwarder struct {
	to    *url.URL
	hosts map[string]bool // that requests may name
	proxy *httputil.ReverseProxy
}

// newForwarder passes what comes to the local address, host and port, on to the target.
func newForwarder(to envd.Target, roots *x509.CertPool, local string, warn func(string, ...any)) (*forwarder, error) {
	u, err := url.Parse(to.URL)
	if err != nil {
		return nil, fmt.Errorf("reading the address of the sandbox: %w", err)
	}
	_, port, err := net.SplitHostPort(local)
	if err != nil {
		return nil, fmt.Errorf("reading the local address: %w", err)
	}
	f := &forwarder{to: u, hosts: map[string]bool{local: true, "localhost:" + port: true, "127.0.0.1:" + port: true}}
	if port == "80" { // which browsers leave out
		f.hosts["localhost"], f.hosts["127.0.0.1"] = true, true
	}
	f.proxy = &httputil.ReverseProxy{
		Rewrite:        f.rewrite,
		Transport:      forwardTransport(to, roots),
		FlushInterval:  -1, // each part as it comes
		ModifyResponse: f.answer,
		ErrorLog:       log.New(io.Discard, "", 0),
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			if r.Context().Err() == nil {
				warn("%s %s: %v", r.Method, r.URL.Path, err)
			}
			http.Error(w, "hermesbox: the sandbox cannot be reached", http.StatusBadGateway)
		},
	}
	return f, nil
}

// forwardTransport dials the proxy, whatever the host name is.
func forwardTransport(to envd.Target, roots *x509.CertPool) *http.Transport {
	dialer := &net.Dialer{Timeout: 10 * time.Second}
	return &http.Transport{
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			if to.Dial != "" {
				addr = to.Dial
			}
			return dialer.DialContext(ctx, network, addr)
		},
		TLSClientConfig:     &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout: 10 * time.Second,
		MaxIdleConnsPerHost: 16,
		IdleConnTimeout:     time.Minute,
		DisableCompression:  true, // what the sandbox sends is what the browser gets
	}
}

func (f *forwarder) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if why := f.refuses(r); why != "" {
		http.Error(w, "hermesbox: "+why, http.StatusForbidden)
		return
	}
	// Without it an answer that begins before the request was read to its end
	// can cut both off.
	_ = http.NewResponseController(w).EnableFullDuplex() // HTTP/2 always is
	f.proxy.ServeHTTP(upgrade.Whole(w, r), r)
}

// refuses says why a request is not passed on. A name of somebody else's that
// was made to lead here is not ours, and a page of another site has no business
// with the sandbox.
func (f *forwarder) refuses(r *http.Request) string {
	if !f.hosts[r.Host] {
		return "this is not the address that the sandbox is forwarded to"
	}
	if origin := r.Header.Get("Origin"); origin != "" && !f.ours(origin) {
		return "a page of another site sent this request"
	}
	switch r.Header.Get("Sec-Fetch-Site") {
	case "cross-site", "same-site": // another port of localhost is the same site
		if r.Header.Get("Sec-Fetch-Mode") != "navigate" {
			return "a page of another site sent this request"
		}
	}
	return ""
}

func (f *forwarder) ours(origin string) bool {
	host, ok := strings.CutPrefix(origin, "http://")
	return ok && f.hosts[host]
}

// rewrite makes the request one to the sandbox's own host name, also in what
// the application behind it compares with that.
func (f *forwarder) rewrite(r *httputil.ProxyRequest) {
	r.SetURL(f.to)
	r.Out.Host = f.to.Host
	base := f.to.Scheme + "://" + f.to.Host
	if r.Out.Header.Get("Origin") != "" {
		r.Out.Header.Set("Origin", base)
	}
	if referer, err := url.Parse(r.Out.Header.Get("Referer")); err == nil && f.hosts[referer.Host] {
		referer.Scheme, referer.Host = f.to.Scheme, f.to.Host
		r.Out.Header.Set("Referer", referer.String())
	}
}

// answer makes a redirect within the sandbox one within the local address.
func (f *forwarder) answer(res *http.Response) error {
	location, err := url.Parse(res.Header.Get("Location"))
	if err != nil || location.Host != f.to.Host {
		return nil //nolint:nilerr // a browser makes of it what it can
	}
	location.Scheme, location.Host = "", ""
	res.Header.Set("Location", location.String())
	return nil
}
