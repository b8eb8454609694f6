package cmd

import (
	"context"
	"errors"
	"fmt"
	"net/http"
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
