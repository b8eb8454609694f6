package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// asyncDelay is how long a pause takes under AsyncPause.
const asyncDelay = 3 * time.Second

// busyChain is what people met on Cube before 0.7.0 (issues 930, 987, 1207).
const busyChain = `failed to resume: CreateVirtioNet(OpenTap(TapOpen(ConfigureTap(Os { code: 16, kind: ResourceBusy, message: "Device or resource busy" }))))`

// NotPaused is the node's text for resuming what runs.
const NotPaused = "sandbox is not paused"

// Pause freezes a sandbox.
func (c *Cluster) Pause(ctx context.Context, id string) error {
	b, err := c.find(id)
	if err != nil {
		return err
	}
	b.life.Lock()
	defer b.life.Unlock()
	if err := c.check(ctx, b); err != nil {
		return err
	}
	if state, exited := b.now(); state != StateRunning || exited {
		return pauseRefused(state)
	}
	if c.Has(AsyncPause) {
		b.setState(StatePausing)
		c.start(func(ctx context.Context) {
			pause(ctx, asyncDelay)
			b.life.Lock()
			defer b.life.Unlock()
			b.setState(StateRunning)
			c.note(c.freeze(ctx, b))
		})
		return nil
	}
	return c.freeze(ctx, b)
}

func pauseRefused(state string) error {
	switch state {
	case StatePaused:
		return fault(CodeBusy, "sandbox is already paused")
	case StatePausing:
		return fault(CodeBusy, "sandbox is pausing")
	}
	return fault(CodeConflict, "sandbox not in normal state")
}

func (c *Cluster) freeze(ctx context.Context, b *box) error {
	if err := insist(ctx, func() error { return c.docker.ContainerPause(ctx, b.container) }); err != nil {
		return fmt.Errorf("pausing sandbox %s: %w", b.spec.ID, err)
	}
	b.setState(StatePaused)
	lose := c.Has(LoseMetadata)
	return c.record(b, func(r *record) {
		r.PausedAt, r.Lost = time.Now(), r.Lost || lose
	})
}

// How often a container is paused that does not freeze, and how long is waited in between.
const (
	freezeTries = 10
	freezeDelay = 200 * time.Millisecond
)

// insist pauses again where a container starts so many processes that it does
// not freeze: runc then gives up (cgroup version 1).
func insist(ctx context.Context, freeze func() error) error {
	for try := 1; ; try++ {
		err := freeze()
		if err == nil || try == freezeTries || ctx.Err() != nil || !strings.Contains(err.Error(), "unable to freeze") {
			return err
		}
		pause(ctx, freezeDelay)
	}
}

// record changes what is kept of a sandbox.
func (c *Cluster) record(b *box, change func(*record)) error {
	return c.store.change(func(s *state) {
		if r := s.Records[b.spec.ID]; r != nil {
			r.LastUse = b.lastUse(r)
			change(r)
		}
	})
}

// Resume wakes a paused sandbox. One that runs is refused.
func (c *Cluster) Resume(ctx context.Context, id string) (Sandbox, error) {
	b, err := c.find(id)
	if err != nil {
		return Sandbox{}, err
	}
	woken, err := c.wake(ctx, b)
	if err == nil && !woken {
		err = fault(CodeResume, NotPaused)
	}
	if err != nil {
		return Sandbox{}, err
	}
	return c.describe(b), nil
}

// wake makes a sandbox run, and reports whether it did not before.
func (c *Cluster) wake(ctx context.Context, b *box) (bool, error) {
	b.life.Lock()
	defer b.life.Unlock()
	if err := c.check(ctx, b); err != nil {
		return false, err
	}
	state, exited := b.now()
	switch {
	case state == StatePausing:
		return false, fault(CodeBusy, "sandbox is pausing")
	case exited:
		return true, c.revive(ctx, b)
	case state == StateRunning:
		return false, nil
	case c.Has(ResumeBusy):
		return false, fault(CodeResume, "%s", busyChain)
	case c.Has(ResumeRejected):
		return false, fault(CodeConflict, "resume rejected by paused_resource_release_ratio policy: need 1024MB > quota 512MB")
	}
	if err := c.docker.ContainerUnpause(ctx, b.container); err != nil {
		return false, fault(CodeResume, "resuming sandbox %s: %s", b.spec.ID, err)
	}
	b.setState(StateRunning)
	return true, c.record(b, func(r *record) { r.PausedAt, r.LastUse = time.Time{}, time.Now() })
}

// revive starts a container again whose process ended, as after a restart of the machine.
func (c *Cluster) revive(ctx context.Context, b *box) error {
	rules, err := b.policy(c.replacedNetwork(b.spec.ID)).rules()
	if err != nil {
		return err
	}
	if err := c.ensureNetwork(ctx); err != nil {
		return err
	}
	if err := c.launch(ctx, b, rules); err != nil {
		return err
	}
	return c.record(b, func(r *record) { r.PausedAt, r.LastUse = time.Time{}, time.Now() })
}

// Connect wakes a sandbox if need be. A window, unless nil, can only lengthen its life.
func (c *Cluster) Connect(ctx context.Context, id string, window *int) (Sandbox, error) {
	b, err := c.find(id)
	if err != nil {
		return Sandbox{}, err
	}
	if _, err := c.wake(ctx, b); err != nil {
		return Sandbox{}, err
	}
	if window != nil {
		err = c.record(b, func(r *record) { r.extend(*window) })
	}
	return c.describe(b), err
}

// extend gives at least window seconds from now.
func (r *record) extend(window int) {
	now := time.Now()
	switch {
	case r.Window == Never:
	case window == Never:
		r.Window = Never
	case now.Add(time.Duration(window) * time.Second).After(r.LastUse.Add(time.Duration(r.Window) * time.Second)):
		r.Window, r.LastUse = window, now
	}
}

// SetTimeout replaces the idle window, from now on.
func (c *Cluster) SetTimeout(id string, window int) error {
	b, err := c.find(id)
	if err != nil {
		return err
	}
	return c.record(b, func(r *record) { r.Window, r.LastUse = window, time.Now() })
}

// Refresh gives a sandbox at least seconds more.
func (c *Cluster) Refresh(id string, seconds int) error {
	b, err := c.find(id)
	if err != nil {
		return err
	}
	return c.record(b, func(r *record) { r.extend(seconds) })
}

// SetNetwork replaces the request's part of a running sandbox's outbound policy.
func (c *Cluster) SetNetwork(ctx context.Context, id string, n Network) error {
	b, err := c.find(id)
	if err != nil {
		return err
	}
	if err := n.check(); err != nil {
		return err
	}
	rules, err := b.policy(&n).rules()
	if err != nil {
		return err
	}
	b.life.Lock()
	defer b.life.Unlock()
	if err := c.check(ctx, b); err != nil {
		return err
	}
	if state, exited := b.now(); state != StateRunning || exited {
		return fault(CodeConflict, "sandbox %s is not running", id)
	}
	found, err := c.docker.ContainerInspect(ctx, b.container)
	if err != nil {
		return fmt.Errorf("looking at sandbox %s: %w", id, err)
	}
	b.policyMu.Lock()
	defer b.policyMu.Unlock()
	if err := c.enforce(ctx, b, found, rules); err != nil {
		return err
	}
	err = c.record(b, func(r *record) { r.Network = &n })
	b.mu.Lock()
	defer b.mu.Unlock()
	b.mask = nil
	return err
}

// Delete removes a sandbox with all that is its own. What was mounted stays.
func (c *Cluster) Delete(ctx context.Context, id string) error {
	b, err := c.find(id)
	if err != nil {
		return err
	}
	state, _ := b.now()
	switch {
	case state == StatePausing:
		return fault(CodeBusy, "sandbox is pausing")
	case state == StatePaused && c.Has(ResumeBusy):
		return fault(CodeInternal, "sandbox not in normal state")
	}
	return c.remove(ctx, b)
}

func (c *Cluster) remove(ctx context.Context, b *box) error {
	b.life.Lock()
	defer b.life.Unlock()
	return c.removeLocked(ctx, b)
}

// removeLocked is remove for one that holds b.life.
func (c *Cluster) removeLocked(ctx context.Context, b *box) error {
	b.setEnding(true)
	ctx = context.WithoutCancel(ctx)
	if err := errors.Join(c.removeContainer(ctx, b.container), c.lift(ctx, b)); err != nil {
		b.setEnding(false)
		return err
	}
	return c.bury(b.spec.ID)
}
