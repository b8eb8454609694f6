package cmd

import (
	"context"
	"crypto/x509"
	"errors"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/hermesbox/hermesbox/internal/config"
	"github.com/hermesbox/hermesbox/internal/envd"
	"github.com/hermesbox/hermesbox/internal/node"
	"github.com/hermesbox/hermesbox/sandbox"
	"github.com/hermesbox/hermesbox/skills"
)

func newSandbox(app *app) *cobra.Command {
	group := newGroup("sandbox", "Make sandboxes of Hermes Studio, and look after them",
		newSandboxCreate(app), newSandboxLs(app), newSandboxShow(app), newSandboxURL(app),
		newSandboxConnect(app), newSandboxExec(app), newSandboxLogs(app), newSandboxOpen(app), newSandboxForward(app),
		newSandboxPause(app), newSandboxResume(app), newSandboxStop(app), newSandboxRebuild(app))
	group.Long = "A sandbox has a home and a workspace of its own, which are directories on a node and outlive it. " +
		"A SANDBOX argument is a name or a sandbox id."
	return group
}

// sandboxes is what commands about sandboxes work with.
type sandboxes struct {
	app    *app
	cfg    config.Config
	link   *connected
	client *sandbox.Client
	others []node.Node // that --node left out of the client's
	helper string      // image to work on the local Cube's node with; empty: one is found
}

func (s *sandboxes) close() {
	if err := closeNodes(slices.Concat(s.client.Nodes, s.others)); err != nil && s.app.verbose {
		s.app.note("%v", err)
	}
	s.link.Close()
}

// sandboxes connects to the Cube of the configuration. An own local Cube is not
// started for a look.
func (a *app) sandboxes(ctx context.Context) (*sandboxes, error) {
	loaded, err := a.config()
	if err != nil {
		return nil, err
	}
	local, err := a.pickCube(loaded.Config.Cube)
	if err != nil {
		return nil, err
	}
	return a.openSandboxes(ctx, loaded.Config, local, false)
}

// openSandboxes connects; start starts a local Cube where none runs.
func (a *app) openSandboxes(ctx context.Context, cfg config.Config, local, start bool) (*sandboxes, error) {
	link, err := a.openCube(ctx, cfg.Cube, local, start)
	if err != nil {
		return nil, err
	}
	route, err := routeOf(cfg.Cube, link)
	if err != nil {
		link.Close()
		return nil, err
	}
	client := &sandbox.Client{
		Cube: link.Client, Layout: sandbox.Layout{Root: cfg.SharedRoot}, Route: route, Version: cfg.Cube.Version,
		Progress: a.sayStep, Note: a.note, Warn: a.warn, Secret: a.secret,
	}
	if local {
		client.Version = "0.7.0" // what the local Cube speaks as
	}
	s := &sandboxes{app: a, cfg: cfg, link: link, client: client}
	client.Overlay = s.overlay
	s.connectNodes(ctx)
	hearNodes(client.Nodes, a.note)
	return s, nil
}

// routeOf is how the ports of sandboxes are reached.
func routeOf(cfg config.Cube, link *connected) (sandbox.Route, error) {
	r := sandbox.Route{
		Proxy:  envd.Proxy{Host: cfg.Proxy.IP, Port: cfg.Proxy.Port, Scheme: cfg.Proxy.Scheme},
		Domain: cfg.Domain,
	}
	if link.local {
		p := link.status.Proxy
		return sandbox.Route{Proxy: envd.Proxy{Host: p.IP, Port: p.Port, Scheme: p.Scheme}, Domain: link.status.Domain}, nil
	}
	if cfg.CAFile == "" {
		return r, nil
	}
	pem, err := os.ReadFile(cfg.CAFile)
	if err != nil {
		return r, usagef("cube.ca_file: %w", err).withHint("name a PEM file that can be read")
	}
	if r.Roots, err = x509.SystemCertPool(); err != nil {
		r.Roots = x509.NewCertPool()
	}
	if !r.Roots.AppendCertsFromPEM(pem) {
		return r, usagef("cube.ca_file: %s holds no certificate", cfg.CAFile).withHint("name a PEM file of authorities")
	}
	return r, nil
}

// sayStep tells how far a create is. What failed is the error's to say.
func (a *app) sayStep(s sandbox.Step) {
	if s.Status != sandbox.Failed {
		a.note("%s", s)
	}
}

// overlay links the public skills, and says what it did. A home whose skills
// cannot be linked to is its user's choice, and keeps no sandbox from working.
func (s *sandboxes) overlay(ctx context.Context, service *envd.Client) (string, error) {
	done, err := skills.Overlay(ctx, service)
	if errors.Is(err, skills.ErrHome) {
		s.app.warn("%v", err)
		return "none linked", nil
	}
	return done.String(), err
}
