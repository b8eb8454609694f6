package localcube_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hermesbox/hermesbox/internal/dockertest"
	"github.com/hermesbox/hermesbox/internal/localcube"
)

const replayer = "../../scripts/standin/envd/testdata/replay.py"

// verdicts is what replay.py prints.
type verdicts struct {
	Same      []string            `json:"same"`
	Different []difference        `json:"different"`
	NotTried  map[string][]string `json:"not_tried"`
}

type difference struct {
	Name string `json:"name"`
	Path string `json:"path"`
	Want any    `json:"want"`
	Got  any    `json:"got"`
}

// TestReplayAuth sends what was recorded of a CubeAPI with authentication to one that demands a key.
func TestReplayAuth(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("python3"); err != nil {
		dockertest.Missing(t, "python", err)
	}
	opts := localcube.Options{StateDir: tempDir(t), Key: "k1"}
	st := serve(t, opts)
	stage, front := newStage(t, st, opts, st.APIURL, nil)
	const auth = "api.auth."
	files, used := []string{"testdata/cubeapi.jsonl"}, map[onPurpose]bool{}
	names := slices.DeleteFunc(recorded(t, 161, files...), func(name string) bool { return !strings.HasPrefix(name, auth) })
	judge(t, replay(t, front, stage, append([]string{"--only", auth + "*"}, files...)), names, withKey(), used)
	for _, rule := range withKey() {
		if !used[rule] {
			t.Errorf("listed as different, but is the same: %s (%s)", rule.names, rule.reason)
		}
	}
}

// TestReplay sends what was recorded of a real CubeMaster and CubeAPI to the
// local Cube. What it answers differently is in differences_test.go, by reason.
func TestReplay(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes minutes")
	}
	if _, err := exec.LookPath("python3"); err != nil {
		dockertest.Missing(t, "python", err)
	}
	engine := dockertest.Default(t)
	run := []string{`ENTRYPOINT ["/entry.sh"]`, `CMD ["/bin/server","--port","9000"]`, "WORKDIR /srv", "ENV APP=demo", "ENV PATH=/usr/bin:/bin"}
	importApp(t, engine, "registry.example/team/app:1", run...)
	importApp(t, engine, "registry.example/team/app:slow", run...)
	importApp(t, engine, "registry.example/team/nocmd:1")
	used := map[onPurpose]bool{}
	cubeapi := []string{"testdata/cubeapi-to-cubemaster.jsonl", "testdata/cubeapi.jsonl"}
	apiURL := func(st localcube.Status) string { return st.APIURL }
	for _, part := range []struct {
		name  string
		files []string
		url   func(localcube.Status) string
		lines int
		kept  []string // faults that are on all the time
		rules []onPurpose
	}{
		{"cubemaster", []string{"testdata/cubemaster.jsonl"}, func(st localcube.Status) string { return st.MasterAddr }, 279, asRecorded(), differences()},
		{"cubeapi", cubeapi, apiURL, 314, asRecorded(), differences()},
		{"cubeapi as of 0.7", cubeapi, apiURL, 314, []string{givenID}, append(differences(), sinceThen()...)},
	} {
		t.Run(part.name, func(t *testing.T) {
			opts := localcube.Options{
				Docker: engine.Client, StateDir: tempDir(t), SharedRoot: t.TempDir(), Domain: "cube.app", NodeID: "node-a", Pace: 300 * time.Millisecond,
			}
			for _, dir := range []string{"h", "s"} {
				if err := os.Mkdir(opts.SharedRoot+"/"+dir, 0o755); err != nil {
					t.Fatal(err)
				}
			}
			st := serve(t, opts)
			stage, front := newStage(t, st, opts, part.url(st), part.kept)
			judge(t, replay(t, front, stage, part.files), recorded(t, part.lines, part.files...), part.rules, used)
		})
	}
	for _, rule := range append(differences(), sinceThen()...) {
		if !used[rule] {
			t.Errorf("listed as different, but is the same: %s (%s)", rule.names, rule.reason)
		}
	}
}

func replay(t *testing.T, front, stage *httptest.Server, files []string) verdicts {
	t.Helper()
	args := append([]string{
		replayer, "--json", "--skip", "cm.sandbox.delete.node-error", "--skip", "api.delete.not-normal",
		"--restart", "curl -fsS " + stage.URL + "/$REPLAY_STATE",
	}, files...)
	cmd := exec.CommandContext(t.Context(), "python3", append(args, front.URL)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	var v verdicts
	if jerr := json.Unmarshal(out, &v); jerr != nil {
		t.Fatalf("replaying: %v, %v\n%s", err, jerr, stderr.String())
	}
	return v
}

// judge compares verdicts with what differs on purpose, and notes which rules were used.
func judge(t *testing.T, v verdicts, names []string, rules []onPurpose, used map[onPurpose]bool) {
	t.Helper()
	judged := map[string]bool{}
	for _, name := range v.Same {
		judged[name] = true
	}
	complain := func(name, path, what string) {
		judged[name] = true
		for _, rule := range rules {
			if rule.matches(name, path) {
				used[rule] = true
				return
			}
		}
		t.Errorf("%s: %s: %s", name, path, what)
	}
	for _, d := range v.Different {
		complain(d.Name, d.Path, fmt.Sprintf("want %v got %v", d.Want, d.Got))
	}
	for why, list := range v.NotTried {
		for _, name := range list {
			complain(name, "not tried", why)
		}
	}
	for _, name := range names {
		if !judged[name] {
			complain(name, "not sent", "skipped")
		}
	}
}

// recorded gives the names of all lines.
func recorded(t *testing.T, want int, files ...string) []string {
	t.Helper()
	var names []string
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(data) {
			var exchange struct{ Name string }
			if err := json.Unmarshal(line, &exchange); err != nil {
				t.Fatal(err)
			}
			names = append(names, exchange.Name)
		}
	}
	if len(names) != want {
		t.Fatalf("%d recorded exchanges, want %d", len(names), want)
	}
	return names
}
