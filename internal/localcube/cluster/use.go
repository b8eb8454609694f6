package cluster

import (
	"sync"
	"time"
)

// use is what visitors do with a sandbox: while one is inside, its idle window
// does not run; it begins when the last one leaves.
type use struct {
	mu   sync.Mutex
	open int
	last time.Time
}

func (u *use) enter() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.open++
}

func (u *use) leave() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.open--
	u.last = time.Now()
}

// since is when the idle window began, as far as visitors count: now, while one is inside.
func (u *use) since() time.Time {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.open > 0 {
		return time.Now()
	}
	return u.last
}

// lastUse is when the idle window of a sandbox began.
func (b *box) lastUse(r *record) time.Time {
	if since := b.use.since(); since.After(r.LastUse) {
		return since
	}
	return r.LastUse
}

// end is when the idle window is over; zero is never.
func (b *box) end(r *record) time.Time {
	if r.Window == Never {
		return time.Time{}
	}
	return b.lastUse(r).Add(time.Duration(r.Window) * time.Second)
}

// keepUses takes what visitors did into the state, for its file.
func (c *Cluster) keepUses() {
	boxes := c.all()
	c.store.touch(func(s *state) {
		for _, b := range boxes {
			if r := s.Records[b.spec.ID]; r != nil {
				r.LastUse = b.lastUse(r)
			}
		}
	})
}
