package template

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// lockEvery is how often a taken lock is tried again.
const lockEvery = 100 * time.Millisecond

// Lock makes this process the only one on this machine, among those that use
// dir, that works on key. It waits for its turn, and calls waiting first where
// it has to. The system gives the lock back when the process ends.
func Lock(ctx context.Context, dir, key string, waiting func()) (unlock func() error, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("making the directory for locks: %w", err)
	}
	sum := sha256.Sum256([]byte(key))
	file, err := os.OpenFile(filepath.Join(dir, "template-"+hex.EncodeToString(sum[:8])), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the lock: %w", err)
	}
	for waited := false; ; waited = true {
		err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return file.Close, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			return nil, errors.Join(fmt.Errorf("locking %s: %w", file.Name(), err), file.Close())
		}
		if !waited {
			waiting()
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(fmt.Errorf("waiting for the lock: %w", context.Cause(ctx)), file.Close())
		case <-time.After(lockEvery):
		}
	}
}
