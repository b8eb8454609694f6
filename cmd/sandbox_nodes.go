package cmd

import (
	"context"
	"sync"

	"github.com/hermesbox/hermesbox/internal/config"
	"github.com/hermesbox/hermesbox/internal/node"
	"github.com/hermesbox/hermesbox/internal/sshdial"
)

// connectNodes gives a client its nodes. None is reached before something is
// done on it.
func (s *sandboxes) connectNodes(ctx context.Context) {
	if s.link.local {
		s.client.Nodes = []node.Node{&lateNode{open: func(ctx context.Context) (node.Node, error) {
			return s.app.localNode(ctx, s.cfg, s.link, s.helper)
		}}}
		return
	}
	s.client.Nodes = s.app.sshNodes(ctx, s.cfg.Nodes)
	s.client.Addresses = s.app.nodeHosts(s.cfg.Nodes)
}

// nodeHosts are the hosts of nodes, by which Cube may know them, as ssh_config has
// them: an alias is nothing that Cube knows. Where that cannot be read, dialling says so.
func (a *app) nodeHosts(nodes []config.Node) map[string]string {
	out := map[string]string{}
	dialer := &sshdial.Dialer{Getenv: a.getenv}
	for _, n := range nodes {
		if host, err := dialer.HostName(n.SSH); err == nil {
			out[n.Name] = host
		}
	}
	return out
}

// lateNode is the local Cube's node, which needs a Docker Engine and an image
// there: most looks at sandboxes need neither.
type lateNode struct {
	open func(context.Context) (node.Node, error)
	once sync.Mutex
	node node.Node
}

// Name is that of the local Cube's node.
func (l *lateNode) Name() string { return node.LocalName }

// Run opens the node where that was not done yet.
func (l *lateNode) Run(ctx context.Context, s node.Script) (int, error) {
	n, err := l.opened(ctx)
	if err != nil {
		return 0, err
	}
	return n.Run(ctx, s)
}

func (l *lateNode) opened(ctx context.Context) (node.Node, error) {
	l.once.Lock()
	defer l.once.Unlock()
	if l.node == nil {
		var err error
		if l.node, err = l.open(ctx); err != nil {
			return nil, err
		}
	}
	return l.node, nil
}

// Close closes what was opened.
func (l *lateNode) Close() error {
	if l.node == nil {
		return nil
	}
	return l.node.Close()
}
