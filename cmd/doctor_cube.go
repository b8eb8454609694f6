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
	"github.com/hermesbox/hermesbox/internal/config"
	"github.com/hermesbox/hermesbox/internal/cube"
	"github.com/hermesbox/hermesbox/internal/envd"
	"github.com/hermesbox/hermesbox/internal/localcube"
	"github.com/hermesbox/hermesbox/sandbox"
)

// cubePatient is a Cube that doctor looks at.
type cubePatient struct {
	app   *app
	cfg   config.Config
	local bool
	boxes *sandboxes // nil where there is none to ask
}

// noCube tells that none is configured.
func noCube(cfg config.Cube) bool {
	return cfg.Engine != "local" && cfg.APIURL == "" && cfg.MasterAddr == ""
}

// examineCube looks at the Cube, and at what leads to its sandboxes. Nothing is started.
func (a *app) examineCube(ctx context.Context, cfg config.Config) []check.Check {
	p := &cubePatient{app: a, cfg: cfg, local: cfg.Cube.Engine == "local"}
	opened := hand[*sandboxes]()
	health := judge(ctx, "cube", "Cube answers", "see whether curl gets an answer from cube.api_url", func(ctx context.Context) check.Result {
		if noCube(cfg.Cube) {
			return skip("no Cube is configured: --cube local uses this machine's, cube.api_url names a cluster's")
		}
		boxes, err := a.openSandboxes(ctx, cfg, p.local, false)
		if err != nil {
			return cubeRefusal(err)
		}
		opened <- boxes
		return p.health(ctx, boxes.link)
	})
	var ok bool
	if p.boxes, ok = opened.take(); ok {
		defer p.boxes.close()
	}
	after := func(id, title, stuck string, ask func(context.Context) check.Result) exam {
		return one(id, title, stuck, func(ctx context.Context) check.Result {
			switch health.Status {
			case check.Skip:
				return skip(health.Evidence)
			case check.Fail:
				return skipBecause("cube")
			}
			return ask(ctx)
		})
	}
	return append([]check.Check{health}, together(ctx,
		after("auth", "Cube lets us in", "see whether curl gets an answer from cube.api_url", p.auth),
		after("version", "Cube has what sandboxes need", "see whether curl gets an answer from cube.api_url", p.version),
		after("cluster", "Cube has healthy nodes, and those of the configuration", "see whether curl gets an answer from cube.master_addr", p.cluster),
		after("clock", "Cube's clock is ours", "see whether curl gets an answer from cube.api_url", p.clock),
		after("domain", "the names of sandboxes resolve", "see whether the resolver of this machine answers", p.domain),
		after("proxy", "sandboxes are reached", "see whether curl gets an answer from the proxy", p.proxy),
	)...)
}

// cubeRefusal is about a Cube that cannot be asked.
func cubeRefusal(err error) check.Result {
	if errors.Is(err, localcube.ErrNotRunning) {
		return skip("no local Cube runs: up, template create and sandbox create start one")
	}
	return wrong(err, "correct what it names under cube in hermesbox.yaml, or the variable that stands for it")
}

func (p *cubePatient) health(ctx context.Context, link *connected) check.Result {
	if err := link.Health(ctx); err != nil {
		if hint := tlsHint(err, "cube.api_url"); hint != "" {
			return check.Result{Status: check.Fail, Evidence: err.Error(), Remedy: hint}
		}
		if errors.Is(err, cube.ErrUnsupported) || errors.Is(err, cube.ErrNotFound) { // every version has it
			return check.Result{Status: check.Fail, Evidence: err.Error(), Remedy: "something else answers there: check host, port and path of cube.api_url and cube.master_addr"}
		}
		return wrong(cubeFailed(err), "check cube.api_url and cube.master_addr, and the network in between")
	}
	if p.local {
		return check.Result{Status: check.Pass, Evidence: fmt.Sprintf("the local Cube, pid %d, at %s", link.status.PID, link.status.APIURL)}
	}
	return check.Result{Status: check.Pass, Evidence: strings.Join(strings.Fields(p.cfg.Cube.APIURL+" "+p.cfg.Cube.MasterAddr), " and ")}
}

func (p *cubePatient) auth(ctx context.Context) check.Result {
	all, err := p.boxes.link.Templates(ctx)
	if err != nil {
		return wrong(cubeFailed(err), "set CUBE_API_KEY")
	}
	return check.Result{Status: check.Pass, Evidence: "it lists " + count(len(all), "template")}
}

// version tells what an older Cube lacks.
func (p *cubePatient) version(ctx context.Context) check.Result {
	version := p.boxes.client.Version
	if version == "" && p.cfg.Cube.APIURL == "" {
		return skip("only CubeAPI tells, and cube.api_url is not set; sandboxes need it")
	}
	if version == "" {
		var err error
		if version, err = p.boxes.link.Since(ctx); err != nil {
			return wrong(cubeFailed(err), "set cube.version")
		}
	}
	if !sandbox.AtLeast(version, "0.7.0") {
		return check.Result{
			Status: check.Warn, Evidence: version + ": it neither pauses sandboxes with directories of the node nor puts them on a node of choice",
			Remedy: "use Cube 0.7.0 or later, or sandbox.on_timeout: kill",
		}
	}
	return check.Result{Status: check.Pass, Evidence: version + " or later"}
}

// cluster looks at the nodes that Cube lists, and for those of the configuration among them.
func (p *cubePatient) cluster(ctx context.Context) check.Result {
	known, err := p.boxes.link.Nodes(ctx)
	switch {
	case errors.Is(err, cube.ErrUnsupported), errors.Is(err, cube.ErrNotFound):
		return skip("this Cube lists its nodes only at CubeMaster: cube.master_addr is not set")
	case err != nil:
		return wrong(cubeFailed(err), "check cube.master_addr")
	case len(known) == 0:
		return check.Result{Status: check.Fail, Evidence: "the cluster has no node", Remedy: "start Cubelet on a node, and see in its log whether it reaches CubeMaster"}
	}
	var checks []check.Check
	healthy := 0
	for _, k := range known {
		if k.Healthy {
			healthy++
			continue
		}
		checks = append(checks, check.Check{ID: k.ID, Status: check.Warn, Evidence: "not healthy", Remedy: "look at Cubelet on it (systemctl status, its log), and at its disk and memory"})
	}
	if healthy == 0 {
		checks[0].Status = check.Fail
	}
	if !p.local {
		checks = append(checks, p.strangers(ctx, known)...)
	}
	return condense(checks, count(len(known), "node"), "look at the nodes of the cluster")
}

// strangers are nodes of the configuration that Cube does not list, so that it
// cannot be told to put a sandbox where its directories are.
func (p *cubePatient) strangers(ctx context.Context, known []cube.Node) []check.Check {
	var listed []string
	for _, k := range known {
		listed = append(listed, strings.Join(strings.Fields(k.ID+" "+k.IP), " at "))
	}
	var out []check.Check
	for _, n := range p.cfg.Nodes {
		if p.boxes.client.ScopeAmong(ctx, n.Name, known) != nil {
			continue
		}
		out = append(out, check.Check{
			ID: n.Name, Status: check.Warn, Evidence: "Cube lists no node of this name or address, but " + strings.Join(listed, ", "),
			Remedy: "name it in hermesbox.yaml as Cube does, or use the address that Cube has of it",
		})
	}
	return out
}

// The differences between clocks that certificates, tokens and logs begin to suffer from.
const (
	smallSkew = 5 * time.Second
	largeSkew = 30 * time.Second
)

// clock compares with the Date of an answer, whatever the answer is.
func (p *cubePatient) clock(ctx context.Context) check.Result {
	if p.local || p.cfg.Cube.APIURL == "" {
		return skip(map[bool]string{true: "the local Cube is on this machine", false: "cube.api_url is not set"}[p.local])
	}
	began := time.Now()
	got, err := p.get(ctx, envd.Target{URL: p.cfg.Cube.APIURL})
	if err != nil {
		return wrong(err, firstOf(tlsHint(err, "cube.api_url"), "check cube.api_url"))
	}
	date, err := http.ParseTime(got.date)
	if err != nil {
		return skip("its answers have no date")
	}
	return judgeSkew(date.Sub(began.Truncate(time.Second)))
}

func judgeSkew(skew time.Duration) check.Result {
	r := check.Result{Status: check.Pass, Evidence: fmt.Sprintf("it differs by %s", skew.Abs())}
	switch {
	case skew.Abs() >= largeSkew:
		r.Status = check.Fail
	case skew.Abs() >= smallSkew:
		r.Status = check.Warn
	}
	if r.Status != check.Pass {
		r.Remedy = "set both clocks, with NTP"
	}
	return r
}

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
