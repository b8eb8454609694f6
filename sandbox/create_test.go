package sandbox_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hermesbox/hermesbox/internal/node"
)

// TestCreate goes through the ten steps, and finds home, workspace and token
// again in a second sandbox on the same ids.
func TestCreate(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	spec := s.spec("alice", "team")
	spec.Env = map[string]string{"OPENAI_API_KEY": "sk-canary-0123456789", "MODE": "blue green"}
	first := s.create(spec)
	t.Log(strings.Join(s.steps, "\n"))
	want := []string{"done", "done", "done", "done", "done", "done", "skipped", "done", "done", "done"}
	var got []string
	for _, step := range first.Steps {
		got = append(got, step.Status)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if first.Name != "alice" || first.State != "running" || first.Node != "local" || len(first.Mounts) != 3 || !strings.Contains(first.URL, "9000-"+first.ID) {
		t.Errorf("made %+v", first)
	}
	if first.Steps[2].Detail != "seeded" {
		t.Errorf("home: %s", first.Steps[2].Detail)
	}
	if left := s.sh(first.Sandbox, "ls -A /root/.hermes /workspace | grep nonce || true"); left != "" {
		t.Errorf("the mark was left: %s", left)
	}
	if mode := s.sh(first.Sandbox, "stat -c %a /root/.hermes/.hermesbox/env"); mode != "600\n" {
		t.Errorf("mode of the overrides: %s", mode)
	}
	s.sh(first.Sandbox, "echo 'export MODE=x' >>/root/.hermes/.env; echo one >/root/.hermes/marker; echo two >/workspace/marker")
	token := s.tokens[len(s.tokens)-1]
	for _, said := range append(slices.Clone(s.said), s.steps...) {
		if strings.Contains(said, token) || strings.Contains(said, "sk-canary") {
			t.Errorf("a secret was said: %s", said)
		}
	}
	listed, err := s.client.List(t.Context())
	if err != nil || len(listed) != 1 {
		t.Fatalf("list: %v, %v", listed, err)
	}
	keys := []string{"home", "id", "name", "node", "outdated", "state", "superseded", "template", "workspace"}
	if diff := cmp.Diff(keys, slices.Sorted(maps.Keys(object(t, listed[0])))); diff != "" {
		t.Error(diff)
	}

	if err := s.client.Stop(t.Context(), listed[0]); err != nil {
		t.Fatal(err)
	}
	counted := &countedNode{Node: s.client.Nodes[0]}
	s.client.Nodes[0] = counted
	spec = s.spec("alice", "team")
	spec.Env = map[string]string{"MODE": "red"}
	second := s.create(spec)
	if counted.runs > 3 {
		t.Errorf("%d scripts ran on the node, want 3 at most", counted.runs)
	}
	if !s.heard("MODE is also set in the home's own .env") {
		t.Errorf("no warning of .env: %q", s.said)
	}
	if second.Steps[2].Detail != "kept" {
		t.Errorf("home: %s", second.Steps[2].Detail)
	}
	if got := s.sh(second.Sandbox, "cat /root/.hermes/marker /workspace/marker"); got != "one\ntwo\n" {
		t.Errorf("read back %q", got)
	}
	if again := s.tokens[len(s.tokens)-1]; again != token {
		t.Error("the token did not survive")
	}
	if kept := s.sh(second.Sandbox, "cat /root/.hermes/.hermesbox/env"); kept != "OPENAI_API_KEY=sk-canary-0123456789\nMODE=red\n" {
		t.Errorf("overrides: %q", kept)
	}
	other := s.create(s.spec("bob", "else"))
	if seen := s.sh(other.Sandbox, "cat /root/.hermes/marker /workspace/marker 2>/dev/null || true"); seen != "" {
		t.Errorf("another sandbox sees %q", seen)
	}
}

// countedNode counts the scripts.
type countedNode struct {
	node.Node
	runs int
}

func (n *countedNode) Run(ctx context.Context, s node.Script) (int, error) {
	n.runs++
	return n.Node.Run(ctx, s)
}
