package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/hermesbox/hermesbox/internal/cube"
)

// directories is step 2, in one script with the next.
func (m *making) directories(ctx context.Context) (outcome, error) {
	if m.node == nil {
		return skipped("no node access")
	}
	place := Place{m.Layout, m.spec.Home, m.spec.Workspace}
	var err error
	m.prepared, err = Prepare(ctx, m.node, place)
	if errors.Is(err, ErrNoDefaultHome) {
		m.note("node %s has no default home: making one from template %s", m.node.Name(), m.made.Template)
		seed := Seed{Cube: m.Cube, Route: m.Route, Template: m.made.Template, Hosts: m.scope}
		if _, err = SeedDefault(ctx, m.node, m.Layout, seed); err == nil {
			m.prepared, err = Prepare(ctx, m.node, place)
		}
	}
	if err != nil {
		return outcome{}, err
	}
	return done("ready on node %s", m.node.Name())
}

// home is step 3.
func (m *making) home(context.Context) (outcome, error) {
	if m.node == nil {
		return skipped("no node access")
	}
	return done("%s", m.prepared.Home)
}

// create is step 4.
func (m *making) create(ctx context.Context) (outcome, error) {
	generation := m.generation()
	made, err := m.Cube.CreateSandbox(ctx, m.request(generation))
	if err != nil && !certain(err) {
		made, err = m.adopt(ctx, generation, err)
	}
	if made.ID != "" {
		m.made.ID, m.made.Domain, m.made.Generation = made.ID, made.Domain, generation
		m.made.State, m.made.Chosen = cube.Running, m.spec.Chosen
	}
	if err == nil {
		err = m.yield(ctx)
	}
	if m.made.ID != "" {
		m.startRecord(ctx)
	}
	if err != nil {
		return outcome{}, err
	}
	if got, err := m.Cube.GetSandbox(ctx, made.ID); err == nil {
		m.made.State, m.made.Node = got.State, got.ClientID
		if got.Domain != "" {
			m.made.Domain = got.Domain
		}
	}
	return done("%s on node %s", m.made.ID, orUnknown(m.made.Node))
}

func (m *making) request(generation int64) cube.NewSandbox {
	metadata := map[string]string{
		metaName: m.made.Name, metaHome: m.made.Home, metaWorkspace: m.made.Workspace,
		metaTemplate: m.made.Template, metaGeneration: strconv.FormatInt(generation, 10),
	}
	m.spec.Chosen.addTo(metadata)
	return cube.NewSandbox{
		TemplateID: m.made.Template, Timeout: m.spec.Timeout, OnTimeout: m.spec.OnTimeout, AutoResume: m.spec.AutoResume,
		Mounts: m.mounts, Nodes: m.scope, Metadata: metadata,
	}
}

// generation is now, or later where a machine with a fast clock had the name.
func (m *making) generation() int64 {
	now := time.Now().UnixNano()
	for _, s := range m.before {
		if s.Name == m.made.Name && s.Generation >= now {
			now = s.Generation + 1
		}
	}
	return now
}

// certain tells that an error of create means that there is no sandbox.
func certain(err error) bool {
	var failed *cube.Error
	if errors.As(err, &failed) {
		return failed.Refused() || failed.Code != 0 || failed.Status/100 == 4 && failed.Status != 408
	}
	var dial *net.OpError
	return errors.As(err, &dial) && dial.Op == "dial"
}

// How long a sandbox is looked for whose create got no answer.
const (
	adoptTimeout = 20 * time.Second
	adoptLast    = 5 * time.Second // where the caller has no time left
	adoptPoll    = time.Second
)

// adopt looks for the sandbox of a create that got no answer: Cube may have
// made it all the same, or be about to. It returns cause where there is none,
// and where ctx has ended; then the caller must still be told of the sandbox.
func (m *making) adopt(ctx context.Context, generation int64, cause error) (cube.Sandbox, error) {
	patience := adoptTimeout
	if ctx.Err() != nil {
		patience = adoptLast
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	wanted := map[string]string{metaName: m.made.Name, metaGeneration: strconv.FormatInt(generation, 10)}
	for {
		found, err := m.Cube.ListSandboxes(last, wanted)
		if err == nil && len(found) > 0 {
			if ctx.Err() != nil {
				return found[0], cause
			}
			m.note("Cube gave no answer (%v), but made sandbox %s", cause, found[0].ID)
			return found[0], nil
		}
		select {
		case <-last.Done():
			return cube.Sandbox{}, fmt.Errorf("%w: %w", ErrAnswerLost, cause)
		case <-time.After(adoptPoll):
		}
	}
}

// ErrAnswerLost means that a create got no answer and no sandbox of it was
// seen, which may still come.
var ErrAnswerLost = errors.New("no answer came, and no sandbox was seen that could be it")

// How long the loser of two creates at once has to go.
const (
	yieldTimeout = 15 * time.Second
	yieldPoll    = 300 * time.Millisecond
)

// yield ends the new sandbox where another create took the home or the name
// while it was made: of two the later one goes at once. The earlier one waits
// for that, and goes where the other stays, which then had finished before.
func (m *making) yield(ctx context.Context) error {
	deadline := time.Now().Add(yieldTimeout)
	for {
		rival, err := m.rival(ctx)
		switch {
		case err != nil:
			return fmt.Errorf("looking for another sandbox with this home: %w", err)
		case rival == nil:
			return nil
		case later(rival.Holder, m.made.Sandbox) < 0 || time.Now().After(deadline):
			return m.giveWay(ctx, rival)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(yieldPoll):
		}
	}
}

// rival is a live sandbox that was not there when we began.
func (m *making) rival(ctx context.Context) (*HeldError, error) {
	all, err := m.listed(ctx)
	if err != nil {
		return nil, err
	}
	old := map[string]bool{}
	for _, s := range m.before {
		old[s.ID] = true
	}
	var held *HeldError
	errors.As(m.held(all, func(s Sandbox) bool { return !old[s.ID] }), &held)
	return held, nil
}

func (m *making) giveWay(ctx context.Context, held *HeldError) error {
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	if err := m.Cube.DeleteSandbox(last, m.made.ID); err != nil {
		return fmt.Errorf("%w; ending %s again: %w", held, m.made.ID, err)
	}
	m.note("another create was first: sandbox %s was ended again", m.made.ID)
	m.made.ID = ""
	return held
}
