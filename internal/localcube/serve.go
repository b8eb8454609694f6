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
	lock, err := lockToServe(ctx, opts.StateDir)
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
	s := &server{opts: opts, cluster: c, listeners: l, lock: lock}
	err = s.run(ctx, ready)
	if errors.Is(err, errDown) {
		return s.clear(ctx)
	}
	return errors.Join(err, c.Close())
}

// clear removes everything, but no state by which the rest could be found.
func (s *server) clear(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	if err := errors.Join(s.cluster.Close(), s.cluster.Clear(ctx)); err != nil {
		return err
	}
	return removeState(s.opts.StateDir, serveLock)
}

// direct reports whether container addresses may be worth a try: on Linux, with the Engine on this machine.
func direct(o Options) bool {
	return runtime.GOOS == "linux" && strings.HasPrefix(o.Docker.DaemonHost(), "unix://")
}

type server struct {
	opts      Options
	cluster   *cluster.Cluster
	listeners listeners
	lock      *os.File
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
	group.Go(func() error { return s.watchState(ctx) })
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

// ErrGone means that the state directory was removed, or replaced, while a local
// Cube served it: nothing can command it any more.
var ErrGone = errors.New("the state directory is gone")

const lookEvery = 2 * time.Second

// watchState ends the server with its state directory. What is at its place then
// is another's.
func (s *server) watchState(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(lookEvery):
		}
		if replaced(s.lock) {
			s.cluster.Disown()
			s.listeners.disown()
			return fmt.Errorf("%w: %s", ErrGone, s.opts.StateDir)
		}
	}
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

// removeState removes the files of a state directory, those locks last that the
// caller holds, and it, if nothing else is in it.
func removeState(dir string, held ...string) error {
	var errs []error
	remove := func(name string, remove func(string) error) {
		if err := remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, fmt.Errorf("removing the state: %w", err))
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		errs = append(errs, fmt.Errorf("removing the state: %w", err))
	}
	remove(LockDir, os.RemoveAll)
	for _, e := range entries {
		ours := slices.Contains([]string{"state.json", "state.json.new", socketName, logName}, e.Name())
		if ours || strings.HasPrefix(e.Name(), brokenState) {
			remove(e.Name(), os.Remove)
		}
	}
	for _, name := range held {
		remove(name, os.Remove)
	}
	if len(errs) == 0 {
		_ = os.Remove(dir) // stays where somebody put something into it
		if parent := filepath.Dir(dir); filepath.Base(parent) == "hermesbox" {
			_ = os.Remove(parent) // ours; stays where locks for clusters are in it
		}
	}
	return errors.Join(errs...)
}
