package localcube_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hermesbox/hermesbox/internal/dockertest"
	"github.com/hermesbox/hermesbox/internal/localcube"
)

// TestDownWhileStarting takes down what is just being started, over and over: what
// serves afterwards answers in its state directory, and nothing else serves.
func TestDownWhileStarting(t *testing.T) {
	t.Parallel()
	engine := dockertest.Default(t)
	opts := background(t, engine)
	down := func(t *testing.T) {
		t.Helper()
		if err := localcube.Down(t.Context(), localcube.Options{Docker: engine.Client, StateDir: opts.StateDir, SharedRoot: opts.Args[1]}); err != nil {
			t.Errorf("down: %v", err)
		}
	}
	for i := range 12 {
		var both sync.WaitGroup
		both.Go(func() {
			if _, _, err := localcube.Ensure(t.Context(), opts); err != nil {
				t.Errorf("round %d: ensuring: %v", i, err)
			}
		})
		time.Sleep(time.Duration(i) * 25 * time.Millisecond)
		down(t)
		both.Wait()
		st := agreed(t, opts.StateDir)
		if i > 0 && st.Running { // at 0 either may be first
			t.Errorf("round %d: process %d serves after down", i, st.PID)
		}
		down(t)
		agreed(t, opts.StateDir)
	}
	nothingThere(t, opts.StateDir)
}

// TestDownBesideServe does the same to servers of a shell, which ask nobody.
func TestDownBesideServe(t *testing.T) {
	t.Parallel()
	engine := dockertest.Default(t)
	opts := background(t, engine)
	for i := range 12 {
		serve := exec.CommandContext(t.Context(), opts.Exe, append([]string{"local", "serve", "--state-dir", opts.StateDir}, opts.Args...)...)
		var said strings.Builder
		serve.Stderr = &said
		if err := serve.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- serve.Wait() }()
		time.Sleep(time.Duration(i) * 25 * time.Millisecond)
		for began := time.Now(); ; { // one that comes after a down needs another
			if err := localcube.Down(t.Context(), localcube.Options{Docker: engine.Client, StateDir: opts.StateDir, SharedRoot: opts.Args[1]}); err != nil {
				t.Fatalf("round %d: down: %v", i, err)
			}
			if len(serving(t, opts.StateDir)) == 0 {
				break
			}
			if time.Since(began) > time.Minute {
				t.Fatalf("round %d: it serves still:\n%s", i, said.String())
			}
		}
		if err := <-ended; err != nil {
			t.Errorf("round %d: %v\n%s", i, err, said.String())
		}
	}
	nothingThere(t, opts.StateDir)
}

// agreed is what answers in a state directory. No other process may serve it.
func agreed(t *testing.T, dir string) localcube.Status {
	t.Helper()
	st, err := localcube.Ask(t.Context(), dir)
	if err != nil {
		t.Errorf("asking: %v", err)
	}
	var want []string
	if st.Running {
		want = []string{itoa(st.PID)}
	}
	var got []string
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) { // one that answered may still be ending
		if got = serving(t, dir); slices.Equal(got, want) {
			break
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("processes that serve %s:\n%s", dir, diff)
	}
	return st
}

// serving are the processes with a state directory on their command line.
func serving(t *testing.T, dir string) []string {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var pids []string
	for _, path := range all {
		line, err := os.ReadFile(path)
		if err == nil && strings.Contains(string(line), "\x00serve\x00--state-dir\x00"+dir+"\x00") {
			pids = append(pids, filepath.Base(filepath.Dir(path)))
		}
	}
	return pids
}

func nothingThere(t *testing.T, dir string) {
	t.Helper()
	if left, err := os.ReadDir(dir); !os.IsNotExist(err) {
		t.Errorf("the state directory is there: %v, %v", left, err)
	}
}

// TestStateGone: a server whose state directory was removed ends, and leaves what
// another has put in its place. Sandboxes stay until down.
func TestStateGone(t *testing.T) {
	t.Parallel()
	engine := dockertest.Default(t)
	engine.NeedBase(t)
	opts := background(t, engine)
	st := ensure(t, opts)
	instance := instanceOf(t, opts.StateDir)
	create(t, st, template(t, st))
	if err := os.Rename(opts.StateDir, opts.StateDir+".away"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(opts.StateDir + ".away") })
	next, started, err := localcube.Ensure(t.Context(), opts)
	if err != nil || !started || next.PID == st.PID {
		t.Fatalf("the next one: %+v, started %v, %v", next, started, err)
	}
	if agreed(t, opts.StateDir).PID != next.PID {
		t.Error("the next one does not answer any more")
	}
	if instanceOf(t, opts.StateDir) != instance {
		t.Error("the next one's state is another's")
	}
	log, err := os.ReadFile(filepath.Join(opts.StateDir+".away", "serve.log"))
	if err != nil || !strings.Contains(string(log), "the state directory is gone: "+opts.StateDir) || !strings.Contains(string(log), "hermesbox local down removes them") {
		t.Errorf("it does not say why it ended: %v\n%s", err, log)
	}
	if err := os.RemoveAll(opts.StateDir); err != nil {
		t.Fatal(err)
	}
	agreed(t, opts.StateDir)
	if left := containers(t, engine, instance); len(left) != 1 {
		t.Errorf("%d containers before down, want 1", len(left))
	}
	if err := localcube.Down(t.Context(), localcube.Options{Docker: engine.Client, StateDir: opts.StateDir, SharedRoot: t.TempDir()}); err != nil {
		t.Fatal(err)
	}
	nothingLeft(t, engine, instance)
}

// TestEnsureInterrupted: what does not serve when its starter is interrupted is
// ended, also where it does not want to.
func TestEnsureInterrupted(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"ends":   "#!/bin/sh\nwhile :; do sleep 1; done\n",
		"clings": "#!/bin/sh\ntrap '' TERM\nwhile :; do sleep 1; done\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := tempDir(t)
			exe := filepath.Join(dir, "exe")
			if err := os.WriteFile(exe, []byte(script), 0o755); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
			defer cancel()
			state := filepath.Join(dir, "state")
			if _, _, err := localcube.Ensure(ctx, localcube.EnsureOptions{StateDir: state, Exe: exe}); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("Ensure: %v, want %v", err, context.DeadlineExceeded)
			}
			if left := serving(t, state); len(left) > 0 {
				t.Errorf("processes left: %q", left)
			}
		})
	}
}
