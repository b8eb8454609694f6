package cluster

import (
	"context"
	"time"
)

// expireEvery is how often idle windows are looked at.
const expireEvery = 200 * time.Millisecond

// saveEvery is how often last uses reach the file.
const saveEvery = 5 * time.Second

// expire ends or pauses sandboxes whose idle window is over.
func (c *Cluster) expire(ctx context.Context) {
	tick := time.NewTicker(expireEvery)
	defer tick.Stop()
	saved := time.Now()
	for {
		select {
		case <-ctx.Done():
			c.keepUses()
			return
		case now := <-tick.C:
			for _, b := range c.overdue(now) {
				c.note(c.timeOut(ctx, b))
			}
			if now.Sub(saved) > saveEvery {
				saved = now
				c.keepUses()
				c.note(c.store.save())
			}
		}
	}
}

// overdue lists the running sandboxes that were idle for their window.
func (c *Cluster) overdue(now time.Time) []*box {
	var list []*box
	for _, b := range c.all() {
		current, _ := b.now()
		if current != StateRunning {
			continue
		}
		if c.isOver(b, now) {
			list = append(list, b)
		}
	}
	return list
}

// isOver reports whether a sandbox's idle window has ended.
func (c *Cluster) isOver(b *box, now time.Time) (over bool) {
	c.store.view(func(s *state) {
		r := s.Records[b.spec.ID]
		over = r != nil && r.Window != Never && !now.Before(b.end(r))
	})
	return over
}

func (c *Cluster) timeOut(ctx context.Context, b *box) error {
	c.opts.Log.Info("idle timeout", "sandbox", b.spec.ID, "action", b.spec.OnTimeout)
	b.life.Lock()
	defer b.life.Unlock()
	if b.spec.OnTimeout != "pause" {
		if !c.isOver(b, time.Now()) { // prolonged while others were ended
			return nil
		}
		return c.removeLocked(ctx, b)
	}
	if current, exited := b.now(); current != StateRunning || exited || !c.isOver(b, time.Now()) {
		return nil
	}
	return c.freeze(ctx, b)
}
