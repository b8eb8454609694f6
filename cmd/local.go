package cmd

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hermesbox/hermesbox/image"
	"github.com/hermesbox/hermesbox/internal/localcube"
	"github.com/hermesbox/hermesbox/internal/localcube/cluster"
)

func newLocal(app *app) *cobra.Command {
	group := newGroup("local", "Run the local Cube: a CubeSandbox on this machine, over Docker",
		newLocalServe(app), newLocalStatus(app), newLocalFault(app), newLocalDown(app))
	group.Long = "The local Cube serves CubeAPI, CubeMaster's template interface and the proxy on loopback; sandboxes are containers. " +
		"It stands in for a cluster on laptops and in CI. It has no authentication and is no security boundary."
	return group
}

// localOptions are the flags of every local command.
type localOptions struct {
	stateDir string
}

func (o *localOptions) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.stateDir, "state-dir", "", "`directory` of its state (default: under XDG_STATE_HOME)")
}

// dir is the state directory of a command.
func (o *localOptions) dir(app *app) (string, error) {
	if o.stateDir != "" {
		return o.stateDir, nil
	}
	return localcube.StateDir(app.getenv)
}

// localEngine opens the Docker Engine for the local Cube.
func localEngine(ctx context.Context, app *app, work func(*image.Engine) error) error {
	engine, err := image.Connect(ctx, "", app.getenv)
	if err != nil {
		return err
	}
	err = checkNear(engine.Host)
	if err == nil {
		err = work(engine)
	}
	return errors.Join(err, engine.Close())
}

// checkNear refuses an Engine on another machine: what it publishes on loopback
// is not our loopback, and our directories are not its own.
func checkNear(host string) error {
	u, err := url.Parse(host)
	near := err == nil && (u.Scheme == "unix" || u.Scheme == "tcp" && (u.Hostname() == "localhost" || strings.HasPrefix(u.Hostname(), "127.")))
	if near {
		return nil
	}
	return usagef("the Docker Engine at %s is on another machine", host).withHint("the local Cube needs an Engine of this machine; unset DOCKER_HOST or choose another Docker context")
}

// localAdvices are the next steps after errors of a local Cube.
var localAdvices = []advice{
	{localcube.ErrRunning, exitFailed, "hermesbox local status shows it, hermesbox local down ends it"},
	{localcube.ErrNotRunning, exitFailed, "start one with hermesbox local serve"},
	{localcube.ErrGone, exitFailed, "hermesbox local serve finds its sandboxes again, hermesbox local down removes them; name the same --state-dir"},
	{localcube.ErrSharedRoot, exitUsage, "--shared-root wants a directory of yours that exists, written in full"},
	{localcube.ErrStateDir, exitUsage, "name a shorter directory with --state-dir or XDG_STATE_HOME"},
	{localcube.ErrAddress, exitUsage, "write an address such as 127.0.0.1:3000, or leave the flag away for the usual one"},
	{localcube.ErrTaken, exitFailed, "choose another address with --api, --master or --proxy, or leave them away for free ports"},
	{localcube.ErrCertificate, exitUsage, "--proxy-cert and --proxy-key want PEM files that belong together"},
	{localcube.ErrDomain, exitUsage, "leave --domain away for " + localcube.DefaultDomain + ", or name one such as cube.app"},
	{cluster.ErrState, exitFailed, "make the file readable, or move it away: sandboxes are found again without it"},
}

// localFailed adds what to do about the errors of a local Cube.
func localFailed(err error) error {
	for _, a := range localAdvices {
		if errors.Is(err, a.is) {
			return &failure{err: err, code: a.code, hint: a.hint}
		}
	}
	return err
}

// localDownOptions are the flags of local down.
type localDownOptions struct{ localOptions }

func newLocalDown(app *app) *cobra.Command {
	var opts localDownOptions
	c := &cobra.Command{
		Use:   "down",
		Short: "End the local Cube and remove what it made",
		Long: "Down ends the local Cube and removes its sandboxes, templates, network and rules. " +
			"The shared root with your files stays, and so do images.",
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := refuseEmpty(cmd.Flags(), "state-dir"); err != nil {
				return err
			}
			return runLocalDown(cmd.Context(), app, opts)
		},
	}
	opts.AddFlags(c.Flags())
	return c
}

func runLocalDown(ctx context.Context, app *app, opts localDownOptions) error {
	dir, err := opts.dir(app)
	if err != nil {
		return err
	}
	err = localEngine(ctx, app, func(e *image.Engine) error {
		return localcube.Down(ctx, localcube.Options{Docker: e.API, StateDir: dir})
	})
	if err != nil {
		return localFailed(fmt.Errorf("ending the local Cube: %w", err))
	}
	app.note("the local Cube is down")
	return nil
}
