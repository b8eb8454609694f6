package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Never is the idle window that never ends.
const Never = -1

// NewSandbox is a request for a sandbox.
type NewSandbox struct {
	Template string // id or alias
	Window   int    // idle seconds; Never is none
	// OnTimeout is "kill" or "pause"; "" is kill.
	OnTimeout  string
	AutoResume bool
	Network    *Network
	Metadata   map[string]string
	Mounts     string // the host-mount annotation
	Env        map[string]string
	Nodes      []string
	Caller     string // who asked CubeMaster, for the label X-Caller
}

// internal are the metadata keys that the cluster itself writes.
const (
	metaCaller   = "X-Caller"
	metaInstance = "cube.master.instance.type"
)

// Create makes a sandbox and waits until it is ready.
func (c *Cluster) Create(ctx context.Context, request NewSandbox) (Sandbox, error) {
	t, err := c.usable(request.Template)
	if err != nil {
		return Sandbox{}, err
	}
	if err := request.Network.checkMask(); err != nil {
		return Sandbox{}, err
	}
	mounts, err := ParseMounts(request.Mounts)
	if err != nil {
		return Sandbox{}, err
	}
	if err := c.schedule(request.Nodes); err != nil {
		return Sandbox{}, err
	}
	b := newBox(t, kindSandbox)
	b.spec.Metadata, b.spec.Mounts, b.spec.Network = request.Metadata, c.place(mounts), request.Network
	b.spec.OnTimeout, b.spec.AutoResume, b.spec.Caller = or(request.OnTimeout, "kill"), request.AutoResume, request.Caller
	if n := b.policy(nil); n.PublicTraffic != nil && !*n.PublicTraffic {
		b.spec.Token = randomHex(16)
	}
	if err := c.bring(ctx, b, t, request); err != nil {
		return Sandbox{}, errors.Join(err, c.discard(b))
	}
	return c.describe(b), nil
}

// bring boots a sandbox, waits for it, and makes it known. It goes on where
// the client hangs up: the sandbox would be lost to it, not gone.
func (c *Cluster) bring(ctx context.Context, b *box, t *template, request NewSandbox) error {
	if err := c.boot(ctx, b); err != nil {
		return err
	}
	version, err := c.welcome(ctx, b, t, request.Env)
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	c.mu.Lock()
	c.boxes[b.spec.ID] = b
	c.mu.Unlock()
	err = c.store.change(func(s *state) {
		s.Records[b.spec.ID] = &record{Window: request.Window, LastUse: time.Now(), EnvdVersion: version}
	})
	if err != nil {
		c.mu.Lock()
		delete(c.boxes, b.spec.ID)
		c.mu.Unlock()
	}
	return err
}

// welcome waits for the template's probe and the command service, and hands the environment over.
func (c *Cluster) welcome(ctx context.Context, b *box, t *template, env map[string]string) (version string, err error) {
	if p := t.Overrides.Probe; p != nil {
		if err := c.await(ctx, b, *p); err != nil {
			return "", err
		}
	}
	if !slices.Contains(publishedPorts(t.Ports), EnvdPort) {
		return "", nil
	}
	return c.meetEnvd(ctx, b, env)
}

// usable finds a template that sandboxes can be made from.
func (c *Cluster) usable(name string) (*template, error) {
	if name == "" {
		return nil, fault(CodeParams, "templateID is empty")
	}
	var found *template
	c.store.view(func(s *state) {
		for _, t := range s.Templates {
			if t.ID == name || t.Alias != "" && t.Alias == name {
				copied := *t
				found = &copied
			}
		}
	})
	switch {
	case found == nil:
		return nil, fault(CodeNotFound, "failed to get template param from store: template not found")
	case found.Status != StatusReady:
		return nil, fault(CodeParams, "template %s is not ready on any healthy node: status %s", found.ID, found.Status)
	}
	return found, nil
}

// schedule finds our one node among those that the request wants.
func (c *Cluster) schedule(nodes []string) error {
	fits := len(nodes) == 0 || slices.Contains(nodes, c.opts.NodeID) || slices.Contains(nodes, nodeIP)
	if !fits || c.Has(NoNode) {
		return fault(CodeNoResource, "no more resource")
	}
	return nil
}

// forbidden are the names that a request may not set, as CubeAPI has them.
var forbidden = strings.Fields(`BASH_ENV ENV LD_PRELOAD LD_AUDIT LD_LIBRARY_PATH LD_ORIGIN_PATH PATH PYTHONPATH NODE_PATH
	JAVA_TOOL_OPTIONS _JAVA_OPTIONS GEM_PATH RUBYOPT RUBYLIB PERL5LIB PERLLIB CLASSPATH IFS`)

// CheckEnv refuses names and values that CubeAPI refuses.
func CheckEnv(env map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(env)) {
		upper := strings.ToUpper(name)
		switch {
		case !identifier(name):
			return fmt.Errorf("invalid env var name: %s", name)
		case slices.Contains(forbidden, upper), strings.HasPrefix(upper, "DYLD_"), strings.HasPrefix(upper, "GCONV_PATH"):
			return fmt.Errorf("env var name not allowed: %s", name)
		case len(env[name]) > 4096, strings.ContainsFunc(env[name], func(r rune) bool { return r < ' ' || r == 0x7f }):
			return fmt.Errorf("invalid env var value: %s", name)
		}
	}
	return nil
}

func identifier(name string) bool {
	if name == "" || len(name) > 256 || name[0] >= '0' && name[0] <= '9' {
		return false
	}
	return !strings.ContainsFunc(name, func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	})
}
