package localcube

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// ErrRunning means that another process serves the state directory.
var ErrRunning = errors.New("a local Cube is running already")

// The locks of a state directory. Who serves it has the one. The other is for
// who starts a server in the background, until that serves, and for who takes one
// down, until nothing is left: the two never meet. Only the latter removes it.
const (
	serveLock = "lock"
	startLock = "starting"
)

// lockState takes the lock of who serves; closing the file gives it back. The
// error is ErrRunning where another process has it.
func lockState(dir string) (*os.File, error) { return tryLock(dir, serveLock) }

// tryLock takes a lock of a state directory, which it makes where it is not there.
// Who goes down removes locks that others may have opened before: these are none.
func tryLock(dir, name string) (*os.File, error) {
	for {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("making the state directory: %w", err)
		}
		f, err := os.OpenFile(filepath.Join(dir, name), os.O_CREATE|os.O_RDWR, 0o600)
		if errors.Is(err, fs.ErrNotExist) {
			continue // the directory was removed in between
		}
		if err != nil {
			return nil, fmt.Errorf("locking the state directory: %w", err)
		}
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		old := replaced(f)
		if err == nil && !old {
			return f, nil
		}
		closed := f.Close()
		switch {
		case old:
		case errors.Is(err, unix.EWOULDBLOCK):
			return nil, errors.Join(fmt.Errorf("%w in %s", ErrRunning, dir), closed)
		default:
			return nil, errors.Join(fmt.Errorf("locking the state directory: %w", err), closed)
		}
	}
}

// replaced tells whether a file is not the one of its name any more.
func replaced(f *os.File) bool {
	there, err := os.Stat(f.Name())
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	own, err := f.Stat()
	return err == nil && !os.SameFile(own, there)
}

// locked reports whether some process has the lock.
func locked(dir string) bool {
	f, err := lockState(dir)
	if err != nil {
		return errors.Is(err, ErrRunning)
	}
	return f.Close() != nil
}

// awaitLock takes a lock once nobody else has it; between tries it asks whether
// to go on.
func awaitLock(ctx context.Context, dir, name string, goOn func(context.Context) error) (*os.File, error) {
	ctx, cancel := context.WithTimeout(ctx, downPatience)
	defer cancel()
	for {
		f, err := tryLock(dir, name)
		if !errors.Is(err, ErrRunning) {
			return f, err
		}
		if err := goOn(ctx); err != nil {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(err, context.Cause(ctx))
		case <-time.After(askEvery):
		}
	}
}

// lockStart takes the lock of who starts one in the background, or takes one down.
func lockStart(ctx context.Context, dir string) (*os.File, error) {
	f, err := awaitLock(ctx, dir, startLock, func(context.Context) error { return nil })
	if errors.Is(err, ErrRunning) {
		return nil, fmt.Errorf("waiting for a local Cube that starts or goes down: %w", cmp.Or(context.Cause(ctx), context.DeadlineExceeded))
	}
	return f, err
}

// lockToServe takes the lock of who serves. Where another process has it, that
// may be starting or going down: only one that answers is ErrRunning at once.
func lockToServe(ctx context.Context, dir string) (*os.File, error) {
	return awaitLock(ctx, dir, serveLock, func(ctx context.Context) error {
		if st, _ := Ask(ctx, dir); st.Running {
			return fmt.Errorf("%w in %s", ErrRunning, dir)
		}
		return nil
	})
}
