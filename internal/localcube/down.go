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
// the Engine, whether a process still serves it or not. The shared root stays.
func Down(ctx context.Context, opts Options) (err error) {
	if err := opts.fill(); err != nil {
		return err
	}
	_, statErr := os.Stat(opts.StateDir)
	err = command(ctx, opts.StateDir, http.MethodPost, "/down", nil, nil)
	if err != nil && !errors.Is(err, ErrNotRunning) {
		return err
	}
	ended := err == nil || errors.Is(statErr, fs.ErrNotExist) // the process has removed all, or there was never one
	lock, err := awaitLock(ctx, opts.StateDir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	if _, err := os.Stat(filepath.Join(opts.StateDir, "state.json")); errors.Is(err, fs.ErrNotExist) && ended {
		return removeState(opts.StateDir)
	}
	c, err := cluster.Open(ctx, cluster.Options{Docker: opts.Docker, StateDir: opts.StateDir, SharedRoot: opts.SharedRoot, Log: opts.Log})
	if err != nil {
		return err
	}
	return errors.Join(c.Close(), c.Clear(ctx), removeState(opts.StateDir))
}
