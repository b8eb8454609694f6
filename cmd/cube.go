package cmd

import (
	"context"
	"errors"
	"fmt"
	"os"

	"golang.org/x/term"

	"github.com/hermesbox/hermesbox/internal/config"
	"github.com/hermesbox/hermesbox/internal/cube"
	"github.com/hermesbox/hermesbox/internal/localcube"
)

// connected is the Cube that a command works with.
type connected struct {
	*cube.Client
	local  bool
	status localcube.Status // of the local Cube
}

// pickCube says whether the local Cube is meant; it asks nobody. Without a
// terminal nothing configured is an error: a CI job with a missing variable
// must not pass against nothing.
func (a *app) pickCube(cfg config.Cube) (local bool, err error) {
	switch {
	case cfg.Engine == "local":
		return true, nil
	case cfg.APIURL != "" || cfg.MasterAddr != "":
		return false, nil
	case isTerminal(a.in):
		a.note("no Cube is configured: using the local Cube on this machine")
		return true, nil
	}
	return false, usagef("no Cube is configured").
		withHint("use --cube local, or set cube.api_url and cube.master_addr in hermesbox.yaml, or CUBE_API_URL and CUBE_MASTER_ADDR")
}

// isTerminal tells whether a stream is one.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// openCube connects to the cluster of the configuration. The local Cube is
// started where none runs and start is set; else that is localcube.ErrNotRunning.
func (a *app) openCube(ctx context.Context, cfg config.Cube, local, start bool) (*connected, error) {
	opts := cube.Options{APIURL: cfg.APIURL, MasterAddr: cfg.MasterAddr, CAFile: cfg.CAFile, APIKey: a.apiKey()}
	if text := a.getenv("CUBE_REQUEST_TIMEOUT"); text != "" {
		timeout, err := config.ParseTimeout(text)
		if err != nil {
			return nil, usagef("CUBE_REQUEST_TIMEOUT: %w", err).withHint("correct or unset it")
		}
		opts.Timeout = timeout
	}
	var status localcube.Status
	if local {
		var err error
		if status, err = a.localCube(ctx, start); err != nil {
			return nil, localFailed(err)
		}
		opts = cube.Options{APIURL: status.APIURL, MasterAddr: status.MasterAddr, Timeout: opts.Timeout}
	}
	client, err := cube.New(opts)
	if err != nil {
		return nil, cubeFailed(err)
	}
	return &connected{client, local, status}, nil
}

// apiKey is the credential for CubeAPI.
func (a *app) apiKey() string {
	if key := a.getenv("CUBE_API_KEY"); key != "" {
		return key
	}
	return a.getenv("E2B_API_KEY")
}

// localCube is the local Cube that runs, or that is started now.
func (a *app) localCube(ctx context.Context, start bool) (localcube.Status, error) {
	dir, err := localcube.StateDir(a.getenv)
	if err != nil {
		return localcube.Status{}, err
	}
	if !start {
		status, err := localcube.Ask(ctx, dir)
		if err == nil && !status.Running {
			err = fmt.Errorf("%w in %s", localcube.ErrNotRunning, dir)
		}
		return status, err
	}
	exe, err := os.Executable()
	if err != nil {
		return localcube.Status{}, fmt.Errorf("finding the hermesbox program: %w", err)
	}
	status, started, err := localcube.Ensure(ctx, localcube.EnsureOptions{StateDir: dir, Exe: exe})
	if started {
		a.note("started the local Cube in the background (pid %d); hermesbox local down ends it", status.PID)
	}
	return status, err
}

// notRunning tells that there is no local Cube yet.
func notRunning(err error) bool { return errors.Is(err, localcube.ErrNotRunning) }
