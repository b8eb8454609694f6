package cmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/hermesbox/hermesbox/internal/cube"
	"github.com/hermesbox/hermesbox/internal/node"
	"github.com/hermesbox/hermesbox/sandbox"
)

// smokeDir has a file for each smoke sandbox that was not removed, named by its
// id. A run that is at work has the file locked.
const smokeDir = ".hermesbox/smoke"

// smokeID is what smoke makes of an id: nothing else is ever removed.
var smokeID = regexp.MustCompile(`^smoke-[a-z2-7]{16}$`)

// throwaway tells that a name is of a sandbox that up or verify made for its own
// use: nobody wants it rebuilt.
func throwaway(name string) bool { return throwawayName.MatchString(name) }

var throwawayName = regexp.MustCompile(`^(smoke|verify)-[a-z2-7]{15}[a-z2-7_]$`)

// smokeNote is in the file: where the sandbox, its home and its workspace are.
type smokeNote struct {
	Cube       string `json:"cube"`
	SharedRoot string `json:"shared_root"`
}

func (p *pipeline) smokeNote() smokeNote {
	return smokeNote{p.subject(stageSmoke).Cube, p.loaded.Config.SharedRoot}
}

func (p *pipeline) smokeDir() string {
	return filepath.Join(projectDir(p.loaded), filepath.FromSlash(smokeDir))
}

// noteSmoke notes a smoke sandbox before it is made, and keeps the file locked.
func (p *pipeline) noteSmoke(id string) (*os.File, error) {
	text, err := json.Marshal(p.smokeNote())
	if err == nil {
		err = os.MkdirAll(p.smokeDir(), 0o755)
	}
	if err != nil {
		return nil, fmt.Errorf("noting the smoke sandbox: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(p.smokeDir(), id), os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("noting the smoke sandbox: %w", err)
	}
	// Before it says where, so that nobody takes it for one of a dead run. Where there are no locks nobody gets one, and
	// nothing is removed.
	_ = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if _, err := f.Write(append(text, '\n')); err != nil {
		return nil, errors.Join(fmt.Errorf("noting the smoke sandbox: %w", err), f.Close(), os.Remove(f.Name()))
	}
	return f, nil
}

// forgetSmoke is for what was removed.
func forgetSmoke(f *os.File) error {
	err := os.Remove(f.Name())
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return errors.Join(err, f.Close())
}

// removeLeft removes what earlier runs left to be looked at, and runs that were
// killed: all is well now. What cannot be removed is told, and fails nothing.
func (p *pipeline) removeLeft(ctx context.Context) {
	entries, err := os.ReadDir(p.smokeDir())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		p.app.warn("looking for what earlier runs left: %v", err)
	}
	ctx, cancel := context.WithTimeout(ctx, smokePatience)
	defer cancel()
	var removed []string
	for _, e := range entries {
		switch done, err := p.removeNoted(ctx, e.Name()); {
		case err != nil:
			p.app.warn("%s of an earlier run is left over: %v", e.Name(), err)
		case done:
			removed = append(removed, e.Name())
		}
	}
	if len(removed) > 0 {
		p.app.note("removed what earlier runs left: %s", joined(removed))
	}
}

// removeNoted removes what a file of smokeDir is about. It is false where that
// is not ours to remove: another run is at work, or it is on another Cube.
func (p *pipeline) removeNoted(ctx context.Context, id string) (bool, error) {
	if !smokeID.MatchString(id) {
		return false, nil
	}
	f, err := os.OpenFile(filepath.Join(p.smokeDir(), id), os.O_RDWR|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil // its run has just ended
	}
	if err != nil {
		return false, err
	}
	if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
		return false, f.Close()
	}
	var noted smokeNote
	if json.NewDecoder(f).Decode(&noted) == nil && noted != p.smokeNote() {
		return false, f.Close()
	}
	if err := p.removeTried(ctx, id); err != nil {
		return false, errors.Join(err, f.Close())
	}
	return true, forgetSmoke(f)
}

// removeTried removes all sandboxes of a smoke id, then its home and workspace.
func (p *pipeline) removeTried(ctx context.Context, id string) error {
	all, err := p.boxes.client.List(ctx)
	if err != nil {
		return err
	}
	for _, box := range all {
		switch named, has := box.Name == id, box.Home == id; {
		case !named && !has:
			continue
		case !named || !has:
			return fmt.Errorf("sandbox %s has its name or its home", printable(box.Title()))
		}
		if err := p.boxes.client.Stop(ctx, box); err != nil && !errors.Is(err, cube.ErrNotFound) {
			return err
		}
	}
	return p.removePlaces(ctx, id)
}

// removePlaces removes the home and the workspace of a smoke id from the nodes.
func (p *pipeline) removePlaces(ctx context.Context, id string) error {
	client := p.boxes.client
	_, errs := onNodes(client.Nodes, func(n node.Node) (struct{}, error) {
		return struct{}{}, sandbox.RemovePlace(ctx, n, sandbox.Place{Layout: client.Layout, Home: id, Workspace: id})
	})
	var said []string
	for _, err := range errs {
		said = append(said, err.Error())
	}
	if len(said) > 0 {
		return errors.New(strings.Join(said, "; "))
	}
	return nil
}
