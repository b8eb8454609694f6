package sandbox_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hermesbox/hermesbox/internal/node"
	"github.com/hermesbox/hermesbox/internal/sshdial"
	"github.com/hermesbox/hermesbox/internal/sshtest"
	"github.com/hermesbox/hermesbox/sandbox"
)

// sshNode is this machine as a node behind a server.
func sshNode(t *testing.T, s *sshtest.Server) node.Node {
	t.Helper()
	n := node.NewSSH("here", s.Target(), "", &sshdial.Dialer{Getenv: s.Getenv, ConfigFile: s.ConfigFile()})
	t.Cleanup(func() { _ = n.Close() }) // some are cut
	return n
}

// TestSeedOverSSH: a node looked at, a home seeded by twenty at once, and a place prepared, over a real server.
func TestSeedOverSSH(t *testing.T) {
	t.Parallel()
	w, server := newWorld(t), sshtest.Start(t, sshtest.Options{})
	n := sshNode(t, server)
	want := w.tree("hermes-homes/default")
	found, err := sandbox.Look(t.Context(), n, w.place("h"))
	w.do(err)
	if found.Home.State != sandbox.Absent || found.Default.State != sandbox.Initialised {
		t.Errorf("found %+v", found)
	}
	var seeded atomic.Int32
	all(20, func(int) {
		did, err := sandbox.SeedHome(t.Context(), n, w.layout, "h")
		if err != nil {
			t.Error(err)
		}
		if did == sandbox.Seeded {
			seeded.Add(1)
		}
	})
	if seeded.Load() != 1 || server.Connections() != 1 {
		t.Errorf("%d seeded, over %d connections", seeded.Load(), server.Connections())
	}
	w.same(want, "h")
	before := server.Execs(t)
	got, err := sandbox.Prepare(t.Context(), n, w.place("h"))
	w.do(err)
	if got.Home != sandbox.Kept || server.Execs(t) != before+1 {
		t.Errorf("prepared %+v with %d commands", got, server.Execs(t)-before)
	}
}

// TestDefaultCut: where the connection is lost while a seed sandbox works, the lock is given back and nothing is changed.
func TestDefaultCut(t *testing.T) {
	t.Parallel()
	w, server := newWorld(t), sshtest.Start(t, sshtest.Options{})
	want := w.tree("hermes-homes/default")
	f := newFakeCube(t)
	f.during = func(string) { server.Cut() }
	seed := f.seed(t)
	seed.Refresh = true
	if _, err := sandbox.FillDefault(t.Context(), sshNode(t, server), w.layout, seed); err == nil {
		t.Error("no error")
	}
	start := time.Now()
	if _, err := sandbox.SeedHome(t.Context(), sshNode(t, server), w.layout, "h"); err != nil {
		t.Error(err)
	}
	if waited := time.Since(start); waited > time.Minute {
		t.Errorf("the lock was held for %v", waited)
	}
	w.same(want, "default")
}

// TestSeedCut: what a lost connection left running ends, and the next run waits for it.
func TestSeedCut(t *testing.T) {
	t.Parallel()
	w, server := newWorld(t), sshtest.Start(t, sshtest.Options{})
	want := w.tree("hermes-homes/default")
	slow := slowNode{sshNode(t, server)}
	go func() {
		w.until("hermes-homes/.hermesbox/stage/slow")
		server.Cut()
	}()
	if did, err := sandbox.SeedHome(t.Context(), slow, w.layout, "h"); err == nil {
		t.Errorf("no error, but %q", did)
	}
	did, err := sandbox.SeedHome(t.Context(), sshNode(t, server), w.layout, "h")
	if err != nil || did != sandbox.Kept && did != sandbox.Seeded {
		t.Errorf("after it: %q, %v", did, err)
	}
	w.same(want, "h")
}

// until waits for a file.
func (w world) until(name string) {
	for range 600 {
		if _, err := w.stat(name); err == nil {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	w.Error(errors.New("there is no " + name))
}

func TestSeedSameWords(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write("hermes-homes/h/x\ty", "")
	_, here := sandbox.SeedHome(t.Context(), shNode{}, w.layout, "h")
	_, there := sandbox.SeedHome(t.Context(), sshNode(t, sshtest.Start(t, sshtest.Options{})), w.layout, "h")
	if diff := cmp.Diff(here.Error(), there.Error()); diff != "" {
		t.Error(diff)
	}
}
