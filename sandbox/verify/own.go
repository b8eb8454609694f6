package verify

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/hermesbox/hermesbox/internal/cube"
	"github.com/hermesbox/hermesbox/sandbox"
)

// lifetime ends sandboxes of a run that was killed.
const lifetime = 30 * time.Minute

// cleanPatience is how long the removal may take, also after an interrupt.
const cleanPatience = 2 * time.Minute

// own are the sandboxes of a run, and the ids of homes and workspaces.
type own struct {
	client  *sandbox.Client
	options Options
	spec    sandbox.Spec // of the first; the others differ in their ids
	id      string       // of the run, and its mark
	marked  string       // the file that has the mark in the first's home and workspace

	// before is what must not change, looked at before anything is verified.
	before    surveyed
	beforeErr error

	file *os.File // the note of the run; nil for none

	mu     sync.Mutex
	boxes  []sandbox.Sandbox
	places []string // ids, each of a home and of a workspace
	lost   bool     // a sandbox may come that nobody was told of
}

// Smoke verifies a template with sandboxes of its own: spec tells the template,
// empty is the newest, and the node; its ids are chosen here. They are removed
// in any case, also when ctx ends, with their homes and workspaces; those of a run
// that was killed by the next one of this machine. An error
// means that no sandbox came about; of one that did not start well the checks tell.
func Smoke(ctx context.Context, client *sandbox.Client, spec sandbox.Spec, o Options) (_ Report, err error) {
	if _, err := selection(o.Only, o.Skip); err != nil {
		return Report{}, err
	}
	mine := &own{client: client, options: o, spec: spec, id: "verify-" + strings.ToLower(rand.Text())[:16]}
	mine.marked = ".hermesbox-" + mine.id
	mine.spec.Timeout, mine.spec.OnTimeout, mine.spec.AutoResume = lifetime, cube.OnTimeoutKill, true
	mine.sweep(ctx)
	if err := mine.note(); err != nil {
		o.note("noting what verify makes, in case that it is killed: %v", err)
	}
	defer func() { err = errors.Join(err, mine.clean(ctx)) }()
	box, err := mine.make(ctx, mine.id, false)
	if box.ID == "" {
		return Report{}, fmt.Errorf("making a sandbox to verify: %w", err)
	}
	if ctx.Err() != nil {
		return Report{}, context.Cause(ctx)
	}
	if err != nil {
		o.note("the sandbox to verify did not start well: %v", err)
	}
	mine.before, mine.beforeErr = mine.survey(ctx)
	return run(ctx, client, box, o, mine)
}

// make makes a sandbox on a home and a workspace of an id. One that was made but
// did not start well is returned with the error.
func (m *own) make(ctx context.Context, id string, bare bool) (sandbox.Sandbox, error) {
	m.mu.Lock()
	m.places = append(m.places, id)
	m.mu.Unlock()
	spec := m.spec
	spec.Name, spec.Home, spec.Workspace, spec.NoWebUI = id, id, id, bare
	m.options.note("making sandbox %s to verify", id)
	made, err := m.client.Create(ctx, spec)
	m.keep(made.Sandbox, err)
	if m.spec.Node == "" {
		m.spec.Node = made.On // where nodes share a file system, each has the home that was made on one
	}
	return made.Sandbox, err
}

// rebuild makes a sandbox anew on its home and workspace.
func (m *own) rebuild(ctx context.Context, old sandbox.Sandbox) (sandbox.Sandbox, error) {
	m.options.note("rebuilding sandbox %s", old.Title())
	spec := m.spec
	spec.Template = old.Template
	made, err := m.client.Rebuild(ctx, old, spec)
	m.keep(made.Sandbox, err)
	return made.Sandbox, err
}

// keep remembers a sandbox, to be removed, or that one may still come.
func (m *own) keep(box sandbox.Sandbox, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lost = m.lost || errors.Is(err, sandbox.ErrAnswerLost)
	if box.ID != "" {
		m.boxes = append(m.boxes, box)
	}
}

// clean removes what the run made, whatever has happened.
func (m *own) clean(ctx context.Context) error {
	if ctx.Err() == nil {
		m.tellHomes(ctx)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanPatience)
	defer cancel()
	err := m.remove(ctx)
	if err != nil {
		err = fmt.Errorf("removing what verify made: %w%s", err, m.nextTime())
	}
	return errors.Join(err, m.forget(err == nil && !m.lost))
}

// nextTime says what becomes of what could not be removed.
func (m *own) nextTime() string {
	if m.file == nil {
		return ""
	}
	return "; the next verify without SANDBOX from this machine tries again"
}
