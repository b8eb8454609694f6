package template

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestLock lets one in at a time, and only where the key is the same.
func TestLock(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "made", "on", "demand")
	var inside, waited atomic.Int32
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			held, err := Lock(t.Context(), dir, "key", func() { waited.Add(1) })
			if err != nil {
				t.Error(err)
				return
			}
			if inside.Add(1) != 1 {
				t.Error("two hold the lock")
			}
			time.Sleep(5 * time.Millisecond)
			inside.Add(-1)
			if err := held.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if waited.Load() == 0 {
		t.Error("nobody was told to wait")
	}
	if left, err := os.ReadDir(dir); len(left) > 0 || err != nil {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestLockEnds(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	held, err := Lock(t.Context(), dir, "key", nil)
	if err != nil {
		t.Fatal(err)
	}
	other, err := Lock(t.Context(), dir, "other key", nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := Lock(ctx, dir, "key", cancel); err == nil {
		t.Error("got a lock that is taken")
	}
	if err := held.Close(); err != nil {
		t.Error(err)
	}
	if err := other.Close(); err != nil {
		t.Error(err)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Lock(t.Context(), filepath.Join(file, "below"), "key", nil); err == nil {
		t.Error("got a lock below a file")
	}
}
