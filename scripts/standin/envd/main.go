// Command envd is a stand-in for the command service that runs on port 49983 of a sandbox. It speaks
// that service's protocol 0.6.13 over HTTP/1.1: health, init, files, environment, metrics, and the
// Connect services for processes and the file system. It is used where the real program cannot be had.
//
// Its answers follow recorded ones of the real service, which the tests replay. It is no security
// boundary, knows no microVM (no cgroups, no metadata service), never sets the clock, and is no init:
// orphans are for process 1 to reap. Where the real service crashes, it exits with status 2, so that
// the supervisor starts it again.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	die := func() { os.Exit(2) }                            //nolint:forbidigo // this is main
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr, die) //nolint:forbidigo // this is main
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintf(os.Stderr, "envd: error: %v\n", err) //nolint:forbidigo // this is main
		os.Exit(1)                                       //nolint:forbidigo // this is main
	}
}

type options struct {
	isNotFC  bool
	port     int
	address  string
	cmd      string
	protocol string
	version  bool
}

func parse(args []string, errOut io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("envd (stand-in)", flag.ContinueOnError)
	flags.SetOutput(errOut)
	flags.BoolVar(&o.isNotFC, "isnotfc", false, "not in a microVM: E2B_SANDBOX is false")
	flags.IntVar(&o.port, "port", 49983, "port to listen on; 0 takes a free one")
	flags.StringVar(&o.address, "address", "", "address to listen on; all when empty")
	flags.StringVar(&o.cmd, "cmd", "", "shell command to start at once, as root")
	flags.StringVar(&o.protocol, "protocol", newest, "protocol version to speak: "+newest+" or "+oldest)
	flags.BoolVar(&o.version, "version", false, "print the version and exit")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	switch {
	case flags.NArg() > 0:
		return o, fmt.Errorf("unexpected argument %q: envd takes flags only", flags.Arg(0))
	case o.port < 0 || o.port > 65535:
		return o, fmt.Errorf("port %d is none: give one from 0 to 65535", o.port)
	case o.protocol != newest && o.protocol != oldest:
		return o, fmt.Errorf("protocol %q is not spoken here: give %s or %s", o.protocol, newest, oldest)
	}
	return o, nil
}

// run serves until ctx ends. It writes the address it listens on to errOut.
func run(ctx context.Context, args []string, out, errOut io.Writer, die func()) error {
	o, err := parse(args, errOut)
	if err != nil {
		return err
	}
	if o.version {
		_, err := fmt.Fprintf(out, "envd stand-in of hermesbox, protocol %s\n", o.protocol)
		return err
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", net.JoinHostPort(o.address, strconv.Itoa(o.port)))
	if err != nil {
		return fmt.Errorf("listening: %w", err)
	}
	fmt.Fprintf(errOut, "envd: stand-in, protocol %s, listening on %s\n", o.protocol, listener.Addr())
	return serve(ctx, listener, o, die)
}

func serve(ctx context.Context, listener net.Listener, o options, die func()) error {
	s := newService(o.protocol, !o.isNotFC, die)
	if o.cmd != "" {
		if err := s.procs.Run(o.cmd); err != nil {
			return errors.Join(err, listener.Close())
		}
	}
	server := newServer(s)
	served := make(chan error, 1)
	go func() { served <- ignoreClosed(server.Serve(listener)) }()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	// Open streams would keep a gentle shutdown waiting; processes live on, as with the real service.
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	if server.Shutdown(closing) != nil {
		_ = server.Close()
	}
	return errors.Join(<-served, s.files.Close())
}
