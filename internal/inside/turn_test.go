package inside

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hermesbox/hermesbox/internal/dockertest"
)

// fakeHermes asks the model of its home as its name tells.
const fakeHermes = `#!/usr/bin/env python3
import json, os, sys, urllib.error, urllib.request
how = os.path.basename(sys.argv[0])
with open(sys.argv[0] + "-home/config.yaml") as f:
    model = json.load(f)["model"]
def ask(path, body=None, key=model["api_key"]):
    to = urllib.request.Request(model["base_url"] + path, body and json.dumps(body).encode(), {"Authorization": "Bearer " + key})
    try:
        with urllib.request.urlopen(to) as got:
            return got.headers["Content-Type"], got.read().decode()
    except urllib.error.HTTPError as e:
        sys.exit("HTTP %d, key %s" % (e.code, key))
if how == "models":
    print([m["id"] for m in json.loads(ask("/models")[1])["data"]])
elif how == "whole":
    kind, text = ask("/chat/completions", {"model": "stub"})
    print(json.loads(text)["choices"][0]["message"]["content"])
elif how == "streamed":
    kind, text = ask("/chat/completions", {"stream": True})
    events = [line[6:] for line in text.split("\n\n") if line]
    assert kind == "text/event-stream" and events.pop() == "[DONE]", text
    print("".join(json.loads(e)["choices"][0]["delta"].get("content", "") for e in events))
elif how == "stranger":
    ask("/chat/completions", {}, "another")
elif how == "lost":
    ask("/elsewhere", {})
elif how == "leaky":
    sys.exit("the key is " + model["api_key"])
`

func TestAgentTurn(t *testing.T) {
	t.Parallel()
	python, err := exec.LookPath("python3")
	if err != nil {
		dockertest.Missing(t, "python", err)
	}
	type turn struct {
		Code   int
		Answer bool
		Turns  int
	}
	for how, want := range map[string]struct {
		turn
		output string
	}{
		"whole":    {turn{0, true, 1}, "pong-"},
		"streamed": {turn{0, true, 1}, "pong-"},
		"models":   {turn{0, false, 0}, "['stub']"},
		"stranger": {turn{1, false, 0}, "HTTP 401"},
		"lost":     {turn{1, false, 0}, "HTTP 404"},
		"leaky":    {turn{1, false, 0}, "the key is ***"},
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			hermes := filepath.Join(t.TempDir(), how)
			if err := os.WriteFile(hermes, []byte(fakeHermes), 0o700); err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), python, "-I", "-", hermes, hermes+"-home")
			cmd.Stdin = strings.NewReader(AgentTurn)
			said, err := cmd.Output()
			if err != nil {
				t.Fatal(err)
			}
			var got struct {
				turn
				Output string
			}
			if err := json.Unmarshal(said, &got); err != nil {
				t.Fatalf("%v: %s", err, said)
			}
			if diff := cmp.Diff(want.turn, got.turn); diff != "" || !strings.Contains(got.Output, want.output) {
				t.Errorf("%s said %q, wanted %q in it; (-want +got):\n%s", how, got.Output, want.output, diff)
			}
		})
	}
}
