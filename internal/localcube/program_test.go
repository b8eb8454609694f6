package localcube_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// programs are made once for all tests of this process, which remove them at the end.
type programs struct {
	once      sync.Once
	dir       string
	hermesbox string // the program itself
	app       string // testdata/app, for an image
	err       error
}

var built programs

func TestMain(m *testing.M) {
	m.Run()
	if built.dir != "" {
		_ = os.RemoveAll(built.dir) // of no use to anybody
	}
}

// program gives them.
func program(t *testing.T) *programs {
	t.Helper()
	built.once.Do(built.make)
	if built.err != nil {
		t.Fatal(built.err)
	}
	return &built
}

func (p *programs) make() {
	if p.dir, p.err = os.MkdirTemp("", "hermesbox-test-"); p.err != nil {
		return
	}
	p.hermesbox, p.app = filepath.Join(p.dir, "hermesbox"), filepath.Join(p.dir, "app")
	for _, build := range []struct {
		args []string
		env  []string
	}{
		{[]string{"build", "-o", p.hermesbox, "../../cmd/hermesbox"}, nil},
		{[]string{"build", "-trimpath", "-o", p.app, "./testdata/app"}, []string{"CGO_ENABLED=0", "GOOS=linux"}},
	} {
		cmd := exec.Command("go", build.args...)
		cmd.Env = append(os.Environ(), build.env...)
		if out, err := cmd.CombinedOutput(); err != nil {
			p.err = fmt.Errorf("go %v: %w\n%s", build.args, err, out)
			return
		}
	}
}
