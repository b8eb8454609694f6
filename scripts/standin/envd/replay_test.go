package main

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/docker/docker/api/types/container"

	"github.com/hermesbox/hermesbox/internal/dockertest"
)

// onPurpose names the recorded exchanges that are answered otherwise, and why. It is empty: nothing is.
var onPurpose = map[string]string{}

// replayRun is one replay against one server of its own.
type replayRun struct {
	name    string
	version string
	server  string   // how the server is started
	only    []string // patterns; none: all but the ones below
}

var replayRuns = []replayRun{
	{name: "all", version: newest, server: "/replay/envd"},
	{name: "all of 0.5.13", version: oldest, server: "/replay/envd -protocol 0.5.13"},
	{name: "may not change owners", version: newest, server: "setpriv --bounding-set=-chown /replay/envd", only: []string{"nochown.*"}},
	{name: "keepalive", version: newest, server: "/replay/envd", only: []string{"process.output.keepalive-default"}},
	{name: "retention", version: newest, server: "/replay/envd", only: []string{"process.connect.retention.*"}},
}

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

// TestReplay sends every recorded exchange to the stand-in, where the recording was made: Debian 12, as
// root, in containers of the stand-in base image. All runs go on at once; the longest takes 92 s.
func TestReplay(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes 100 s")
	}
	engine := dockertest.Default(t)
	engine.NeedBase(t)
	luggage := pack(t)
	containers := make([]*dockertest.Container, len(replayRuns))
	for i, run := range replayRuns {
		containers[i] = run.begin(t, engine, luggage)
	}
	judged := map[string][]difference{}
	for i, run := range replayRuns {
		t.Run(run.name, func(t *testing.T) {
			v := collect(t, containers[i])
			if again := v.unlisted(onPurpose); len(again) > 0 {
				t.Logf("tried again: %q", again)
				run.start(t, containers[i], again)
				v = v.corrected(collect(t, containers[i]))
			}
			maps.Copy(judged, v.byName(run.version))
		})
	}
	for _, problem := range tally(recordedNames(t), judged, onPurpose) {
		t.Error(problem)
	}
}

// begin starts replay.py in a container of its own.
func (run replayRun) begin(t *testing.T, engine dockertest.Engine, luggage []byte) *dockertest.Container {
	t.Helper()
	c := engine.Start(t,
		container.Config{Image: dockertest.BaseImage, Hostname: "sandbox"},
		container.HostConfig{CapAdd: []string{"SYS_ADMIN"}, SecurityOpt: []string{"apparmor=unconfined"}})
	if err := engine.Client.CopyToContainer(t.Context(), c.ID, "/", bytes.NewReader(luggage), container.CopyToContainerOptions{}); err != nil {
		t.Fatalf("copying to the container: %v", err)
	}
	run.start(t, c, run.only)
	return c
}

// start starts replay.py, for these exchanges only where there are any.
func (run replayRun) start(t *testing.T, c *dockertest.Container, only []string) {
	t.Helper()
	script := fmt.Sprintf("(python3 replay.py --json --version %s --exec sh --restart './restart.sh 49984 %s'", run.version, run.server)
	for _, pattern := range only {
		script += " --only '" + pattern + "'"
	}
	script += " envd.jsonl steps.jsonl http://127.0.0.1:49984 >out 2>err; echo $? >code) >/dev/null 2>&1 </dev/null &"
	// The recording was made where root's home is closed to others, as Debian makes it.
	if got := c.Exec(t, "sh", "-c", "chmod 700 /root && cd /replay && rm -f code && "+script); got.Code != 0 {
		t.Fatalf("starting replay.py: %+v", got)
	}
}

// unlisted gives the names of what differs without being listed. Some exchanges
// have less than a second, which a busy machine may need for itself.
func (v verdicts) unlisted(listed map[string]string) []string {
	var names []string
	for _, d := range v.Different {
		if listed[d.Name] == "" && !slices.Contains(names, d.Name) {
			names = append(names, d.Name)
		}
	}
	return names
}

// corrected has a second verdict on some names in place of the first.
func (v verdicts) corrected(second verdicts) verdicts {
	again := slices.Concat(second.Same, second.unlisted(nil))
	v.Same = slices.Concat(slices.DeleteFunc(v.Same, func(name string) bool { return slices.Contains(again, name) }), second.Same)
	v.Different = slices.Concat(slices.DeleteFunc(v.Different, func(d difference) bool { return slices.Contains(again, d.Name) }), second.Different)
	return v
}

// collect waits for the end of a run.
func collect(t *testing.T, c *dockertest.Container) verdicts {
	t.Helper()
	got := c.Exec(t, "sh", "-c", "cd /replay; while [ ! -s code ]; do sleep 0.2; done; cat out")
	var v verdicts
	if err := json.Unmarshal([]byte(got.Stdout), &v); err != nil {
		log := c.Exec(t, "sh", "-c", "cat /replay/code /replay/err /tmp/envd-*.log").Stdout
		t.Fatalf("reading what replay.py printed: %v\n%s\n%s", err, got.Stdout, log)
	}
	return v
}

// byName gives the differences of each line that was judged, none for one that is the same. Lines that
// exist for both versions are judged by a run of the newer one, and must not differ in the older.
func (v verdicts) byName(version string) map[string][]difference {
	judged := map[string][]difference{}
	for _, d := range v.Different {
		judged[d.Name] = append(judged[d.Name], d)
	}
	for _, name := range v.Same {
		if version == newest || strings.HasSuffix(name, "@"+version) {
			judged[name] = nil
		}
	}
	return judged
}

// tally says what is wrong: a line that nobody judged, one that differs and is not on the list, one on
// the list that does not differ.
func tally(names []string, judged map[string][]difference, listed map[string]string) []string {
	var problems []string
	same, differ := 0, 0
	for _, name := range names {
		differences, ok := judged[name]
		switch {
		case !ok:
			problems = append(problems, name+": not judged")
		case len(differences) == 0:
			same++
			if listed[name] != "" {
				problems = append(problems, name+": listed as different, but is the same")
			}
		case listed[name] == "":
			for _, d := range differences {
				problems = append(problems, fmt.Sprintf("%s: %s: want %v got %v", name, d.Path, d.Want, d.Got))
			}
		default:
			differ++
		}
	}
	for name := range listed {
		if !slices.Contains(names, name) {
			problems = append(problems, name+": listed, but not recorded")
		}
	}
	if len(problems) == 0 && same+differ != len(names) {
		problems = append(problems, fmt.Sprintf("%d same and %d listed are not the %d recorded", same, differ, len(names)))
	}
	return problems
}

// recordedNames gives the names of all recorded lines.
func recordedNames(t *testing.T) []string {
	t.Helper()
	data, err := os.ReadFile("testdata/envd.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for line := range bytes.Lines(data) {
		var exchange struct{ Name string }
		if err := json.Unmarshal(line, &exchange); err != nil {
			t.Fatal(err)
		}
		names = append(names, exchange.Name)
	}
	if len(names) != 426 {
		t.Fatalf("%d recorded exchanges, want 426", len(names))
	}
	return names
}

// pack makes a tar of what a replay needs, the server freshly built.
func pack(t *testing.T) []byte {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "envd")
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", binary, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building envd: %v\n%s", err, out)
	}
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for _, path := range []string{binary, "testdata/replay.py", "testdata/restart.sh", "testdata/envd.jsonl", "testdata/steps.jsonl"} {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.WriteHeader(&tar.Header{Name: "replay/" + filepath.Base(path), Mode: 0o755, Size: int64(len(data))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(data); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func TestCorrected(t *testing.T) {
	t.Parallel()
	first := verdicts{Same: []string{"a", "b"}, Different: []difference{{Name: "c", Path: "x"}, {Name: "c", Path: "y"}, {Name: "d"}, {Name: "e"}}}
	if got := first.unlisted(map[string]string{"d": "why"}); !slices.Equal(got, []string{"c", "e"}) {
		t.Errorf("unlisted: %q", got)
	}
	// b was tried again since it is of the group of c.
	got := first.corrected(verdicts{Same: []string{"c"}, Different: []difference{{Name: "b"}, {Name: "e", Path: "z"}}})
	want := []difference{{Name: "d"}, {Name: "b"}, {Name: "e", Path: "z"}}
	if !slices.Equal(got.Same, []string{"a", "c"}) || !slices.Equal(got.Different, want) {
		t.Errorf("corrected: %+v", got)
	}
}

func TestTally(t *testing.T) {
	t.Parallel()
	differs := []difference{{Name: "b", Path: "status", Want: 200, Got: 404}}
	for _, test := range []struct {
		name   string
		judged map[string][]difference
		listed map[string]string
		want   []string
	}{
		{name: "all same", judged: map[string][]difference{"a": nil, "b": nil}},
		{name: "listed", judged: map[string][]difference{"a": nil, "b": differs}, listed: map[string]string{"b": "why"}},
		{name: "unlisted", judged: map[string][]difference{"a": nil, "b": differs}, want: []string{"b: status: want 200 got 404"}},
		{
			name: "no longer different", judged: map[string][]difference{"a": nil, "b": nil}, listed: map[string]string{"b": "why"},
			want: []string{"b: listed as different, but is the same"},
		},
		{name: "not judged", judged: map[string][]difference{"b": nil}, want: []string{"a: not judged"}},
		{
			name: "not recorded", judged: map[string][]difference{"a": nil, "b": nil}, listed: map[string]string{"c": "why"},
			want: []string{"c: listed, but not recorded"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := tally([]string{"a", "b"}, test.judged, test.listed); !slices.Equal(got, test.want) {
				t.Errorf("tally: %q, want %q", got, test.want)
			}
		})
	}
}
