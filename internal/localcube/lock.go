package localcube

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// ErrRunning means that another process serves the state directory.
var ErrRunning = errors.New("a local Cube is running already")

// lockState takes the lock of a state directory; closing the file gives it back.
func lockState(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("locking the state directory: %w", err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		closed := f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, errors.Join(fmt.Errorf("%w in %s", ErrRunning, dir), closed)
		}
		return nil, errors.Join(fmt.Errorf("locking the state directory: %w", err), closed)
	}
	return f, nil
}

// locked reports whether some process has the lock.
func locked(dir string) bool {
	f, err := lockState(dir)
	if err != nil {
		return errors.Is(err, ErrRunning)
	}
	return f.Close() != nil
}

// awaitLock takes the lock once a process that is going down has given it back.
func awaitLock(ctx context.Context, dir string) (*os.File, error) {
	ctx, cancel := context.WithTimeout(ctx, downPatience)
	defer cancel()
	for {
		if err := os.MkdirAll(dir, 0o700); err != nil { // the one that went down may have removed it
			return nil, fmt.Errorf("making the state directory: %w", err)
		}
		f, err := lockState(dir)
		if !errors.Is(err, ErrRunning) {
			return f, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(askEvery):
		}
	}
}
