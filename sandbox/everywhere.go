package sandbox

import (
	"sync"

	"github.com/hermesbox/hermesbox/internal/node"
)

// everywhere does something on all nodes at once and waits for all.
func (c *Client) everywhere(do func(node.Node)) {
	var wait sync.WaitGroup
	for _, n := range c.Nodes {
		wait.Go(func() { do(n) })
	}
	wait.Wait()
}
