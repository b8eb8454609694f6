package localcube

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/hermesbox/hermesbox/internal/localcube/cluster"
)

// downPatience is how long a process may take to remove what it made.
const downPatience = 90 * time.Second

// Down ends the local Cube of a state directory and removes what it made on
// the Engine, whether a process still serves it or not; one that is being
// started is awaited first. The shared root stays.
func Down(ctx context.Context, opts Options) (err error) {
	if err := opts.fill(); err != nil {
		return err
	}
	starting, err := lockStart(ctx, opts.StateDir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, starting.Close()) }()
	lock, ended, err := takeOver(ctx, opts.StateDir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	if !ended {
		err = opts.clear(ctx)
	}
	if err != nil {
		return err
	}
	return removeState(opts.StateDir, serveLock, startLock)
}

// takeOver ends whoever serves, and takes his place; one that is only about to
// answer is asked again. Ended tells that nothing is left to remove.
func takeOver(ctx context.Context, dir string) (lock *os.File, ended bool, err error) {
	ask := func(ctx context.Context) error {
		err := command(ctx, dir, http.MethodPost, "/down", nil, nil)
		ended = ended || err == nil // who took the request removes all, and himself
		if errors.Is(err, ErrNotRunning) {
			return nil
		}
		return err
	}
	if err := ask(ctx); err != nil {
		return nil, false, err
	}
	if lock, err = awaitLock(ctx, dir, serveLock, ask); err != nil {
		return nil, false, err
	}
	_, err = os.Stat(filepath.Join(dir, "state.json"))
	return lock, ended && errors.Is(err, fs.ErrNotExist), nil
}

// clear removes what a process that is no more made on the Engine.
func (o *Options) clear(ctx context.Context) error {
	c, err := cluster.Open(ctx, cluster.Options{Docker: o.Docker, StateDir: o.StateDir, SharedRoot: o.SharedRoot, Log: o.Log})
	if err != nil {
		return err
	}
	return errors.Join(c.Close(), c.Clear(ctx))
}
