package cmd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hermesbox/hermesbox/sandbox"
)

// sandboxForwardOptions are the flags of sandbox forward.
type sandboxForwardOptions struct{ listen string }

func (o *sandboxForwardOptions) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.listen, "listen", "", "`address` to listen on, on loopback (default: 127.0.0.1 with the same port, or a free one)")
}

func newSandboxForward(app *app) *cobra.Command {
	var opts sandboxForwardOptions
	c := &cobra.Command{
		Use:   "forward SANDBOX [PORT]",
		Short: "Make a port of a sandbox reachable on this machine",
		Long: "Forward listens on loopback and passes requests, WebSockets and streams on to a port of the sandbox, 9000 where none is given, under the host name " +
			"that the Cube proxy knows it by. It prints the local address and goes on until it is interrupted. What works for http://9000-<id>.<domain>/ works for the local " +
			"address, /#/?token=… too. It answers only requests to that address, and none that other web sites make a browser send.",
		Example: "  hermesbox sandbox forward alice\n  hermesbox sandbox forward alice 8080 --listen 127.0.0.1:18080",
		Args:    forwardArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			port := strconv.Itoa(sandbox.WebUIPort)
			if len(args) > 1 {
				port = args[1]
			}
			return runSandboxForward(cmd.Context(), app, args[0], port, opts)
		},
	}
	opts.AddFlags(c.Flags())
	return c
}

// forwardArgs wants a sandbox and perhaps a port.
func forwardArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 || args[0] == "" {
		return oneArg("a sandbox")(cmd, nil)
	}
	return maxArgs(2)(cmd, args)
}

func runSandboxForward(ctx context.Context, app *app, name, portText string, opts sandboxForwardOptions) error {
	port, err := strconv.Atoi(portText)
	if err != nil || port < 1 || port > 65535 {
		return usagef("%q is no port", portText).withHint("use a number from 1 to 65535")
	}
	if err := checkLoopback(opts.listen); err != nil {
		return err
	}
	t, err := app.target(ctx, name)
	if err != nil {
		return err
	}
	defer t.close()
	listener, err := listenFor(ctx, opts.listen, port)
	if err != nil {
		return &failure{err: err, code: exitFailed, hint: "name another address with --listen 127.0.0.1:PORT"}
	}
	f, err := newForwarder(t.reach(port), t.client.Route.Roots, listener.Addr().String(), app.warn)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	local := "http://" + listener.Addr().String()
	if err := app.printForward(local, port); err != nil {
		return errors.Join(err, listener.Close())
	}
	app.note("forwarding to port %d of %s; ^C ends it", port, t.Title())
	return serveUntil(ctx, listener, f)
}

// printForward prints the local address.
func (a *app) printForward(local string, port int) error {
	if a.output == "json" {
		return a.printJSON(struct {
			URL  string `json:"url"`
			Port int    `json:"port"`
		}{local, port})
	}
	_, err := fmt.Fprintln(a.out, local)
	return err
}

// checkLoopback refuses what others could reach.
func checkLoopback(listen string) error {
	if listen == "" {
		return nil
	}
	hint := "use 127.0.0.1:PORT"
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return usagef("--listen %q is no address and port", listen).withHint("%s", hint)
	}
	if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 {
		return usagef("--listen %q: %q is no port", listen, port).withHint("%s", hint)
	}
	if ip, err := netip.ParseAddr(host); host != "localhost" && (err != nil || !ip.Unmap().IsLoopback()) {
		return usagef("--listen %q is not on loopback: others could reach the sandbox through it", listen).withHint("%s", hint)
	}
	return nil
}

// listenFor listens where it was told to; else on the same port, or a free one.
func listenFor(ctx context.Context, listen string, port int) (net.Listener, error) {
	var config net.ListenConfig
	if listen == "" {
		listener, err := config.Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err == nil || !errors.Is(err, syscall.EADDRINUSE) && !errors.Is(err, syscall.EACCES) {
			return listener, err
		}
		listen = "127.0.0.1:0"
	}
	if host, port, err := net.SplitHostPort(listen); err == nil && host == "localhost" {
		listen = net.JoinHostPort("127.0.0.1", port)
	}
	listener, err := config.Listen(ctx, "tcp", listen)
	if err != nil {
		return nil, fmt.Errorf("listening: %w", err)
	}
	return listener, nil
}

// serveUntil serves until ctx ends, which is the way it is meant to end.
func serveUntil(ctx context.Context, listener net.Listener, handler http.Handler) error {
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("forwarding: %w", err)
	}
	return context.Cause(ctx)
}
