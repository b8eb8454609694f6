package skills_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hermesbox/hermesbox/internal/dockertest"
	"github.com/hermesbox/hermesbox/internal/node"
	"github.com/hermesbox/hermesbox/internal/sshdial"
	"github.com/hermesbox/hermesbox/internal/sshtest"
	"github.com/hermesbox/hermesbox/skills"
)

// many makes a thousand skills of twenty files each.
func (w *world) many() {
	w.Helper()
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same every time
	for i := range 1000 {
		name := fmt.Sprintf("public-skill-%04d", i)
		w.put(name+"/SKILL.md", head(name, strings.Repeat("word ", 400)), 0o644)
		for j := range 19 {
			w.put(fmt.Sprintf("%s/references/file-%02d.md", name, j), strings.Repeat(fmt.Sprintln(random.Uint64()), 10+random.IntN(200)), 0o644)
		}
	}
}

// overSSH is the world's node behind a real server, whose bytes are counted.
func (w *world) overSSH() (*sshtest.Server, *node.SSH) {
	w.Helper()
	server := sshtest.Start(w.T, sshtest.Options{})
	n := node.NewSSH("node-1", server.Target(), "", &sshdial.Dialer{Getenv: server.Getenv, ConfigFile: server.ConfigFile()})
	w.Cleanup(func() {
		if err := n.Close(); err != nil {
			w.Error(err)
		}
	})
	w.node = n
	return server, n
}

// TestSpeed compares a deploy that has nothing to do with rsync, and counts what
// a change of one skill moves. Times are judged where HERMESBOX_TEST_REQUIRE has
// speed in it, since other machines are busy.
func TestSpeed(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it takes a minute")
	}
	rsync, err := exec.LookPath("rsync")
	if err != nil {
		dockertest.Missing(t, "rsync", err)
	}
	w := newWorld(t)
	w.many()
	server, _ := w.overSSH()
	began := time.Now()
	if got := strings.Count(w.deploy(), "add"); got != 1000 {
		t.Fatalf("%d skills added", got)
	}
	t.Logf("first deploy: %v", time.Since(began))

	control := filepath.Join(t.TempDir(), "control")
	shell := fmt.Sprintf("ssh -F %s -p %d -S %s", server.ConfigFile(), server.Port, control)
	master := exec.CommandContext(t.Context(), "sh", "-c", shell+" -M -N -o ControlPersist=no "+server.User+"@"+server.Host)
	must(t, master.Start())
	defer master.Wait()         //nolint:errcheck // it is killed
	defer master.Process.Kill() //nolint:errcheck // nor does it matter
	for range 100 {
		if _, err := os.Stat(control); err == nil {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	copied := t.TempDir()
	rival := func() {
		out, err := exec.CommandContext(t.Context(), rsync, "-a", "--checksum", "--delete", "-e", shell, w.source+"/", server.User+"@"+server.Host+":"+copied+"/").CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	began = time.Now()
	rival()
	t.Logf("first rsync: %v", time.Since(began))
	var ours, theirs []time.Duration
	for range 5 {
		began := time.Now()
		if got := w.deploy(); got != "" {
			t.Fatalf("it did %s", got)
		}
		ours = append(ours, time.Since(began))
		began = time.Now()
		rival()
		theirs = append(theirs, time.Since(began))
	}
	slices.Sort(ours)
	slices.Sort(theirs)
	t.Logf("nothing changed: ours %v, rsync %v, quotient %.2f", ours, theirs, float64(ours[2])/float64(theirs[2]))
	if ours[0] > theirs[0] && dockertest.Required("speed") {
		t.Errorf("nothing changed takes %v, rsync %v", ours[0], theirs[0])
	}

	w.put("public-skill-0500/SKILL.md", head("public-skill-0500", "changed"), 0o644)
	size := w.load().Skills[500].Bytes
	var moved atomic.Int64
	d, err := skills.Deploy(t.Context(), counting{w.node, &moved}, w.place, w.release)
	if err != nil || actions(d) != "update public-skill-0500" {
		t.Fatalf("%s, %v", actions(d), err)
	}
	t.Logf("one of %d bytes moved %d", size, moved.Load())
	if moved.Load() > size+64<<10 {
		t.Errorf("one skill of %d bytes moved %d", size, moved.Load())
	}
}

// counting counts what scripts and their streams move.
type counting struct {
	node.Node
	moved *atomic.Int64
}

func (c counting) Run(ctx context.Context, s node.Script) (int, error) {
	c.moved.Add(int64(len(s.Text)))
	if s.Stdin != nil {
		s.Stdin = io.TeeReader(s.Stdin, adder{c.moved})
	}
	s.Stdout, s.Stderr = io.MultiWriter(s.Stdout, adder{c.moved}), io.MultiWriter(s.Stderr, adder{c.moved})
	return c.Node.Run(ctx, s)
}

type adder struct{ to *atomic.Int64 }

func (a adder) Write(p []byte) (int, error) {
	a.to.Add(int64(len(p)))
	return len(p), nil
}
