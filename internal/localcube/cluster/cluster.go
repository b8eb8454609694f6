package cluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"sync"
	"time"

	"github.com/docker/docker/client"
)

// nodeIP is the address of our one node.
const nodeIP = "127.0.0.1"

// Options say how a cluster is to be.
type Options struct {
	Docker     *client.Client
	StateDir   string // exists
	SharedRoot string // the directory that stands for /data/shared; absolute
	NodeID     string // "" is "local"
	// Direct says that container addresses may be tried before published ports.
	Direct bool
	// DNS are the node's resolvers, as a Cubelet's default_dns_servers; none are the Engine's.
	DNS []netip.Addr
	// Pace, for tests and rehearsals, is how long each phase of a template job lasts at least.
	Pace time.Duration
	Log  *slog.Logger // nil logs nothing
}

// Cluster is an open local Cube. Close it.
type Cluster struct {
	opts   Options
	docker *client.Client
	store  *store
	jobs   sync.WaitGroup
	ctx    context.Context //nolint:containedctx // the life of the jobs and timers, which outlive the requests that start them
	stop   context.CancelCauseFunc

	mu    sync.Mutex
	boxes map[string]*box
	gone  map[string]bool // ids of sandboxes that were removed
	dial  reach
	out   outbound
	netMu sync.Mutex
	cpus  int
}

// ErrClosed is the cause of what ends with the cluster.
var ErrClosed = errors.New("the local Cube was stopped")

// Open reads the state (a broken file is moved aside; the error is ErrState
// where that is impossible), compares it with the Engine's, removes what a killed
// predecessor left half made, and watches the idle timeouts.
func Open(ctx context.Context, opts Options) (*Cluster, error) {
	if opts.NodeID == "" {
		opts.NodeID = "local"
	}
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	st, err := openStore(opts.StateDir)
	if err != nil {
		return nil, err
	}
	c := &Cluster{opts: opts, docker: opts.Docker, store: st, boxes: map[string]*box{}, gone: map[string]bool{}}
	c.ctx, c.stop = context.WithCancelCause(context.WithoutCancel(ctx))
	c.dial.direct = opts.Direct
	info, err := c.docker.Info(ctx)
	if err != nil {
		return nil, fmt.Errorf("asking the Docker Engine: %w", err)
	}
	c.cpus = info.NCPU
	c.out = findOutbound(ctx, c.docker.DaemonHost())
	if err := c.prepareNetwork(ctx); err != nil {
		return nil, err
	}
	if err := c.failInterrupted(); err != nil {
		return nil, err
	}
	if err := c.adopt(ctx); err != nil {
		return nil, err
	}
	c.note(c.settleHolds(ctx)) // a template whose image is not held is of use all the same
	c.start(c.expire)
	if c.out.works() {
		c.start(c.watch)
	}
	return c, nil
}

// Close ends the jobs and the timers. Sandboxes stay.
func (c *Cluster) Close() error {
	c.stop(ErrClosed)
	c.jobs.Wait()
	return c.store.change(func(*state) {})
}

// Disown makes the state another's, or nobody's: this cluster writes it no more.
func (c *Cluster) Disown() { c.store.disown() }

// start runs work that ends with the cluster.
func (c *Cluster) start(work func(context.Context)) {
	c.jobs.Go(func() { work(c.ctx) })
}

// note logs an error that nobody waits for.
func (c *Cluster) note(err error) {
	if err != nil {
		c.opts.Log.Error("local Cube", "error", err)
	}
}

// failInterrupted ends the jobs of a predecessor: nothing runs them any more.
func (c *Cluster) failInterrupted() error {
	const message = "the local Cube was stopped while the job ran; submit it again"
	return c.store.change(func(s *state) {
		for _, j := range s.Jobs {
			if !j.Active() {
				continue
			}
			j.Status, j.Progress, j.ErrorMessage = StatusFailed, 100, message
			if t := s.Templates[j.TemplateID]; t != nil && t.Status != StatusReady {
				t.Status, t.LastError = StatusFailed, message
			}
		}
	})
}

// patience bounds a call to the Engine that nobody waits for.
const patience = 30 * time.Second

// detached is a context for cleaning up, when the one of the request has ended.
func (c *Cluster) detached(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), patience)
}
