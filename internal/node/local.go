package node

import (
	"context"
	"fmt"

	"github.com/hermesbox/hermesbox/internal/localcube"
)

// LocalName is the name of the local Cube's node.
const LocalName = "local"

// Local is the local Cube's node: scripts run in a container that sees the
// shared root at /data/shared and nothing else of the machine.
type Local struct{ helper localcube.Helper }

// NewLocal makes the node of a helper, whose image has a POSIX shell and the
// tools that scripts use. The node owns the helper's client from then on.
func NewLocal(helper localcube.Helper) *Local { return &Local{helper} }

// Name is LocalName.
func (l *Local) Name() string { return LocalName }

// Run runs a script in a container of its own, which is gone when it returns.
func (l *Local) Run(ctx context.Context, s Script) (int, error) {
	c, err := newCall(s)
	if err == nil {
		var code int
		code, err = l.helper.Run(ctx, []string{"/bin/sh", "-c", c.starter()}, c.stdin(), &c.stdout, &c.stderr)
		code, err = c.finish(code, err, "")
		if err == nil {
			return code, nil
		}
	}
	return 0, fmt.Errorf("running a script on node %s: %w", LocalName, err)
}

// Close closes the helper's client.
func (l *Local) Close() error {
	if err := l.helper.Docker.Close(); err != nil {
		return fmt.Errorf("closing node %s: %w", LocalName, err)
	}
	return nil
}
