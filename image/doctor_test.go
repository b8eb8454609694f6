package image

import (
	"strings"
	"testing"

	"github.com/hermesbox/hermesbox/internal/check"
	"github.com/hermesbox/hermesbox/internal/dockertest"
)

// TestCheckDisk judges file systems of several sizes.
func TestCheckDisk(t *testing.T) {
	t.Parallel()
	for size, want := range map[string]check.Status{"1g": check.Fail, "5g": check.Warn, "20g": check.Pass} {
		t.Run(size, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			dockertest.Tmpfs(t, "disk", dir, "size="+size)
			got := (&Engine{Info: EngineInfo{Root: dir}}).CheckDisk()
			if got.Status != want || !strings.Contains(got.Evidence, "free in "+dir) || (got.Remedy == "") != (want == check.Pass) {
				t.Errorf("%+v, want %s", got, want)
			}
		})
	}
	if got := (&Engine{Info: EngineInfo{Root: "/no/such"}}).CheckDisk(); got.Status != check.Skip {
		t.Errorf("a directory of another machine: %+v", got)
	}
}
