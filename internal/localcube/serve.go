package localcube

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/hermesbox/hermesbox/internal/localcube/cluster"
	"github.com/hermesbox/hermesbox/internal/localcube/cubeapi"
	"github.com/hermesbox/hermesbox/internal/localcube/cubemaster"
	"github.com/hermesbox/hermesbox/internal/localcube/cubeproxy"
)

// shutdownPatience is how long requests may take to end.
const shutdownPatience = 5 * time.Second

// errDown ends Serve after a request to remove everything.
var errDown = errors.New("asked to go down")

// Serve runs a local Cube until ctx ends or Down is asked for, and calls ready
// once it answers. Sandboxes outlive it, unless it goes down.
func Serve(ctx context.Context, opts Options, ready func(Status)) (err error) {
	if err := opts.fill(); err != nil {
		return err
	}
	lock, err := lockState(opts.StateDir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	l, err := opts.listen(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.close()) }()
	c, err := cluster.Open(ctx, cluster.Options{
		Docker: opts.Docker, StateDir: opts.StateDir, SharedRoot: opts.SharedRoot, NodeID: opts.NodeID, Direct: direct(opts), Pace: opts.Pace, Log: opts.Log, DNS: opts.DNS,
	})
	if err != nil {
		return err
	}
	s := &server{opts: opts, cluster: c, listeners: l}
	err = s.run(ctx, ready)
	if errors.Is(err, errDown) {
		clearing, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		return errors.Join(c.Close(), c.Clear(clearing), removeState(opts.StateDir))
	}
	return errors.Join(err, c.Close())
}

// direct reports whether container addresses may be worth a try: on Linux, with the Engine on this machine.
func direct(o Options) bool {
	return runtime.GOOS == "linux" && strings.HasPrefix(o.Docker.DaemonHost(), "unix://")
}

type server struct {
	opts      Options
	cluster   *cluster.Cluster
	listeners listeners
	down      context.CancelCauseFunc
}

func (s *server) run(ctx context.Context, ready func(Status)) error {
	ctx, s.down = context.WithCancelCause(ctx)
	defer s.down(nil)
	proxy := cubeproxy.New(s.cluster, s.opts.Log)
	group, ctx := errgroup.WithContext(ctx)
	s.serve(ctx, group, s.listeners.api, cubeapi.New(cubeapi.Options{Cluster: s.cluster, Domain: s.opts.Domain, Key: s.opts.Key}))
	s.serve(ctx, group, s.listeners.master, cubemaster.New(s.cluster, s.opts.NodeID))
	s.serve(ctx, group, proxy.Listen(s.listeners.proxy), proxy)
	s.serve(ctx, group, s.listeners.tls, proxy)
	s.serve(ctx, group, s.listeners.control, s.control())
	group.Go(func() error {
		<-ctx.Done()
		return proxy.Close() // with the servers, not after them: both wait for streams
	})
	ready(s.status())
	err := group.Wait()
	if cause := context.Cause(ctx); errors.Is(cause, errDown) {
		err = errors.Join(err, errDown)
	}
	return err
}

// serve answers on one listener until ctx ends.
func (s *server) serve(ctx context.Context, group *errgroup.Group, l net.Listener, h http.Handler) {
	if l == nil {
		return
	}
	srv := newServer(h)
	group.Go(func() error {
		if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) && ctx.Err() == nil { // else the proxy closed it
			return fmt.Errorf("serving %s: %w", l.Addr(), err)
		}
		return nil
	})
	group.Go(func() error {
		<-ctx.Done()
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownPatience)
		defer cancel()
		if err := srv.Shutdown(ending); err != nil {
			return srv.Close() // streams that do not end by themselves
		}
		return nil
	})
}

func (s *server) status() Status {
	reason := s.cluster.EgressEnforced()
	out := Status{
		Running: true, PID: os.Getpid(), APIURL: "http://" + s.listeners.api.Addr().String(), MasterAddr: "http://" + s.listeners.master.Addr().String(),
		Proxy: proxyOf(s.listeners.proxy.Addr()), Domain: s.opts.Domain, SharedRoot: s.opts.SharedRoot, EgressEnforced: reason == nil,
	}
	if s.listeners.tls != nil {
		out.ProxyTLS = "https://" + s.listeners.tls.Addr().String()
	}
	if reason != nil {
		out.EgressReason = reason.Error()
	}
	for _, f := range s.cluster.ActiveFaults() {
		out.Faults = append(out.Faults, string(f))
	}
	return out
}

// brokenState begins the names of state files that could not be read.
const brokenState = "state.json.broken-"

// LockDir is the directory in a state directory for locks on what the local Cube
// is asked for.
const LockDir = "locks"

// removeState removes the files of a state directory, and it, if nothing else is in it.
func removeState(dir string) error {
	var errs []error
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		errs = append(errs, fmt.Errorf("removing the state: %w", err))
	}
	if err := os.RemoveAll(filepath.Join(dir, LockDir)); err != nil {
		errs = append(errs, fmt.Errorf("removing the state: %w", err))
	}
	for _, e := range entries {
		ours := slices.Contains([]string{"state.json", "state.json.new", socketName, logName, "lock"}, e.Name())
		if !ours && !strings.HasPrefix(e.Name(), brokenState) {
			continue
		}
		if err := os.Remove(filepath.Join(dir, e.Name())); err != nil && !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, fmt.Errorf("removing the state: %w", err))
		}
	}
	if len(errs) == 0 {
		_ = os.Remove(dir) // stays where somebody put something into it
		if parent := filepath.Dir(dir); filepath.Base(parent) == "hermesbox" {
			_ = os.Remove(parent) // ours; stays where locks for clusters are in it
		}
	}
	return errors.Join(errs...)
}
