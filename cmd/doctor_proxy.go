package cmd

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/hermesbox/hermesbox/internal/check"
	"github.com/hermesbox/hermesbox/internal/envd"
	"github.com/hermesbox/hermesbox/sandbox"
)

// domain looks a sandbox's name up as a browser would.
func (p *cubePatient) domain(ctx context.Context) check.Result {
	name := p.host()
	switch {
	case name == "":
		return skip("cube.domain is not set: Cube tells it of each sandbox")
	case strings.HasSuffix(name, ".localhost"):
		return check.Result{Status: check.Pass, Evidence: "browsers resolve *.localhost by themselves"}
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	found, err := net.DefaultResolver.LookupHost(ctx, name)
	if err == nil {
		return check.Result{Status: check.Pass, Evidence: name + ": " + strings.Join(found, ", ")}
	}
	if p.boxes.client.Route.Proxy.Host == "" {
		return wrong(err, "set cube.proxy.ip to the node of CubeProxy, or give DNS a wildcard for the domain")
	}
	return check.Result{
		Status: check.Warn, Evidence: err.Error() + "; commands go by cube.proxy.ip",
		Remedy: "for browsers give DNS a wildcard for the domain, or use hermesbox sandbox forward",
	}
}

// host is the name of a sandbox that is not there; empty where the domain is not known.
func (p *cubePatient) host() string {
	domain := p.boxes.client.Route.Domain
	if domain == "" {
		return ""
	}
	return envd.HostName(webUIPort, "doctor", domain)
}

// proxy asks for a sandbox that is not there: any answer that a CubeProxy gives will do.
func (p *cubePatient) proxy(ctx context.Context) check.Result {
	route := p.boxes.client.Route
	if route.Proxy.Host == "" && route.Domain == "" {
		return skip("neither cube.proxy nor cube.domain is set: Cube tells the domain of each sandbox")
	}
	target := route.Target(envd.Port, sandbox.Sandbox{ID: "doctor"})
	got, err := p.get(ctx, target)
	if err != nil {
		return wrong(err, firstOf(tlsHint(err, "cube.proxy.scheme"), "check cube.proxy and cube.domain, and that a firewall lets you there"))
	}
	where := firstOf(target.Dial, target.URL)
	switch {
	case wantsTLS(got.text):
		return check.Result{Status: check.Fail, Evidence: where + " speaks TLS: " + got.text, Remedy: "set cube.proxy.scheme to https"}
	case !slices.Contains(absent, got.status):
		return check.Result{
			Status: check.Fail, Evidence: fmt.Sprintf("%s answers HTTP %d for a sandbox that is not there, as no CubeProxy does", where, got.status),
			Remedy: "something else listens there: check cube.proxy and cube.domain, port and scheme included",
		}
	}
	return check.Result{Status: check.Pass, Evidence: fmt.Sprintf("%s answers, HTTP %d for a sandbox that is not there", where, got.status)}
}

// absent is what CubeProxy has answered, in one version or another, for a sandbox
// that it does not know.
var absent = []int{
	http.StatusBadRequest, http.StatusForbidden, http.StatusNotFound, http.StatusGone,
	http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable,
}

// answered is what a server said.
type answered struct {
	status     int
	date, text string
}

// get asks for the root of a target.
func (p *cubePatient) get(ctx context.Context, t envd.Target) (got answered, err error) {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, t.URL, nil)
	if err != nil {
		return got, fmt.Errorf("asking %s: %w", t.URL, err)
	}
	client := p.boxes.client.Route.HTTP(t)
	defer client.CloseIdleConnections()
	answer, err := client.Do(req)
	if err != nil {
		return got, err
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, 4<<10))
	got = answered{answer.StatusCode, answer.Header.Get("Date"), strings.TrimSpace(string(text))}
	return got, errors.Join(err, answer.Body.Close())
}

// wantsTLS tells from an answer that plain HTTP was spoken to a port for TLS.
func wantsTLS(text string) bool {
	text = strings.ToLower(text)
	return strings.Contains(text, "http request to an https server") || strings.Contains(text, "plain http request was sent to https port")
}

// tlsHint is the next step where an address and the server behind it do not agree
// about TLS; key is what says which to speak. It is empty for other errors.
func tlsHint(err error, key string) string {
	var certificate *tls.CertificateVerificationError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	switch text := err.Error(); {
	case errors.As(err, &host):
		return "use a name that its certificate has, or give it a certificate for this one"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "renew its certificate, or set the clock of this machine"
	case errors.As(err, &certificate):
		return "name the authority in cube.ca_file"
	case strings.Contains(text, "gave HTTP response to HTTPS client"), strings.Contains(text, "does not look like a TLS handshake"):
		return "it speaks plain HTTP: write http in " + key
	case wantsTLS(text):
		return "it speaks TLS: write https in " + key
	}
	return ""
}
