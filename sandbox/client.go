package sandbox

import (
	"context"
	"errors"
	"time"

	"github.com/hermesbox/hermesbox/internal/cube"
	"github.com/hermesbox/hermesbox/internal/envd"
	"github.com/hermesbox/hermesbox/internal/node"
)

// What callers branch on.
var (
	// ErrUnknown means that no sandbox has the name or id.
	ErrUnknown = errors.New("no such sandbox")
	// ErrSpec means that a value of a Spec cannot be used; nothing was sent.
	ErrSpec = errors.New("unusable sandbox")
	// ErrNoNodeAccess means that something needs the node, and there is no way to it.
	ErrNoNodeAccess = errors.New("no node access")
)

// Client makes sandboxes on a cluster and looks after them.
type Client struct {
	Cube *cube.Client
	// Nodes are the nodes that can be worked on; none is no node access.
	Nodes []node.Node
	// Addresses are the hosts of nodes by their name, where they have one.
	Addresses map[string]string
	Layout    Layout
	Route     Route
	// Latest is the newest READY template, for create and to tell what is
	// outdated.
	Latest Latest
	// Version is the cluster's, such as 0.7.0; empty asks it.
	Version string
	// Patience is how long a command service may take to answer; 0 is a minute.
	Patience time.Duration
	// Overlay links the public skills and says what it did; nil leaves that out.
	Overlay func(ctx context.Context, service *envd.Client) (string, error)
	// Progress is told of each step; Note and Warn of what is no step. All may
	// be nil.
	Progress   func(Step)
	Note, Warn func(format string, args ...any)
	// Secret is told each token that is read; may be nil.
	Secret func(value string)
}

// Latest is how the templates of the cluster stand.
type Latest struct {
	// ID is the newest READY template of the configured name; empty where there
	// is none.
	ID string
	// Previous are the READY templates of that name before it.
	Previous map[string]bool
	// Known are all templates; nil where Cube does not tell.
	Known map[string]bool
}

// outdated tells whether a rebuild would bring a newer template. A template
// that is gone counts for sandboxes that hermesbox made.
func (l Latest) outdated(s Sandbox) bool {
	gone := l.Known != nil && !l.Known[s.Template] && !s.lost()
	return l.ID != "" && s.Template != l.ID && (l.Previous[s.Template] || gone)
}

func (c *Client) note(format string, args ...any) {
	if c.Note != nil {
		c.Note(format, args...)
	}
}

func (c *Client) warn(format string, args ...any) {
	if c.Warn != nil {
		c.Warn(format, args...)
	}
}

func (c *Client) secret(value string) {
	if c.Secret != nil {
		c.Secret(value)
	}
}
