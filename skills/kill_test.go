package skills_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/hermesbox/hermesbox/internal/node"
	"github.com/hermesbox/hermesbox/skills"
)

// kills is how often a deploy is killed.
const kills = 200

// TestDeployKilled kills deploys at random while others read: every skill is old
// or new, or away for a moment, and never mixed. The next deploy puts all right.
func TestDeployKilled(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	version := 0
	next := func() {
		version++
		for _, name := range []string{"one", "two", "three"} {
			must(t, os.RemoveAll(w.source+"/"+name))
			if name == "three" && version%3 == 0 {
				continue
			}
			for _, file := range []string{"SKILL.md", "a", "scripts/b", "scripts/deep/c"} {
				w.put(name+"/"+file, head(name, fmt.Sprint(version)), 0o644)
			}
		}
	}
	next()
	write(t, w.place.Dir+"/theirs/SKILL.md", "theirs", 0o644)
	began := time.Now()
	w.deploy()
	next()
	w.deploy()
	whole := time.Since(began) / 2
	reading := w.read("one", "two", "three")
	for n := range kills {
		next()
		w.killed(whole, n%2 == 0)
		if n%20 == 19 {
			w.deploy()
			w.settled()
		}
	}
	reads := reading()
	t.Logf("%d reads of whole skills", reads)
	if reads < 100 {
		t.Errorf("only %d reads", reads)
	}
	if text, err := os.ReadFile(w.place.Dir + "/theirs/SKILL.md"); err != nil || string(text) != "theirs" {
		t.Errorf("the foreign one: %q, %v", text, err)
	}
}

// killed begins a deploy and kills it somewhere: its shell only, which leaves
// what that started, or all of it.
func (w *world) killed(whole time.Duration, all bool) {
	w.Helper()
	after := time.Duration(rand.Int64N(int64(whole))) //nolint:gosec // any number will do
	deadline := time.Now().Add(after)
	n := shell{group: true, started: func(p *os.Process) (ended func() bool) {
		pid := p.Pid
		if all {
			pid = -pid
		}
		return time.AfterFunc(time.Until(deadline), func() { syscall.Kill(pid, syscall.SIGKILL) }).Stop //nolint:errcheck // it may have ended
	}}
	if _, err := skills.Deploy(w.Context(), n, w.place, w.release); err != nil && !strings.Contains(err.Error(), "killed") && !strings.Contains(err.Error(), "pipe") {
		w.Errorf("killed after %v: %v", after, err)
	}
}

// settled wants the shared directory and the ledger to be those of the source.
func (w *world) settled() {
	w.Helper()
	w.same("theirs")
	var ledger struct{ Skills map[string]string }
	text, err := os.ReadFile(w.place.Ledger())
	if err := errors.Join(err, json.Unmarshal(text, &ledger)); err != nil {
		w.Fatal(err)
	}
	set := w.load()
	for _, s := range set.Skills {
		if ledger.Skills[s.Name] != "sha256:"+s.Digest {
			w.Errorf("the ledger has %s for %s", ledger.Skills[s.Name], s.Name)
		}
	}
	if len(ledger.Skills) != len(set.Skills) {
		w.Errorf("the ledger: %s", text)
	}
	for _, left := range []string{"stage", "journal", "trash", "kept"} {
		if _, err := os.Lstat(filepath.Join(w.place.State(), left)); err == nil {
			w.Errorf("%s is left", left)
		}
	}
	if got := w.deploy(); got != "" {
		w.Errorf("a deploy after a deploy does %q", got)
	}
}

// read reads skills until it is told to stop, and then tells how often it read a whole one.
func (w *world) read(names ...string) (stop func() int) {
	ctx, cancel := context.WithCancel(w.Context())
	done := make(chan int)
	go func() {
		count := 0
		for ctx.Err() == nil {
			for _, name := range names {
				if w.readWhole(name) {
					count++
				}
			}
			time.Sleep(5 * time.Millisecond)
		}
		done <- count
	}()
	return func() int { cancel(); return <-done }
}

// readWhole reads one skill by its directory, as it was opened.
func (w *world) readWhole(name string) bool {
	root, err := os.OpenRoot(filepath.Join(w.place.Dir, name))
	if err != nil {
		return false
	}
	defer root.Close()
	var first string
	for _, file := range []string{"SKILL.md", "a", "scripts/b", "scripts/deep/c"} {
		text, err := root.ReadFile(file)
		if err != nil {
			// It may be an old one that is being cleaned up; what has the name now is whole.
			if !errors.Is(err, fs.ErrNotExist) || w.still(root, name) {
				w.Errorf("%s of %s: %v", file, name, err)
			}
			return false
		}
		if first == "" {
			first = string(text)
		}
		if string(text) != first {
			w.Errorf("%s is mixed: %q and %q", name, first, text)
		}
	}
	return true
}

// still tells whether an open directory is what has the name now.
func (w *world) still(root *os.Root, name string) bool {
	mine, err1 := root.Stat(".")
	now, err2 := os.Stat(filepath.Join(w.place.Dir, name))
	return err1 == nil && err2 == nil && os.SameFile(mine, now)
}

// TestDeployTwice: two at once, of which one waits; both end well, and the
// second does nothing or what the first did not.
func TestDeployTwice(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range 30 {
		w.skill(fmt.Sprintf("skill-%d", i), "x")
	}
	var waited atomic.Int32
	results := make(chan string, 4)
	for range cap(results) {
		go func() {
			d, err := skills.Deploy(t.Context(), listening{shell{}, &waited}, w.place, w.release)
			results <- fmt.Sprint(len(d.Actions), " ", err)
		}()
	}
	counts := map[string]int{}
	for range cap(results) {
		counts[<-results]++
	}
	if counts["30 <nil>"] != 1 || counts["0 <nil>"] != 3 {
		t.Errorf("%v", counts)
	}
	if waited.Load() == 0 {
		t.Error("nobody waited")
	}
	w.settled()
}

// listening counts who waits for a lock.
type listening struct {
	node.Node
	waited *atomic.Int32
}

func (l listening) Run(ctx context.Context, s node.Script) (int, error) {
	var said strings.Builder
	s.Stderr = io.MultiWriter(s.Stderr, &said)
	code, err := l.Node.Run(ctx, s)
	if strings.Contains(said.String(), "waiting for ") {
		l.waited.Add(1)
	}
	return code, err
}

// TestDeployWaitsForOrphans: what a killed deploy left running on the node
// holds the lock.
func TestDeployWaitsForOrphans(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.skill("one", "x")
	w.deploy()
	orphan := node.Script{Text: node.LockFunc + "lock \"$1\"; sleep 1 & kill -9 $$", Args: []string{filepath.Join(w.place.State(), "lock")}}
	if _, err := (shell{}).Run(t.Context(), orphan); err == nil {
		t.Fatal("it was not killed")
	}
	var waited atomic.Int32
	d, err := skills.Deploy(t.Context(), listening{shell{}, &waited}, w.place, w.release)
	if err != nil || len(d.Actions) != 0 || waited.Load() != 1 {
		t.Errorf("%+v, %v, %d waited", d, err, waited.Load())
	}
}
