package sandbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hermesbox/hermesbox/internal/cube"
	"github.com/hermesbox/hermesbox/internal/envd"
	"github.com/hermesbox/hermesbox/internal/node"
)

// Created is what a create ends with. Where it fails after the sandbox was
// made, ID is set all the same: the sandbox stays to be looked at.
type Created struct {
	Sandbox
	Mounts []Mount `json:"mounts"`
	// On is the node of the client that has home and workspace; empty where
	// there is no node access.
	On string `json:"-"`
	// URL is the Web UI's, without its token.
	URL   string `json:"url"`
	Steps []Step `json:"steps"`
}

// StepError is a create that failed in one of its steps.
type StepError struct {
	Step int
	Name string
	// ID is the sandbox that was made; empty where there is none.
	ID  string
	Err error
}

func (e *StepError) Error() string {
	return fmt.Sprintf("step %d/%d %s: %v", e.Step, Steps, e.Name, e.Err)
}

func (e *StepError) Unwrap() error { return e.Err }

// Create makes a sandbox in ten steps, each told to Progress as it ends. An
// unusable spec is [ErrSpec], and nothing was sent; a home or name that another
// sandbox holds is a *[HeldError]. All else is a *[StepError].
func (c *Client) Create(ctx context.Context, s Spec) (Created, error) {
	if err := s.Check(); err != nil {
		return Created{}, err
	}
	m := &making{Client: c, spec: s}
	if err := m.resolve(ctx); err != nil {
		return m.made, err
	}
	return m.run(ctx)
}

// making is a create under way.
type making struct {
	*Client
	spec Spec
	// replaces is the sandbox whose name and home this one takes over; nil for none.
	replaces *Sandbox

	mounts   []cube.HostMount
	before   []Sandbox // what there was at the start
	node     node.Node // nil: no node access
	scope    []string  // the node as Cube knows it; none is any
	prepared Prepared
	made     Created
	service  *envd.Client
	bare     bool // the home has no config.yaml, which only somebody else could have seen to
	// recording gives what became of the record, once; nil where none is left.
	recording chan error
}

// outcome is how a step went well.
type outcome struct{ status, detail string }

func done(format string, args ...any) (outcome, error) {
	return outcome{Done, fmt.Sprintf(format, args...)}, nil
}

func skipped(why string) (outcome, error) {
	return outcome{Skipped, "skipped: " + why}, nil
}

// resolve is step 1: nothing is changed yet.
func (m *making) resolve(ctx context.Context) error { return m.step(ctx, 1, m.choose) }

// run does what comes after the first step.
func (m *making) run(ctx context.Context) (Created, error) {
	defer m.close()
	for i, do := range []func(context.Context) (outcome, error){
		m.directories, m.home, m.create, m.await, m.prove, m.overlay, m.webUI, m.url, m.check,
	} {
		if err := m.step(ctx, i+2, do); err != nil {
			return m.made, err
		}
	}
	return m.made, nil
}

func (m *making) step(ctx context.Context, number int, do func(context.Context) (outcome, error)) error {
	s := Step{Number: number, Name: stepNames[number-1]}
	went, err := do(ctx)
	s.Status, s.Detail = went.status, went.detail
	if err != nil {
		s.Status, s.Detail = Failed, err.Error()
	}
	m.made.Steps = append(m.made.Steps, s)
	if m.Progress != nil {
		m.Progress(s)
	}
	var held *HeldError
	if err == nil || errors.As(err, &held) && m.made.ID == "" {
		return err
	}
	return &StepError{Step: number, Name: s.Name, ID: m.made.ID, Err: err}
}

// close waits for the record where a step failed before that.
func (m *making) close() {
	if m.service != nil {
		m.service.Close()
	}
	if err := m.awaitRecord(); err != nil {
		m.warn("%v", err)
	}
}

// await is step 5.
func (m *making) await(ctx context.Context) (outcome, error) {
	var err error
	if m.service, err = m.Route.Service(m.made.Sandbox); err != nil {
		return outcome{}, err
	}
	began := time.Now()
	for time.Since(began) < cmp.Or(m.Patience, serviceTimeout) {
		if err = m.service.WaitReady(ctx, serviceLook); err == nil {
			return done("answers")
		}
		if ctx.Err() != nil || errors.Is(err, envd.ErrUnauthenticated) {
			return outcome{}, err
		}
		if _, gone := m.state(ctx, m.made.Sandbox); errors.Is(gone, cube.ErrNotFound) {
			return outcome{}, fmt.Errorf("%w: Cube lists the sandbox no more", ErrGone)
		}
	}
	return outcome{}, fmt.Errorf("%w: %w", ErrNoService, err)
}

// How long the command service may take, and how often Cube is asked whether
// the sandbox is still there.
const (
	serviceTimeout = 60 * time.Second
	serviceLook    = 5 * time.Second
)

// What can become of a sandbox that was just made.
var (
	// ErrGone means that somebody ended it.
	ErrGone = errors.New("the sandbox was ended")
	// ErrNoService means that no command service answers in it.
	ErrNoService = errors.New("no command service answers on port 49983")
	// ErrOtherNode means that it does not see the directories that were made.
	ErrOtherNode = errors.New("the sandbox sees other directories than those on the node")
)

// prove is step 6: what was written on the node is read inside.
func (m *making) prove(ctx context.Context) (outcome, error) {
	if m.node == nil {
		limited, cancel := context.WithTimeout(ctx, configTimeout)
		defer cancel()
		_, err := m.service.ReadFile(limited, HomeMount+"/config.yaml", configLimit)
		m.bare = errors.Is(err, envd.ErrNotFound)
		return skipped("no node access")
	}
	for _, mount := range []string{HomeMount, WorkspaceMount} {
		file := mount + "/" + m.prepared.NonceFile
		nonce, err := m.service.ReadFile(ctx, file, 1<<10)
		if err != nil && !errors.Is(err, envd.ErrNotFound) {
			return outcome{}, fmt.Errorf("reading the mark in %s: %w", mount, err)
		}
		if strings.TrimSpace(string(nonce)) != m.prepared.Nonce {
			return outcome{}, fmt.Errorf("%w: %s is not what was made on node %s, and Cube says that it runs on %s", ErrOtherNode, mount, m.node.Name(), orUnknown(m.made.Node))
		}
		if err := m.service.Remove(ctx, file); err != nil {
			m.note("the mark %s stays, which does no harm: %v", file, err)
		}
	}
	if err := m.awaitRecord(); err != nil {
		return outcome{}, err
	}
	return done("the sandbox sees the directories of node %s", m.node.Name())
}

// overlay is step 7.
func (m *making) overlay(ctx context.Context) (outcome, error) {
	if m.Overlay == nil {
		return skipped("no overlay")
	}
	if m.bare { // or it could not be seeded any more
		return skipped("the home has no config.yaml")
	}
	said, err := m.Overlay(ctx, m.service)
	if err != nil {
		return outcome{}, fmt.Errorf("linking the public skills: %w", err)
	}
	return done("%s", said)
}
