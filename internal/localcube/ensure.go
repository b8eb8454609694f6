package localcube

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// logName is the log of a process that was started in the background.
const logName = "serve.log"

const (
	startPatience = 60 * time.Second
	askEvery      = 100 * time.Millisecond
	endPatience   = 5 * time.Second // of a process that is told to end before it serves
)

// EnsureOptions say how to start a local Cube where none runs.
type EnsureOptions struct {
	StateDir string   // "" is [StateDir]'s
	Exe      string   // the hermesbox program
	Args     []string // more flags for local serve
}

// Ensure gives the status of the local Cube that runs, and starts one in the
// background where none does; started says that it did. Two callers at once
// end up with one and the same. It waits for one that is going down, and leaves
// no process behind that does not serve in time.
func Ensure(ctx context.Context, opts EnsureOptions) (st Status, started bool, err error) {
	if opts.StateDir == "" {
		if opts.StateDir, err = StateDir(os.Getenv); err != nil {
			return st, false, err
		}
	}
	st, err = Ask(ctx, opts.StateDir)
	if err != nil || st.Running {
		return st, false, err
	}
	starting, err := lockStart(ctx, opts.StateDir)
	if err != nil {
		return st, false, err
	}
	defer func() { err = errors.Join(err, starting.Close()) }()
	if st, err = Ask(ctx, opts.StateDir); err != nil || st.Running { // another was quicker
		return st, false, err
	}
	process, err := opts.start()
	if err != nil {
		return st, false, err
	}
	if st, err = opts.await(ctx, process); err != nil {
		process.end()
	}
	return st, err == nil && st.PID == process.cmd.Process.Pid, err
}

// background is a started process; ended is closed when it has ended.
type background struct {
	cmd   *exec.Cmd
	ended chan struct{}
}

func (o EnsureOptions) start() (background, error) {
	log, err := os.OpenFile(o.log(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return background{}, fmt.Errorf("opening the log of the local Cube: %w", err)
	}
	args := append([]string{"local", "serve", "--state-dir", o.StateDir}, o.Args...)
	cmd := exec.Command(o.Exe, args...) //nolint:noctx // it outlives this call
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = errors.Join(cmd.Start(), log.Close())
	if err != nil {
		return background{}, fmt.Errorf("starting the local Cube: %w", err)
	}
	b := background{cmd, make(chan struct{})}
	go func() {
		defer close(b.ended)
		_ = cmd.Wait() // how it ended is in its log
	}()
	return b, nil
}

// end ends it, and waits until it has.
func (b background) end() {
	_ = b.cmd.Process.Signal(syscall.SIGTERM) // one that has ended needs none
	select {
	case <-b.ended:
	case <-time.After(endPatience):
		_ = b.cmd.Process.Kill()
		<-b.ended
	}
}

func (o EnsureOptions) log() string { return filepath.Join(o.StateDir, logName) }

// await waits until some process serves the directory: ours, or one that was quicker.
func (o EnsureOptions) await(ctx context.Context, b background) (Status, error) {
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	ended, gone := b.ended, false
	for {
		st, err := Ask(ctx, o.StateDir)
		switch {
		case err == nil && st.Running:
			return st, nil
		case ctx.Err() != nil:
			return st, fmt.Errorf("waiting for the local Cube: %w; see %s", ctx.Err(), o.log())
		case gone:
			return st, fmt.Errorf("the local Cube ended while starting; see %s", o.log())
		}
		select {
		case <-ended:
			ended, gone = nil, !locked(o.StateDir)
		case <-time.After(askEvery):
		case <-ctx.Done():
		}
	}
}
