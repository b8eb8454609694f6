package sandbox_test

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hermesbox/hermesbox/internal/cube"
	"github.com/hermesbox/hermesbox/internal/node"
	"github.com/hermesbox/hermesbox/sandbox"
)

const twoNodes = `[{"nodeID":"host-1","hostIP":"10.0.0.1"},{"nodeID":"host-2","hostIP":"10.0.0.2"}]`

// TestNodeChosen: the node that has the home is found live, and pinned where
// this version of Cube can be told; else the risk is said.
func TestNodeChosen(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		version, nodes string
		homes          []string // nodes that have the home
		node           string   // asked for
		scope          any
		words          string // said
		fails          string // in the error, before anything is created
	}{
		"by address":                {version: "0.7.0", nodes: twoNodes, homes: []string{"b"}, scope: []any{"host-2"}},
		"old Cube":                  {version: "0.5.1", nodes: twoNodes, homes: []string{"b"}, words: "this Cube (0.5.1) cannot be told"},
		"old Cube and pause":        {version: "0.5.1", nodes: twoNodes, homes: []string{"b"}, words: "cannot pause a sandbox with directories"},
		"unknown to Cube":           {version: "0.7.0", homes: []string{"a"}, words: "Cube does not list a node of this name or address"},
		"on both":                   {version: "0.7.0", nodes: twoNodes, homes: []string{"a", "b"}, fails: "home alice is on several nodes: a, b"},
		"on both, one asked for":    {version: "0.7.0", nodes: twoNodes, homes: []string{"a", "b"}, node: "a", scope: []any{"host-1"}},
		"on another, one asked for": {version: "0.7.0", nodes: twoNodes, homes: []string{"a"}, node: "b", fails: "home alice is not on node b, but on a"},
		"a node that there isn't":   {version: "0.7.0", nodes: twoNodes, node: "c", fails: `no node is called "c"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newCubeAPI(t, test.version)
			f.nodes = test.nodes
			var nodes []node.Node
			for _, n := range []string{"a", "b"} {
				w := newWorld(t)
				if strings.Contains(strings.Join(test.homes, " "), n) {
					w.write("hermes-homes/alice/config.yaml", "{}\n")
				}
				nodes = append(nodes, movedNode{name: n, dir: w.layout.Root})
			}
			c, said := f.client(t, nodes...)
			c.Addresses = map[string]string{"a": "10.0.0.1", "b": "10.0.0.2"}
			spec := sandbox.Spec{Home: "alice", Workspace: "work", Timeout: time.Minute, OnTimeout: cube.OnTimeoutPause, Node: test.node}
			made, err := c.Create(t.Context(), spec)
			if made.ID != "" || err == nil || !strings.Contains(err.Error(), test.fails) {
				t.Fatalf("made %q: %v", made.ID, err)
			}
			if test.fails != "" {
				if len(f.created) > 0 {
					t.Errorf("sent %v", f.created)
				}
				return
			}
			if !errors.Is(err, cube.ErrNoNode) || len(f.created) != 1 {
				t.Fatalf("%v, %d creates\n%s", err, len(f.created), said)
			}
			if diff := cmp.Diff(test.scope, f.created[0]["distributionScope"]); diff != "" {
				t.Error(diff)
			}
			if !strings.Contains(said.String(), test.words) {
				t.Errorf("%q not in\n%s", test.words, said)
			}
		})
	}
}

// TestScope: a node goes by what Cube calls it, and by its address only where
// Cube does not list any.
func TestScope(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		nodes, node string
		want        []string
	}{
		"by address": {twoNodes, "b", []string{"host-2"}},
		"by name":    {twoNodes, "host-1", []string{"host-1"}},
		"not listed": {twoNodes, "c", nil},
		"no answer":  {"{", "b", []string{"10.0.0.2"}},
		"resolved":   {`[{"nodeID":"host-0","hostIP":"10.0.0.1"},{"nodeID":"host-9","hostIP":"127.0.0.1"}]`, "d", []string{"host-9"}},
		"no name":    {twoNodes, "e", nil},
		"an address": {"{", "d", []string{"127.0.0.1"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newCubeAPI(t, "0.7.0")
			f.nodes = test.nodes
			c, _ := f.client(t)
			c.Addresses = map[string]string{"b": "10.0.0.2", "c": "10.0.0.3", "d": "localhost", "e": "nowhere.invalid"}
			if diff := cmp.Diff(test.want, c.Scope(t.Context(), movedNode{name: test.node})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestSharedEmpty: a home that is emptied from within is not replaced under the
// sandbox that has it mounted.
func TestSharedEmpty(t *testing.T) {
	t.Parallel()
	f := newCubeAPI(t, "0.7.0")
	f.box("sb-1", "running", ours("ann", "alice", "1"))
	w := newWorld(t)
	w.do(os.Mkdir(w.layout.Home("alice"), 0o700))
	before := w.sh("stat -c %i hermes-homes/alice")
	c, _ := f.client(t, movedNode{name: "a", dir: w.layout.Root})
	spec := sandbox.Spec{Home: "alice", Workspace: "work", Name: "bea", ShareHome: true, Timeout: time.Minute, OnTimeout: cube.OnTimeoutKill}
	_, err := c.Create(t.Context(), spec)
	if err == nil || !strings.Contains(err.Error(), "would take it away from sandbox ann") || len(f.created) > 0 {
		t.Errorf("%v, %d creates", err, len(f.created))
	}
	if after := w.sh("stat -c %i hermes-homes/alice"); after != before {
		t.Error("the home is another directory")
	}
}

// TestRequest: what Cube is asked for, in full.
func TestRequest(t *testing.T) {
	t.Parallel()
	f := newCubeAPI(t, "0.7.0")
	f.box("old", "running", ours("alice-2", "other", "9000000000000000000"))
	w := newWorld(t)
	runs := 0
	c, said := f.client(t, movedNode{name: "a", dir: w.layout.Root, runs: &runs})
	spec := sandbox.Spec{
		Home: "alice", Workspace: "work", Timeout: 15 * time.Minute, OnTimeout: "pause", AutoResume: true,
		Env: map[string]string{"OPENAI_API_KEY": "sk-canary"},
	}
	if _, err := c.Create(t.Context(), spec); !errors.Is(err, cube.ErrNoNode) {
		t.Fatal(err)
	}
	got := f.created[0]
	metadata := got["metadata"].(map[string]any)
	if generation, _ := metadata["hermesbox.generation"].(string); len(generation) != 19 {
		t.Errorf("generation %q", generation)
	}
	delete(metadata, "hermesbox.generation")
	want := map[string]any{
		"templateID": "tpl-2", "timeout": 900.0, "lifecycle": map[string]any{"onTimeout": "pause", "autoResume": true},
		"metadata": map[string]any{
			"hermesbox.name": "alice", "hermesbox.home": "alice", "hermesbox.workspace": "work", "hermesbox.template": "tpl-2",
			"host-mount": `[{"hostPath":"/data/shared/hermes-homes/alice","mountPath":"/root/.hermes","readOnly":false},` +
				`{"hostPath":"/data/shared/hermes-workspaces/work","mountPath":"/workspace","readOnly":false},` +
				`{"hostPath":"/data/shared/hermes-common-skills","mountPath":"/opt/hermes-common-skills","readOnly":true}]`,
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if text, _ := json.Marshal(f.created); strings.Contains(string(text), "sk-canary") {
		t.Error("an override was sent to Cube")
	}
	if runs != 2 {
		t.Errorf("%d scripts before the sandbox is made, want 2", runs)
	}
	if !strings.Contains(said.String(), "step 3/10 home: seeded") {
		t.Errorf("said\n%s", said)
	}
}

// TestNoNodeAccess: the steps on the node are skipped, and Cube's own error tells of a missing directory.
func TestNoNodeAccess(t *testing.T) {
	t.Parallel()
	f := newCubeAPI(t, "0.7.0")
	f.nodes = twoNodes
	f.refusal = `{"code":500,"message":"CubeMaster returned error code 130595: prepareHostDirVolume: bind mount /data/shared/hermes-homes/alice -> /x: no such file or directory"}`
	c, said := f.client(t)
	_, err := c.Create(t.Context(), sandbox.Spec{Home: "alice", Workspace: "work"})
	var step *sandbox.StepError
	if !errors.Is(err, cube.ErrHostPath) || !errors.As(err, &step) || step.Step != 4 || step.ID != "" {
		t.Errorf("error %v", err)
	}
	for _, words := range []string{
		"step 2/10 directories: skipped: no node access", "step 3/10 home: skipped: no node access",
		"the cluster has 2 nodes, and hermesbox has access to none",
	} {
		if !strings.Contains(said.String(), words) {
			t.Errorf("%q not in\n%s", words, said)
		}
	}
}

// TestNodeUnusable: what the first look finds ends the create before anything is changed.
func TestNodeUnusable(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		prepare func(world)
		as      func(error) bool
	}{
		"home without config.yaml": {func(w world) { w.write("hermes-homes/alice/notes", "mine") }, func(err error) bool {
			var e *sandbox.NotInitialisedError
			return errors.As(err, &e) && e.Home == "alice"
		}},
		"home is a link": {func(w world) { w.sh("mkdir -p elsewhere && ln -s ../elsewhere hermes-homes/alice") }, func(err error) bool {
			var e *sandbox.PathError
			return errors.As(err, &e)
		}},
		"workspace is a file": {func(w world) { w.write("hermes-workspaces/work", "x") }, func(err error) bool {
			var e *sandbox.PathError
			return errors.As(err, &e) && strings.HasSuffix(e.Path, "hermes-workspaces/work")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newCubeAPI(t, "0.7.0")
			w := newWorld(t)
			test.prepare(w)
			c, _ := f.client(t, movedNode{name: "a", dir: w.layout.Root})
			_, err := c.Create(t.Context(), sandbox.Spec{Home: "alice", Workspace: "work"})
			if !test.as(err) || len(f.created) > 0 {
				t.Errorf("%v, %d creates", err, len(f.created))
			}
		})
	}
}

// TestNoTemplate: without a READY template nothing is asked of anybody.
func TestNoTemplate(t *testing.T) {
	t.Parallel()
	c, _ := newCubeAPI(t, "0.7.0").client(t)
	c.Latest = sandbox.Latest{}
	if _, err := c.Create(t.Context(), sandbox.Spec{Home: "a", Workspace: "b"}); !errors.Is(err, sandbox.ErrNoTemplate) {
		t.Error(err)
	}
}
