package sandbox

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hermesbox/hermesbox/internal/cube"
	"github.com/hermesbox/hermesbox/internal/node"
)

// metaSeed marks seed sandboxes; its value is the id that the node keeps.
const metaSeed = "hermesbox.seed"

// seedMount is where a seed sandbox sees the directory that it fills.
const seedMount = "/mnt/hermesbox-default"

const (
	seedPatience  = 10 * time.Minute // for all of it, on the node
	seedLifetime  = 5 * time.Minute  // of a seed sandbox that nobody deletes
	readyPatience = 2 * time.Minute  // for its command service
	sweepPatience = time.Minute      // for its deletion
)

// Seed says how a default home is made.
type Seed struct {
	Cube     *cube.Client
	Route    Route
	Template string
	// Refresh replaces a default home that is there.
	Refresh bool
	// Hosts are the ids or addresses by which Cube knows the node; empty leaves
	// the choice to Cube, and another node than that of the homes is an error.
	Hosts []string
	// Note is told what is done; may be nil.
	Note func(format string, args ...any)
}

// ErrSeedElsewhere means that Cube put the seed sandbox on a node that has not
// the directory that it is to fill.
var ErrSeedElsewhere = errors.New("the seed sandbox was put on another node")

// Default is how a default home came to be.
type Default struct {
	Node string `json:"node"`
	Made bool   `json:"made"` // else it was there
	// Left are the names that the image's home has and the default home has not,
	// since they belong to one home or are secret.
	Left []string `json:"left"`
}

// SeedDefault makes the default home of a node from the home in a template's
// image, by a sandbox that lives only for that. The node's lock is held all the
// time; where a default home is there once it is had, nothing is done unless
// Refresh is set. A failure, an interrupt or a kill leaves the default home as
// it was; the seed sandbox is deleted, after a kill by the next run.
//
// What the default home gets: everything of the image's, but secrets, databases,
// sessions, logs, memories and caches. Errors are as Prepare's, and those of
// Cube and of the command service.
func SeedDefault(ctx context.Context, n node.Node, l Layout, s Seed) (Default, error) {
	out := Default{Node: n.Name(), Left: []string{}}
	h := holdDefault(ctx, n, l, s)
	defer h.release()
	exists, err := h.wait(ctx)
	if err == nil && !exists {
		out.Left, err = s.fill(ctx, h.id, h.place)
		switch {
		case err != nil && ctx.Err() == nil:
			err = h.blame(err)
		case err == nil:
			out.Made, err = true, h.commit()
		}
	}
	if err != nil {
		return Default{}, fmt.Errorf("making the default home of node %s: %w", n.Name(), err)
	}
	return out, nil
}

// fill has a seed sandbox fill a directory. It is gone when fill returns without
// an error, so that nothing changes the directory any more.
func (s Seed) fill(ctx context.Context, id, place string) (left []string, err error) {
	if err := s.sweep(ctx, id); err != nil {
		return nil, err // one that a killed run left
	}
	defer func() { err = errors.Join(err, s.sweep(context.WithoutCancel(ctx), id)) }()
	s.note("making a default home from template %s", s.Template)
	box, err := s.Cube.CreateSandbox(ctx, cube.NewSandbox{
		TemplateID: s.Template, Timeout: seedLifetime, OnTimeout: cube.OnTimeoutKill, Nodes: s.Hosts,
		Metadata: map[string]string{metaSeed: id},
		Mounts:   []cube.HostMount{{HostPath: place, MountPath: seedMount}},
	})
	if errors.Is(err, cube.ErrHostPath) {
		return nil, fmt.Errorf("%w: %w", ErrSeedElsewhere, err)
	}
	if err != nil {
		return nil, fmt.Errorf("creating the seed sandbox: %w", err)
	}
	service, err := s.Route.Service(known(box))
	if err != nil {
		return nil, err
	}
	defer service.Close()
	if err := service.WaitReady(ctx, readyPatience); err != nil {
		return nil, fmt.Errorf("waiting for the command service of the seed sandbox: %w", err)
	}
	return copyInside(ctx, service)
}

// sweep deletes the seed sandboxes of a node. Whoever has the node's lock knows
// that all of them are left over.
func (s Seed) sweep(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(ctx, sweepPatience)
	defer cancel()
	all, err := s.Cube.ListSandboxes(ctx, map[string]string{metaSeed: id})
	if err != nil {
		return fmt.Errorf("looking for seed sandboxes: %w", err)
	}
	var errs []error
	for _, box := range all {
		if err := s.Cube.DeleteSandbox(ctx, box.ID); err != nil {
			errs = append(errs, fmt.Errorf("deleting the seed sandbox %s: %w", box.ID, err))
		}
	}
	return errors.Join(errs...)
}

func (s Seed) note(format string, args ...any) {
	if s.Note != nil {
		s.Note(format, args...)
	}
}

// random is a name that nothing else has.
func random() string { return strings.ToLower(rand.Text()) }
