package dockertest

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// verdict records how a test was ended.
type verdict struct {
	testing.TB
	failed, skipped string
}

func (v *verdict) Helper() {}

func (v *verdict) Fatal(args ...any) {
	v.failed = fmt.Sprint(args...)
	runtime.Goexit()
}

func (v *verdict) Fatalf(format string, args ...any) {
	v.failed = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

func (v *verdict) Skipf(format string, args ...any) {
	v.skipped = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

// judge runs f on a goroutine of its own, which f may end.
func judge(t *testing.T, f func(testing.TB)) *verdict {
	t.Helper()
	v := &verdict{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		f(v)
	}()
	<-done
	return v
}

func TestMissing(t *testing.T) {
	for _, test := range []struct {
		name, list, backend string
		fails               bool
	}{
		{"unset", "", "docker", false},
		{"another", "sshd,buildkit", "docker", false},
		{"a longer name", "docker-today", "docker", false},
		{"only", "docker", "docker", true},
		{"among others", "sshd, docker", "docker", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv(RequireVar, test.list)
			v := judge(t, func(tb testing.TB) { Missing(tb, test.backend, "no socket") })
			if fails, skips := v.failed != "", v.skipped != ""; fails != test.fails || skips == test.fails {
				t.Errorf("failed: %q, skipped: %q", v.failed, v.skipped)
			}
			if said := v.failed + v.skipped; !strings.Contains(said, test.backend) || !strings.Contains(said, "no socket") {
				t.Errorf("neither backend nor reason in %q", said)
			}
		})
	}
}
