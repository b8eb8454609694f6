package dockertest

import "testing"

// Tmpfs mounts a file system in memory at dir until the test ends. options are
// tmpfs's own, such as size=1m; ro as the first makes it read-only. Where that cannot
// be done the test is skipped or failed, as Missing does with backend.
func Tmpfs(t testing.TB, backend, dir, options string) {
	t.Helper()
	unmount, err := mountTmpfs(dir, options)
	if err != nil {
		Missing(t, backend, err)
	}
	t.Cleanup(func() {
		if err := unmount(); err != nil {
			t.Errorf("unmounting %s: %v", dir, err)
		}
	})
}
