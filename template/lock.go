package template

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// lockEvery is how often a taken lock is tried again.
const lockEvery = 100 * time.Millisecond

// Held is a lock that this process has. Its file also remembers the jobs that
// were begun under it and may go on. Close it.
type Held struct {
	file *os.File
	jobs map[string]pending // by the digest of the spec
}

// Lock makes this process the only one on this machine, among those that use
// dir, that works on key. It waits for its turn, and calls waiting first where
// it has to. The system gives the lock back when the process ends.
func Lock(ctx context.Context, dir, key string, waiting func()) (*Held, error) {
	sum := sha256.Sum256([]byte(key))
	path := filepath.Join(dir, "template-"+hex.EncodeToString(sum[:8]))
	for waited := false; ; waited = true {
		file, err := lockFile(path)
		if err != nil {
			return nil, err
		}
		if file != nil {
			return &Held{file: file, jobs: readPending(file)}, nil
		}
		if !waited {
			waiting()
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("waiting for the lock: %w", context.Cause(ctx))
		case <-time.After(lockEvery):
		}
	}
}

// lockFile locks the file at path. It is nil where another process has it, or
// has just removed it.
func lockFile(path string) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("making the directory for locks: %w", err)
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // the directory was removed meanwhile
	}
	if err != nil {
		return nil, fmt.Errorf("opening the lock: %w", err)
	}
	err = unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	switch {
	case err == nil && isAt(file, path):
		return file, nil
	case err == nil, errors.Is(err, unix.EWOULDBLOCK), errors.Is(err, unix.EINTR):
		return nil, file.Close()
	}
	return nil, errors.Join(fmt.Errorf("locking %s: %w", path, err), file.Close())
}

// isAt reports whether an open file is still the one at path: who had the lock may have removed it.
func isAt(file *os.File, path string) bool {
	open, err := file.Stat()
	if err != nil {
		return false
	}
	there, err := os.Stat(path)
	return err == nil && os.SameFile(open, there)
}

// Close gives the lock back. Its file goes where no job is remembered.
func (h *Held) Close() error {
	var err error
	if len(h.jobs) == 0 {
		if err = os.Remove(h.file.Name()); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	}
	return errors.Join(err, h.file.Close())
}
