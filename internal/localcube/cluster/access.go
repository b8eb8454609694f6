package cluster

import (
	"context"
	"crypto/subtle"
	"errors"
	"net"
	"time"
)

// What a visit by the proxy may end in, besides the errors of a connection.
var (
	// ErrGone is an id that was a sandbox, or is one that is being removed.
	ErrGone = errors.New("the sandbox is gone")
	// ErrUnknown is an id that never was one.
	ErrUnknown = errors.New("no such sandbox")
	// ErrForbidden is a missing or wrong traffic token.
	ErrForbidden = errors.New("traffic token missing or wrong")
	// ErrPaused is a paused sandbox that is not to be woken by visits, or that is just pausing.
	ErrPaused = errors.New("the sandbox is paused")
	// ErrResume is a paused sandbox that could not be woken.
	ErrResume = errors.New("the sandbox could not be resumed")
)

// Visit is a sandbox that the proxy may reach. Leave it.
type Visit struct {
	MaskHost string
	c        *Cluster
	b        *box
}

// Visit admits a request to a sandbox, and wakes it where its policy says so.
// Until Leave, the sandbox is in use: its idle window begins then.
func (c *Cluster) Visit(ctx context.Context, id, token string) (Visit, error) {
	b, err := c.find(id)
	if err != nil {
		return Visit{}, c.absent(id)
	}
	if b.spec.Token != "" && subtle.ConstantTimeCompare([]byte(b.spec.Token), []byte(token)) != 1 {
		return Visit{}, ErrForbidden
	}
	if b.isEnding() {
		return Visit{}, ErrGone
	}
	b.use.enter()
	if err := c.admit(ctx, b); err != nil {
		b.use.leave()
		return Visit{}, err
	}
	return Visit{MaskHost: c.maskHost(b), c: c, b: b}, nil
}

// Leave ends a visit.
func (v Visit) Leave() { v.b.use.leave() }

// Gone reports whether the sandbox was removed since, or is being removed.
func (v Visit) Gone() bool { return v.b.isEnding() }

// admit waits until a sandbox can be visited.
func (c *Cluster) admit(ctx context.Context, b *box) error {
	now := b.settled()
	switch {
	case b.isEnding():
		return ErrGone
	case now == StatePausing, now == StatePaused && !b.spec.AutoResume:
		return ErrPaused
	case now != StatePaused:
		return nil
	}
	_, err := c.wake(ctx, b)
	switch {
	case err == nil:
		return nil
	case b.isEnding():
		return ErrGone
	}
	return errors.Join(ErrResume, err)
}

// settled is the state once no change of it is under way: a pause that has
// begun ends before a visitor is let in, or he would wait in a frozen sandbox.
func (b *box) settled() string {
	b.life.Lock()
	defer b.life.Unlock()
	now, _ := b.now()
	return now
}

// maskHost is the Host that the sandbox is to see, "" where it sees the client's.
func (c *Cluster) maskHost(b *box) string {
	b.mu.Lock()
	known := b.mask
	b.mu.Unlock()
	if known != nil {
		return *known
	}
	mask := b.policy(c.replacedNetwork(b.spec.ID)).MaskHost
	b.mu.Lock()
	b.mask = &mask
	b.mu.Unlock()
	return mask
}

func (b *box) isEnding() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ending
}

// setEnding tells visitors that the sandbox goes, or after all does not.
func (b *box) setEnding(ending bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ending = ending
}

// connectTimeout is CubeProxy's.
const connectTimeout = 3 * time.Second

// Dial connects to a port inside the sandbox, within CubeProxy's time for it.
// The error wraps ErrGone where the sandbox went meanwhile.
func (v Visit) Dial(ctx context.Context, port int) (net.Conn, error) {
	conn, err := v.dial(ctx, port)
	if err == nil || ctx.Err() != nil {
		return conn, err
	}
	// The container may have been started anew, or removed, behind our back.
	cerr := v.c.check(ctx, v.b)
	if v.b.isEnding() {
		return nil, errors.Join(ErrGone, err)
	}
	if cerr != nil {
		return nil, errors.Join(err, cerr)
	}
	if _, exited := v.b.now(); exited && v.b.spec.AutoResume { // as after a restart of the machine
		if _, werr := v.c.wake(ctx, v.b); werr != nil {
			return nil, errors.Join(err, werr)
		}
	}
	return v.dial(ctx, port)
}

func (v Visit) dial(ctx context.Context, port int) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	return v.c.dialBox(ctx, v.b, port)
}

// maxGone bounds what is remembered of removed sandboxes.
const maxGone = 4096

// bury forgets a removed sandbox, but that it was one.
func (c *Cluster) bury(id string) error {
	c.mu.Lock()
	if len(c.gone) >= maxGone {
		clear(c.gone)
	}
	c.gone[id] = true
	c.mu.Unlock()
	return c.forget(id)
}

func (c *Cluster) absent(id string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gone[id] {
		return ErrGone
	}
	return ErrUnknown
}
