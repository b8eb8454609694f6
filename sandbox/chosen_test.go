package sandbox_test

import (
	"testing"
	"time"

	"github.com/hermesbox/hermesbox/internal/cube"
	"github.com/hermesbox/hermesbox/sandbox"
)

// TestRebuildKeepsWhatWasChosen: what is not chosen anew stays, and what means
// nothing counts as not chosen.
func TestRebuildKeepsWhatWasChosen(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name      string
		metadata  map[string]string
		anew      sandbox.Chosen
		timeout   float64
		onTimeout string
		chosen    map[string]string
	}{
		{"nothing", nil, sandbox.Chosen{}, 900, "pause", nil},
		{
			"all",
			map[string]string{"hermesbox.timeout": "1h0m0s", "hermesbox.on_timeout": "kill", "hermesbox.web_ui": "no"},
			sandbox.Chosen{},
			3600, "kill",
			map[string]string{"hermesbox.timeout": "1h0m0s", "hermesbox.on_timeout": "kill", "hermesbox.web_ui": "no"},
		},
		{
			"chosen anew",
			map[string]string{"hermesbox.timeout": "1h0m0s", "hermesbox.on_timeout": "kill", "hermesbox.web_ui": "no"},
			sandbox.Chosen{Timeout: "15m0s", OnTimeout: "pause", WebUI: "yes"},
			900, "pause",
			map[string]string{"hermesbox.timeout": "15m0s", "hermesbox.on_timeout": "pause", "hermesbox.web_ui": "yes"},
		},
		{"nonsense", map[string]string{"hermesbox.timeout": "-5s", "hermesbox.on_timeout": "dance", "hermesbox.web_ui": "maybe"}, sandbox.Chosen{}, 900, "pause", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			f := newCubeAPI(t, "0.7.0")
			metadata := ours("alice", "alice", "1")
			for key, value := range test.metadata {
				metadata[key] = value
			}
			f.box("old", "paused", metadata)
			f.stuck = true // no sandbox comes of it, and none goes
			c, said := f.client(t)
			old, err := c.Find(t.Context(), "alice")
			if err != nil {
				t.Fatal(err)
			}
			spec := sandbox.Spec{Timeout: 15 * time.Minute, OnTimeout: cube.OnTimeoutPause, Chosen: test.anew}
			if _, err := c.Rebuild(t.Context(), old, spec); err == nil || len(f.created) != 1 {
				t.Fatalf("created %v, %v\n%s", f.created, err, said)
			}
			request := f.created[0]
			lifecycle, _ := request["lifecycle"].(map[string]any)
			if request["timeout"] != test.timeout || lifecycle["onTimeout"] != test.onTimeout {
				t.Errorf("asked for %v", request)
			}
			asked, _ := request["metadata"].(map[string]any)
			for _, key := range []string{"hermesbox.timeout", "hermesbox.on_timeout", "hermesbox.web_ui"} {
				if got, _ := asked[key].(string); got != test.chosen[key] {
					t.Errorf("%s is %q, want %q", key, got, test.chosen[key])
				}
			}
		})
	}
}
