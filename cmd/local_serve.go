package cmd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hermesbox/hermesbox/image"
	"github.com/hermesbox/hermesbox/internal/localcube"
)

// localServeOptions are the flags of local serve.
type localServeOptions struct {
	localOptions
	sharedRoot         string
	api, master, proxy string
	domain             string
	tls, cert, key     string
}

func (o *localServeOptions) AddFlags(flags *pflag.FlagSet) {
	o.localOptions.AddFlags(flags)
	flags.StringVar(&o.sharedRoot, "shared-root", "", "`directory` that stands for /data/shared (default: made under XDG_DATA_HOME)")
	flags.StringVar(&o.api, "api", "", "`address` of CubeAPI (default "+localcube.DefaultAPI+", or a free port)")
	flags.StringVar(&o.master, "master", "", "`address` of CubeMaster (default "+localcube.DefaultMaster+", or a free port)")
	flags.StringVar(&o.proxy, "proxy", "", "`address` of the proxy (default "+localcube.DefaultProxy+", or a free port)")
	flags.StringVar(&o.domain, "domain", localcube.DefaultDomain, "`domain` of the sandboxes' host names")
	flags.StringVar(&o.tls, "proxy-tls", "", "`address` on which the proxy also speaks TLS, with --proxy-cert and --proxy-key")
	flags.StringVar(&o.cert, "proxy-cert", "", "certificate `file` for --proxy-tls")
	flags.StringVar(&o.key, "proxy-key", "", "key `file` for --proxy-tls")
}

// check refuses addresses and names that are none, and flags that go together only.
func (o *localServeOptions) check() error {
	for _, addr := range []string{o.api, o.master, o.proxy, o.tls} {
		if err := localcube.CheckAddress(addr); addr != "" && err != nil {
			return localFailed(err)
		}
	}
	if err := localcube.CheckDomain(o.domain); err != nil {
		return localFailed(err)
	}
	if (o.tls == "") != (o.cert == "") || (o.tls == "") != (o.key == "") {
		return usagef("--proxy-tls, --proxy-cert and --proxy-key go together")
	}
	return nil
}

func newLocalServe(app *app) *cobra.Command {
	var opts localServeOptions
	c := &cobra.Command{
		Use:   "serve",
		Short: "Serve the local Cube until interrupted",
		Long: "Serve runs CubeAPI, CubeMaster and the proxy on loopback. Sandboxes go on when it ends, and are there when it is started again; " +
			"hermesbox local down removes them. It ends with exit code 0 at SIGTERM, and with 130 at Ctrl-C. Directories under the shared root may be mounted into sandboxes as /data/shared/….",
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := refuseEmpty(cmd.Flags(), "state-dir", "shared-root", "domain", "proxy-tls", "proxy-cert", "proxy-key"); err != nil {
				return err
			}
			return runLocalServe(cmd.Context(), app, opts)
		},
	}
	opts.AddFlags(c.Flags())
	return c
}

func runLocalServe(ctx context.Context, app *app, opts localServeOptions) error {
	if err := opts.check(); err != nil {
		return err
	}
	dir, err := opts.dir(app)
	if err != nil {
		return err
	}
	if opts.sharedRoot != "" {
		if err := localcube.CheckSharedRoot(opts.sharedRoot); err != nil {
			return localFailed(err)
		}
	}
	err = localEngine(ctx, app, func(e *image.Engine) error {
		return localcube.Serve(ctx, localcube.Options{
			Docker: e.API, StateDir: dir, SharedRoot: opts.sharedRoot, API: opts.api, Master: opts.master, Proxy: opts.proxy,
			Domain: opts.domain, TLS: opts.tls, CertFile: opts.cert, KeyFile: opts.key, Log: localLog(app),
		}, func(st localcube.Status) { announce(app, st) })
	})
	if err != nil {
		return localFailed(fmt.Errorf("serving the local Cube: %w", err))
	}
	return stopped(ctx, app)
}

// stopped tells how a server ended: by local down, or by a signal, which leaves the sandboxes.
func stopped(ctx context.Context, app *app) error {
	cause := context.Cause(ctx)
	if cause == nil {
		app.note("the local Cube is down")
		return nil
	}
	app.note("the local Cube has stopped; its sandboxes go on, and hermesbox local down removes them")
	if errors.Is(cause, errTerminated) || !errors.Is(cause, errInterrupted) {
		return nil
	}
	return errStopped
}

// localLog writes what the server has to say to standard error.
func localLog(app *app) *slog.Logger {
	level := slog.LevelWarn
	if app.verbose {
		level = slog.LevelInfo
	}
	return slog.New(slog.NewTextHandler(app.err, &slog.HandlerOptions{Level: level}))
}

// announce tells where it listens, and what it does not do.
func announce(app *app, st localcube.Status) {
	app.note("local Cube: CubeAPI %s, CubeMaster %s, proxy %s://%s:%d", st.APIURL, st.MasterAddr, st.Proxy.Scheme, st.Proxy.IP, st.Proxy.Port)
	if st.ProxyTLS != "" {
		app.note("the proxy also speaks TLS on %s", st.ProxyTLS)
	}
	app.note("/data/shared is %s", st.SharedRoot)
	if !st.EgressEnforced {
		app.warn("%s", st.EgressReason)
	}
	app.note("it has no authentication and is no security boundary")
}
