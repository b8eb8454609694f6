package sandbox_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hermesbox/hermesbox/internal/cube"
	"github.com/hermesbox/hermesbox/sandbox"
)

// TestList: who holds a name, what is outdated, and what a record may say.
func TestList(t *testing.T) {
	t.Parallel()
	f := newCubeAPI(t, "0.7.0")
	f.box("aa", "running", ours("alice", "home-a", "5"))
	f.box("bb", "paused", ours("alice", "home-a", "7"))
	f.box("cc", "running", nil) // lost its metadata
	f.box("dd", "running", map[string]string{"team": "other"})
	f.box("ee", "pausing", ours("zoe", "home-z", "not a number"))
	f.boxes[4]["templateID"] = "tpl-2"
	w := newWorld(t)
	record := func(id, text string) { w.write("hermes-homes/.hermesbox/sandboxes/"+id+".json", text) }
	good := `{"id":"%s","name":"%s","home":"home-c","workspace":"w","template":"tpl-1","generation":3,"mounts":[]}`
	record("cc", fmt.Sprintf(good, "cc", "carol"))
	record("gone", fmt.Sprintf(good, "gone", "ghost")) // Cube does not list it
	record("dd", fmt.Sprintf(good, "cc", "forged"))    // of another
	record("xx", `{"id":"xx","name":"\u001b[31m"}`)
	record("yy", strings.Repeat("x", 20<<10))
	w.sh("ln -s /etc/passwd hermes-homes/.hermesbox/sandboxes/zz.json; mkfifo hermes-homes/.hermesbox/sandboxes/ff.json")
	c, said := f.client(t, movedNode{name: "a", dir: w.layout.Root})
	got, err := c.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []sandbox.Sandbox{
		{ID: "bb", Name: "alice", State: "paused", Home: "home-a", Workspace: "home-a", Node: "host-1", Template: "tpl-1", Outdated: true},
		{ID: "aa", Name: "alice", State: "running", Superseded: true, Home: "home-a", Workspace: "home-a", Node: "host-1", Template: "tpl-1", Outdated: true},
		{ID: "cc", Name: "carol", State: "running", Home: "home-c", Workspace: "w", Node: "host-1", Template: "tpl-1", Outdated: true},
		{ID: "ee", Name: "zoe", State: "pausing", Home: "home-z", Workspace: "home-z", Node: "host-1", Template: "tpl-2"},
		{ID: "dd", State: "running", Node: "host-1", Template: "tpl-1", Outdated: true},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(sandbox.Sandbox{}, "Generation", "Started", "Mounts")); diff != "" {
		t.Error(diff)
	}
	for _, words := range []string{`reading record "dd.json": it is not about`, `reading record "xx.json"`} {
		if !strings.Contains(said.String(), words) {
			t.Errorf("%q not in %q", words, said)
		}
	}
	for arg, id := range map[string]string{"alice": "bb", "aa": "aa", "carol": "cc", "dd": "dd"} {
		if one, err := sandbox.Pick(got, arg); err != nil || one.ID != id {
			t.Errorf("%s: %+v, %v", arg, one, err)
		}
	}
	for _, arg := range []string{"", "ghost", "forged", "alic"} {
		if one, err := sandbox.Pick(got, arg); !errors.Is(err, sandbox.ErrUnknown) {
			t.Errorf("%q: %+v, %v", arg, one, err)
		}
	}
	if old := sandbox.Outdated(got); len(old) != 2 {
		t.Errorf("outdated: %+v", old)
	}
}

// TestListAsksNoNode: where Cube knows everything, no node is asked.
func TestListAsksNoNode(t *testing.T) {
	t.Parallel()
	f := newCubeAPI(t, "0.7.0")
	f.box("aa", "running", ours("alice", "home-a", "5"))
	runs := 0
	c, _ := f.client(t, movedNode{name: "a", dir: t.TempDir(), runs: &runs})
	if _, err := c.List(t.Context()); err != nil || runs != 0 {
		t.Errorf("%d scripts, %v", runs, err)
	}
}

// TestListNodeDown: a node that does not answer costs a warning.
func TestListNodeDown(t *testing.T) {
	t.Parallel()
	f := newCubeAPI(t, "0.7.0")
	f.box("dd", "running", nil)
	c, said := f.client(t, movedNode{name: "down", shNode: shNode{dieAt: "nowhere"}})
	if all, err := c.List(t.Context()); err != nil || len(all) != 1 || !strings.Contains(said.String(), "the records on node down could not be read") {
		t.Errorf("%+v, %v, %s", all, err, said)
	}
}

// TestRebuildForeign: what hermesbox did not make is not stopped.
func TestRebuildForeign(t *testing.T) {
	t.Parallel()
	f := newCubeAPI(t, "0.7.0")
	f.box("dd", "running", nil)
	c, _ := f.client(t)
	one, err := c.Find(t.Context(), "dd")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Rebuild(t.Context(), one, sandbox.Spec{}); !errors.Is(err, sandbox.ErrForeign) {
		t.Error(err)
	}
}

// TestRebuildChecksFirst: what can be checked is, before the old one is stopped.
func TestRebuildChecksFirst(t *testing.T) {
	t.Parallel()
	f := newCubeAPI(t, "0.7.0") // a DELETE fails the test
	f.box("aa", "running", ours("alice", "alice", "5"))
	w := newWorld(t)
	w.write("hermes-homes/alice/notes", "no config.yaml")
	c, _ := f.client(t, movedNode{name: "a", dir: w.layout.Root})
	one, err := c.Find(t.Context(), "alice")
	if err != nil {
		t.Fatal(err)
	}
	var bare *sandbox.NotInitialisedError
	if _, err := c.Rebuild(t.Context(), one, sandbox.Spec{}); !errors.As(err, &bare) {
		t.Error(err)
	}
}

func FuzzParseRecord(f *testing.F) {
	f.Add("aa.json", []byte(`{"id":"aa","name":"alice","home":"h","workspace":"w","template":"tpl-1","generation":3,"mounts":[{"host_path":"/a","mount_path":"/b","read_only":true}]}`))
	f.Add("../aa.json", []byte(`{"id":"../aa"}`))
	f.Add("", []byte("null"))
	f.Fuzz(func(t *testing.T, file string, text []byte) {
		r, err := sandbox.ParseRecord(file, text)
		if err != nil {
			return
		}
		if file != r.ID+".json" || sandbox.CheckName(r.Name) != "" || r.Generation <= 0 {
			t.Errorf("%q: %+v", file, r)
		}
	})
}

// TestRebuildInterrupted: an end that was asked for is waited for, and the error
// tells that it came.
func TestRebuildInterrupted(t *testing.T) {
	t.Parallel()
	f := newCubeAPI(t, "0.7.0")
	f.box("old", "running", ours("alice", "alice", "1"))
	ctx, cancel := context.WithCancel(t.Context())
	f.ending = func() {
		cancel()
		time.Sleep(100 * time.Millisecond)
	}
	c, said := f.client(t)
	old, err := c.Find(ctx, "alice")
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Rebuild(ctx, old, sandbox.Spec{Timeout: time.Minute, OnTimeout: cube.OnTimeoutPause})
	var step *sandbox.StepError
	if !errors.As(err, &step) || step.Step < 2 || step.ID != "" || !errors.Is(err, context.Canceled) || !strings.Contains(said.String(), "stopped old") {
		t.Errorf("got %v\n%s", err, said)
	}
	if _, err := c.Rebuild(ctx, old, sandbox.Spec{}); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted before: %v", err)
	}
}
