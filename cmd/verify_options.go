package cmd

import (
	"context"
	"errors"
	"net"
	"net/url"
	"path/filepath"
	"runtime"
	"strconv"

	"github.com/hermesbox/hermesbox/internal/cube"
	"github.com/hermesbox/hermesbox/internal/localcube"
	"github.com/hermesbox/hermesbox/internal/sshdial"
	"github.com/hermesbox/hermesbox/sandbox/verify"
)

// verifyOptions are what a sandbox of a template is verified against.
func (s *sandboxes) verifyOptions(ctx context.Context, templateID string, opts verifyOptions) (verify.Options, error) {
	o := verify.Options{
		Only: opts.only, Skip: opts.skip, Endpoints: s.cfg.Sandbox.ModelEndpoints, Note: s.app.note,
		Denied: s.listening(),
	}
	switch t, err := s.app.templateClient(s.link).Get(ctx, templateID); {
	case err == nil && t.Known:
		o.Reach = t.Egress.Open
	case errors.Is(err, cube.ErrUnauthorized), ctx.Err() != nil:
		return o, err
	}
	if s.link.local {
		o.Listen = runtime.GOOS == "linux" // elsewhere the Engine is in a machine of its own
		if !s.link.status.EgressEnforced {
			o.NotEnforced = "the local Cube does not keep to egress rules on this machine"
		}
	}
	return o, nil
}

// runNotes is where runs are noted that make sandboxes, and on which Cube and
// shared root they make them.
func (s *sandboxes) runNotes() (dir, where string) {
	where = s.cfg.Cube.MasterAddr + " " + s.cfg.Cube.APIURL + " " + s.cfg.SharedRoot
	if s.link.local {
		where = "local " + s.link.status.SharedRoot
	}
	state, err := localcube.StateDir(s.app.getenv)
	if err != nil {
		return "", where // no home directory, as in a container
	}
	return filepath.Join(filepath.Dir(state), "verify"), where
}

// listening are addresses where something is known to listen: those that this
// program talks to.
func (s *sandboxes) listening() []string {
	var out []string
	add := func(host, port string) {
		if net.ParseIP(host) != nil {
			out = append(out, net.JoinHostPort(host, port))
		}
	}
	for _, n := range s.cfg.Nodes {
		if t, err := sshdial.ParseTarget(n.SSH); err == nil {
			add(t.Host, port(strconv.Itoa(t.Port), "22"))
		}
	}
	p := s.client.Route.Proxy
	add(p.Host, port(strconv.Itoa(p.Port), "80"))
	for _, address := range []string{s.cfg.Cube.APIURL, s.cfg.Cube.MasterAddr} {
		if u, err := url.Parse(address); err == nil && u.Host != "" {
			add(u.Hostname(), port(u.Port(), map[string]string{"https": "443"}[u.Scheme]))
		} else if host, number, err := net.SplitHostPort(address); err == nil {
			add(host, number)
		}
	}
	return out
}

// port is a port, or that which stands for none.
func port(given, instead string) string {
	switch {
	case given != "" && given != "0":
		return given
	case instead != "":
		return instead
	}
	return "80"
}
