package cluster

import (
	"context"
	"time"

	"github.com/docker/docker/api/types/events"
	"github.com/docker/docker/api/types/filters"
)

// watchAgain is how long the watch waits for an Engine that hung up, as one that is started anew.
const watchAgain = time.Second

// watch looks after containers that others start anew, the Engine included:
// such a sandbox has another link, and the guard lets nothing through until
// rules are in force for it.
func (c *Cluster) watch(ctx context.Context) {
	for ctx.Err() == nil {
		if _, err := c.docker.Ping(ctx); err != nil {
			pause(ctx, watchAgain)
			continue
		}
		stream, cancel := context.WithCancel(ctx)
		messages, failed := c.docker.Events(stream, events.ListOptions{Filters: filters.NewArgs(
			filters.Arg("type", string(events.ContainerEventType)), filters.Arg("event", string(events.ActionStart)), filters.Arg("label", labelInstance+"="+c.instance()),
		)})
		c.recheck(ctx)
		c.follow(messages, failed)
		cancel()
		pause(ctx, watchAgain)
	}
}

// follow handles starts until the stream ends.
func (c *Cluster) follow(messages <-chan events.Message, failed <-chan error) {
	for {
		select {
		case m := <-messages:
			if b := c.holds(m.Actor.ID); b != nil {
				c.start(func(ctx context.Context) { c.restarted(ctx, b) })
			}
		case err := <-failed:
			c.opts.Log.Debug("the Engine's events ended", "cause", err) // watch asks again
			return
		}
	}
}

// holds finds the sandbox of a container.
func (c *Cluster) holds(container string) *box {
	for _, b := range c.all() {
		if b.containerID() == container {
			return b
		}
	}
	return nil
}

// recheck looks at all sandboxes: there may have been starts while nobody watched.
func (c *Cluster) recheck(ctx context.Context) {
	for _, b := range c.all() {
		c.restarted(ctx, b)
	}
}

func (c *Cluster) restarted(ctx context.Context, b *box) {
	b.life.Lock()
	defer b.life.Unlock()
	err := c.check(ctx, b)
	if err != nil && AsError(err).Code != CodeNotFound && ctx.Err() == nil {
		c.note(err)
	}
}
