package verify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hermesbox/hermesbox/sandbox"
)

// runID is what Smoke makes of the id of a run; nothing else is ever removed.
var runID = regexp.MustCompile(`^verify-[a-z2-7]{16}$`)

// other is the id of the third sandbox of a run.
func other(id string) string { return id[:len(id)-1] + "_" }

// noted is what the file of a run has: where its sandboxes are.
type noted struct {
	Where string `json:"where"`
}

// note writes the run down on this machine before it makes anything, and keeps
// the file locked as long as this process lives.
func (m *own) note() error {
	if m.options.Notes == "" {
		return nil
	}
	text, err := json.Marshal(noted{m.options.Where})
	if err == nil {
		err = os.MkdirAll(m.options.Notes, 0o700)
	}
	if err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(m.options.Notes, m.id), os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	// Locked before it says where, so that nobody takes it for one of a dead run.
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err == nil {
		_, err = f.Write(append(text, '\n'))
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()), f.Close())
	}
	m.file = f
	return nil
}

// forget ends the note. It stays for the next run where not all that this one
// made is gone.
func (m *own) forget(gone bool) error {
	if m.file == nil {
		return nil
	}
	var err error
	if gone {
		err = os.Remove(m.file.Name())
	}
	return errors.Join(err, m.file.Close())
}

// sweep removes what runs of this machine left that were killed, and tells of
// what other runs may have left. It fails nothing.
func (m *own) sweep(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, cleanPatience)
	defer cancel()
	all, err := m.client.List(ctx)
	if err != nil {
		return // who makes a sandbox is told of it
	}
	var mine []string
	entries, err := os.ReadDir(m.options.Notes)
	if err != nil && m.options.Notes != "" && !errors.Is(err, fs.ErrNotExist) {
		m.options.note("looking for what earlier runs left: %v", err)
	}
	for _, e := range entries {
		if !runID.MatchString(e.Name()) {
			continue
		}
		mine = append(mine, e.Name(), other(e.Name()))
		switch done, err := m.removeNoted(ctx, e.Name(), all); {
		case err != nil:
			m.options.note("%s of an earlier run is left over: %v", e.Name(), err)
		case done:
			m.options.note("removed %s, which an earlier run left", e.Name())
		}
	}
	for _, box := range all {
		if isOwn(box.Name) && box.Home == box.Name && time.Since(box.Made()) > lifetime && !slices.Contains(mine, box.Name) {
			m.options.note("sandbox %s is left of a run of verify elsewhere, of %s: hermesbox sandbox stop %s ends it", box.Name, box.Made().UTC().Format(time.RFC3339), box.ID)
		}
	}
}

// isOwn tells whether an id is that of a first or a third sandbox of a run.
func isOwn(id string) bool {
	return runID.MatchString(id) || runID.MatchString(strings.TrimSuffix(id, "_")+"a") && strings.HasSuffix(id, "_")
}

// removeNoted removes what a run made that is noted here. It is false where that
// is not ours to remove: the run is at work, or its sandboxes are elsewhere.
func (m *own) removeNoted(ctx context.Context, id string, all []sandbox.Sandbox) (bool, error) {
	f, err := os.OpenFile(filepath.Join(m.options.Notes, id), os.O_RDWR|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil // its run has just ended
	}
	if err != nil {
		return false, err
	}
	defer f.Close() //nolint:errcheck // nothing was written
	var about noted
	if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
		return false, nil
	}
	if json.NewDecoder(f).Decode(&about) == nil && about.Where != m.options.Where {
		return false, nil
	}
	dead := &own{client: m.client, options: m.options, places: []string{id, other(id)}}
	for _, box := range all {
		switch named, has := slices.Contains(dead.places, box.Name), slices.Contains(dead.places, box.Home); {
		case named && has:
			dead.boxes = append(dead.boxes, box)
		case named || has:
			return false, fmt.Errorf("sandbox %s has its name or its home", box.ID)
		}
	}
	if err := dead.remove(ctx); err != nil {
		return false, err
	}
	return true, os.Remove(f.Name())
}

// tellHomes tells of homes that runs elsewhere left: nobody has changed them for
// as long as a sandbox of verify lives, and no sandbox has them.
func (m *own) tellHomes(ctx context.Context) {
	all, err := m.client.List(ctx)
	if err != nil {
		return
	}
	for _, home := range m.before.homes {
		held := slices.ContainsFunc(all, func(box sandbox.Sandbox) bool { return box.Home == home.id })
		if isOwn(home.id) && !held && time.Since(home.at) > 2*lifetime {
			l := m.client.Layout
			m.options.note("node %s has a home that a run of verify left at %s: rm -rf %s %s there removes it, and its workspace", home.node, home.at.UTC().Format(time.RFC3339), l.Home(home.id), l.Workspace(home.id))
		}
	}
}

// remove removes sandboxes, and where none is left their homes and workspaces.
// What stays is in the error.
func (m *own) remove(ctx context.Context) error {
	errs := make([]error, len(m.boxes))
	var wait sync.WaitGroup
	for i, box := range m.boxes {
		wait.Go(func() {
			if err := m.client.Stop(ctx, box); err != nil {
				errs[i] = fmt.Errorf("sandbox %s: %w", box.ID, err)
			}
		})
	}
	wait.Wait()
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("%w; with it stay the homes and workspaces %s", err, strings.Join(m.places, ", ")) // it may still write to them
	}
	for _, n := range m.client.Nodes {
		if m.spec.Node != "" && n.Name() != m.spec.Node {
			continue // nothing was made there
		}
		for _, id := range m.places {
			errs = append(errs, sandbox.RemovePlace(ctx, n, sandbox.Place{Layout: m.client.Layout, Home: id, Workspace: id}))
		}
	}
	return errors.Join(errs...)
}
