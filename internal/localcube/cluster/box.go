package cluster

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"sync"
	"time"
)

// Labels of our containers. All else of a sandbox is in labelSpec, as JSON.
const (
	labelInstance = "hermesbox.local.instance"
	labelKind     = "hermesbox.local.kind"
	labelID       = "hermesbox.local.id"
	labelSpec     = "hermesbox.local.spec"
)

// Kinds of our containers.
const (
	kindSandbox = "sandbox"
	kindProbe   = "probe"
	kindHelper  = "helper"
)

// HelperLabels mark a container that works on a shared root, for whoever started it.
func HelperLabels() map[string]string { return map[string]string{labelKind: kindHelper} }

// boxSpec is what a container is made from; it never changes.
type boxSpec struct {
	ID         string            `json:"id"`
	Template   string            `json:"template"`
	Instance   string            `json:"instance_type"`
	Image      string            `json:"image"`
	Artifact   string            `json:"artifact,omitempty"`
	Created    time.Time         `json:"created"`
	Metadata   map[string]string `json:"metadata,omitempty"`
	Mounts     []HostMount       `json:"mounts,omitempty"`
	FromTpl    *Network          `json:"template_network,omitempty"`
	Resolvers  []netip.Addr      `json:"resolvers,omitempty"` // the node's, when it was made
	Network    *Network          `json:"network,omitempty"`
	OnTimeout  string            `json:"on_timeout"`
	AutoResume bool              `json:"auto_resume,omitempty"`
	Ports      []int             `json:"ports,omitempty"`
	Overrides  Overrides         `json:"overrides"`
	Token      string            `json:"token,omitempty"`
	Caller     string            `json:"caller,omitempty"`
}

// The states of a sandbox.
const (
	StateRunning = "running"
	StatePausing = "pausing"
	StatePaused  = "paused"
)

// box is one container: a sandbox, or the try-out of a template.
type box struct {
	spec boxSpec
	kind string

	use       use
	life      sync.Mutex // held while its state changes: start, pause, resume, removal
	mu        sync.Mutex // guards what follows
	container string
	state     string
	exited    bool // its process ended; Cube calls that running
	ip        string
	published map[int]string // port in the sandbox to host:port
	ending    bool           // it is being removed, or was
	mask      *string        // the policy's, once it was asked for
	enforced  string         // when the container was started that the rules are in force for

	policyMu sync.Mutex // held while other rules are put in force
}

func newBox(t *template, kind string) *box {
	spec := boxSpec{
		ID: randomHex(16), Template: t.ID, Instance: t.InstanceType, Image: t.ImageID, Created: time.Now().UTC(), FromTpl: t.Network,
		Ports: t.Ports, Overrides: t.Overrides, OnTimeout: "kill",
	}
	if t.Replica != nil {
		spec.Artifact = t.Replica.ArtifactID
	}
	return &box{spec: spec, kind: kind, state: StateRunning}
}

// labels mark the container as ours.
func (b *box) labels(instance string) (map[string]string, error) {
	text, err := json.Marshal(b.spec)
	if err != nil {
		return nil, fmt.Errorf("writing the sandbox's labels: %w", err)
	}
	return map[string]string{labelInstance: instance, labelKind: b.kind, labelID: b.spec.ID, labelSpec: string(text)}, nil
}

func (b *box) now() (state string, exited bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.state, b.exited
}

func (b *box) containerID() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.container
}

func (b *box) setState(state string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.state = state
}

// find looks a sandbox up.
func (c *Cluster) find(id string) (*box, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if b := c.boxes[id]; b != nil {
		return b, nil
	}
	return nil, errNoSandbox()
}

// all lists the sandboxes.
func (c *Cluster) all() []*box {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := make([]*box, 0, len(c.boxes))
	for _, b := range c.boxes {
		list = append(list, b)
	}
	return list
}

func (c *Cluster) inUse(template string) bool {
	for _, b := range c.all() {
		if b.spec.Template == template {
			return true
		}
	}
	return false
}

// forget drops a sandbox that is gone.
func (c *Cluster) forget(id string) error {
	c.mu.Lock()
	delete(c.boxes, id)
	c.mu.Unlock()
	return c.store.change(func(s *state) { delete(s.Records, id) })
}
