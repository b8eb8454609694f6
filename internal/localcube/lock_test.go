package localcube

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
)

// TestLockStartPatience: who waits in vain is told so, by its deadline.
func TestLockStartPatience(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	held, err := tryLock(dir, startLock)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	synctest.Test(t, func(t *testing.T) {
		_, err := lockStart(t.Context(), dir)
		if !errors.Is(err, context.DeadlineExceeded) || strings.Contains(err.Error(), "%!") {
			t.Errorf("%v", err)
		}
	})
}
