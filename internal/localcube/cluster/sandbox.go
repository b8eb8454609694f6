package cluster

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"
)

// Sandbox is what the APIs tell of one.
type Sandbox struct {
	ID          string
	TemplateID  string
	NodeID      string
	NodeIP      string
	State       string
	Created     time.Time
	End         time.Time // zero: never
	PausedAt    time.Time
	CPU, Mem    string // as the template asked
	ListMB      int64
	DetailMB    int64
	CPUCount    int64
	CPUMilli    int64
	Metadata    map[string]string // the user's, and what GET adds
	ListLabels  map[string]string // what lists add to Metadata
	EnvdVersion string
	Token       string
	IP          string
	Artifact    string
	Instance    string
	OnTimeout   string
}

// fallbackVersion is told where the command service did not tell its own.
const fallbackVersion = "0.2.0"

func (c *Cluster) describe(b *box) Sandbox {
	r := b.spec.Overrides.resources()
	now, exited := b.now()
	out := Sandbox{
		ID: b.spec.ID, TemplateID: b.spec.Template, NodeID: c.opts.NodeID, NodeIP: nodeIP, State: now, Created: b.spec.Created,
		CPU: r.CPU, Mem: r.Mem, ListMB: listMB(r.Mem), DetailMB: detailMB(r.Mem), CPUCount: millicores(r.CPU) / 1000, CPUMilli: millicores(r.CPU),
		EnvdVersion: fallbackVersion, Token: b.spec.Token, IP: b.address(), Artifact: b.spec.Artifact, Instance: b.spec.Instance, OnTimeout: b.spec.OnTimeout,
	}
	lost := false
	c.store.view(func(s *state) {
		if rec := s.Records[b.spec.ID]; rec != nil {
			if exited && !rec.PausedAt.IsZero() { // the Engine was restarted meanwhile
				out.State = StatePaused
			}
			out.EnvdVersion, out.PausedAt, lost = or(rec.EnvdVersion, fallbackVersion), rec.PausedAt, rec.Lost
			out.End = b.end(rec)
		}
	})
	out.Metadata, out.ListLabels = map[string]string{}, map[string]string{}
	if lost {
		return out
	}
	maps.Copy(out.Metadata, b.spec.Metadata)
	out.Metadata[metaCaller] = or(b.spec.Caller, metaCaller)
	out.Metadata[metaInstance] = "cubebox"
	out.Metadata[annotationID] = b.spec.Template
	out.ListLabels = map[string]string{
		"io.cri-containerd.kind": "sandbox", "io.kubernetes.cri.container-name": "cubebox-name-0",
		"io.kubernetes.cri.container-type": "sandbox", "io.kubernetes.cri.sandbox-id": b.spec.ID,
	}
	return out
}

func (b *box) address() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ip
}

// Sandboxes lists all, oldest first, as the Engine has them now.
func (c *Cluster) Sandboxes(ctx context.Context) ([]Sandbox, error) {
	if err := c.refresh(ctx); err != nil {
		return nil, err
	}
	boxes := c.all()
	list := make([]Sandbox, 0, len(boxes))
	for _, b := range boxes {
		list = append(list, c.describe(b))
	}
	slices.SortFunc(list, func(a, b Sandbox) int {
		if d := a.Created.Compare(b.Created); d != 0 {
			return d
		}
		return strings.Compare(a.ID, b.ID)
	})
	return list, nil
}

// Sandbox looks one up, as the Engine has it now.
func (c *Cluster) Sandbox(ctx context.Context, id string) (Sandbox, error) {
	b, err := c.find(id)
	if err != nil {
		return Sandbox{}, err
	}
	if err := c.check(ctx, b); err != nil {
		return Sandbox{}, err
	}
	return c.describe(b), nil
}
