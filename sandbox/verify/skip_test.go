package verify_test

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/hermesbox/hermesbox/internal/node"
	"github.com/hermesbox/hermesbox/internal/sshdial"
	"github.com/hermesbox/hermesbox/sandbox"
	"github.com/hermesbox/hermesbox/sandbox/verify"
)

// TestSkips: what cannot be judged here says why, and a node that does not
// answer is no reason to skip.
func TestSkips(t *testing.T) {
	t.Parallel()
	s := newStage(t, "")
	box := s.create("alice")
	all := []string{"node", "seeded", "egress-allowed", "egress-denied", "rebuild"}
	for name, c := range map[string]struct {
		change func(*sandbox.Client, *sandbox.Sandbox, *verify.Options)
		want   map[string]string // id to status and evidence
	}{
		"no node access": {
			func(c *sandbox.Client, _ *sandbox.Sandbox, _ *verify.Options) { c.Nodes = nil },
			map[string]string{"node": "skip skipped: no node access", "seeded": "pass config.yaml can be read; the default home was not compared"},
		},
		"a node that is dead": {
			func(c *sandbox.Client, _ *sandbox.Sandbox, _ *verify.Options) {
				dialer := &sshdial.Dialer{Getenv: func(string) string { return "" }}
				c.Nodes = []node.Node{node.NewSSH("dead", "root@127.0.0.1:1", "", dialer)}
			},
			map[string]string{"node": "fail leaving a mark on node dead", "seeded": "pass config.yaml can be read; the default home was not compared"},
		},
		"one of two nodes is dead": {
			func(c *sandbox.Client, _ *sandbox.Sandbox, _ *verify.Options) {
				dialer := &sshdial.Dialer{Getenv: func(string) string { return "" }}
				c.Nodes = append([]node.Node{node.NewSSH("dead", "root@127.0.0.1:1", "", dialer)}, c.Nodes...)
				s.onNode(`touch -d '3 days ago' "$1/hermes-homes/alice/.hermesbox-nonce-old" "$1/hermes-workspaces/alice/.hermesbox-probe-old" && mkdir -p "$1/hermes-homes/alice/sub" && touch -d '3 days ago' "$1/hermes-homes/alice/sub/.hermesbox-nonce-other"`)
			},
			map[string]string{"node": "pass what was written on node local", "seeded": "pass config.yaml can be read; all"},
		},
		"somebody else's": {
			func(_ *sandbox.Client, b *sandbox.Sandbox, _ *verify.Options) { b.Home, b.Workspace = "", "" },
			map[string]string{"node": "skip skipped: hermesbox did not make it"},
		},
		"nothing configured": {
			func(_ *sandbox.Client, _ *sandbox.Sandbox, o *verify.Options) { *o = verify.Options{} },
			map[string]string{"egress-allowed": "skip skipped: sandbox.model_endpoints names none", "egress-denied": "skip skipped: the policy of the template is not known"},
		},
		"all open": {
			func(_ *sandbox.Client, _ *sandbox.Sandbox, o *verify.Options) {
				o.Reach = func(netip.Addr) (bool, string) { return true, "0.0.0.0/0" }
				o.NotEnforced = ""
			},
			map[string]string{"egress-denied": "skip skipped: policy opens everything"},
		},
		"not enforced": {
			func(_ *sandbox.Client, _ *sandbox.Sandbox, o *verify.Options) { o.NotEnforced = "nobody does" },
			map[string]string{"egress-denied": "skip skipped: nobody does"},
		},
		"a sandbox of another's": {
			func(*sandbox.Client, *sandbox.Sandbox, *verify.Options) {},
			map[string]string{"rebuild": "skip skipped: it needs sandboxes of its own"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			client, one, o := *s.client, box, s.options()
			c.change(&client, &one, &o)
			o.Only = all
			r, err := verify.Run(t.Context(), &client, one, o)
			if err != nil {
				t.Fatal(err)
			}
			for _, got := range r.Checks {
				if want := c.want[got.ID]; want != "" && !strings.HasPrefix(string(got.Status)+" "+got.Evidence, want) {
					t.Errorf("%s: %s %s, wanted %s", got.ID, got.Status, got.Evidence, want)
				}
			}
		})
	}
	s.onNode(`! ls "$1"/hermes-*s/alice/.hermesbox-*-old 2>/dev/null && ls "$1/hermes-homes/alice/sub/.hermesbox-nonce-other"`)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := verify.Run(ctx, s.client, box, s.options()); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
}
