package cmd

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/hermesbox/hermesbox/internal/check"
	"github.com/hermesbox/hermesbox/internal/config"
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
	why   error      // there is none
}

// examineCube looks at the Cube, at what leads to its sandboxes, and at the
// nodes. Nothing is started.
func (a *app) examineCube(ctx context.Context, cfg config.Config) []check.Check {
	p := &cubePatient{app: a, cfg: cfg, local: cfg.Cube.Engine == "local"}
	if !p.local && cfg.Cube.APIURL == "" && cfg.Cube.MasterAddr == "" {
		p.why = errNoCube
	} else {
		p.boxes, p.why = a.openSandboxes(ctx, cfg, p.local, false)
	}
	if p.boxes != nil {
		defer p.boxes.close()
	}
	cubeCheck := check.Run("cube", "Cube answers", func() check.Result { return p.health(ctx) })
	after := func(id, title string, ask func(context.Context) check.Result) check.Check {
		return check.Run(id, title, func() check.Result {
			switch cubeCheck.Status {
			case check.Skip:
				return skip(cubeCheck.Evidence)
			case check.Fail:
				return check.Result{Status: check.Skip, Because: "cube", Evidence: "not judged because cube did not pass"}
			}
			return ask(ctx)
		})
	}
	return append([]check.Check{
		cubeCheck,
		after("auth", "Cube lets us in", p.auth),
		after("version", "Cube has what sandboxes need", p.version),
		after("clock", "Cube's clock is ours", p.clock),
		after("domain", "the names of sandboxes resolve", p.domain),
		after("proxy", "sandboxes are reached", p.proxy),
	}, p.nodes(ctx)...)
}

var errNoCube = errors.New("no Cube is configured")

func skip(why string) check.Result { return check.Result{Status: check.Skip, Evidence: why} }

// wrong is a check that failed by an error, with the hint that a command would end in.
func wrong(err error, hint string) check.Result {
	var f *failure
	if errors.As(err, &f) && f.hint != "" {
		hint = f.hint
	}
	return check.Result{Status: check.Fail, Evidence: err.Error(), Remedy: hint}
}

func (p *cubePatient) health(ctx context.Context) check.Result {
	switch {
	case errors.Is(p.why, errNoCube):
		return skip("no Cube is configured: --cube local uses this machine's, cube.api_url names a cluster's")
	case errors.Is(p.why, localcube.ErrNotRunning):
		return skip("no local Cube runs: up, template create and sandbox create start one")
	case p.why != nil:
		return wrong(p.why, "")
	}
	if err := p.boxes.link.Health(ctx); err != nil {
		return wrong(cubeFailed(err), "check cube.api_url and cube.master_addr")
	}
	if p.local {
		return check.Result{Status: check.Pass, Evidence: fmt.Sprintf("the local Cube, pid %d, at %s", p.boxes.link.status.PID, p.boxes.link.status.APIURL)}
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
	_, text, err := p.get(ctx, envd.Target{URL: p.cfg.Cube.APIURL})
	if err != nil {
		return wrong(err, "check cube.api_url")
	}
	date, err := http.ParseTime(text)
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

// proxy asks for a sandbox that is not there: any answer will do.
func (p *cubePatient) proxy(ctx context.Context) check.Result {
	route := p.boxes.client.Route
	if route.Proxy.Host == "" && route.Domain == "" {
		return skip("neither cube.proxy nor cube.domain is set: Cube tells the domain of each sandbox")
	}
	target := route.Target(envd.Port, sandbox.Sandbox{ID: "doctor"})
	status, _, err := p.get(ctx, target)
	if err != nil {
		return wrong(err, "check cube.proxy and cube.domain, and that a firewall lets you there")
	}
	return check.Result{Status: check.Pass, Evidence: fmt.Sprintf("%s answers, HTTP %d for a sandbox that is not there", firstOf(target.Dial, target.URL), status)}
}

// get asks for the root of a target, and returns the status and Date of the answer.
func (p *cubePatient) get(ctx context.Context, t envd.Target) (status int, date string, err error) {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, t.URL, nil)
	if err != nil {
		return 0, "", fmt.Errorf("asking %s: %w", t.URL, err)
	}
	client := p.boxes.client.Route.HTTP(t)
	defer client.CloseIdleConnections()
	answer, err := client.Do(req)
	if err != nil {
		var certificate *tls.CertificateVerificationError
		if errors.As(err, &certificate) {
			return 0, "", &failure{err: err, code: exitFailed, hint: "name the authority in cube.ca_file"}
		}
		return 0, "", err
	}
	return answer.StatusCode, answer.Header.Get("Date"), answer.Body.Close()
}
