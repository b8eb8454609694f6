package localcube_test

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/network"

	"github.com/hermesbox/hermesbox/internal/dockertest"
	"github.com/hermesbox/hermesbox/internal/localcube"
	"github.com/hermesbox/hermesbox/internal/localcube/cluster"
	"github.com/hermesbox/hermesbox/internal/localcube/egress"
)

// TestKilled kills the server with -9 in the middle of things: the next one lists
// the truth and leaks nothing, and down leaves nothing behind.
func TestKilled(t *testing.T) {
	t.Parallel()
	engine := dockertest.Default(t)
	engine.NeedBase(t)
	opts := background(t, engine)
	exe := opts.Exe
	st := ensure(t, opts)
	instance := instanceOf(t, opts.StateDir)
	helper, orphaned := unfinishedHelper(t, engine), time.Now().Add(11*time.Second)
	tpl := template(t, st)
	kept := create(t, st, tpl)
	for _, step := range []struct {
		name  string
		after time.Duration
		do    func()
	}{
		{"create", 400 * time.Millisecond, func() { post(st.APIURL+"/sandboxes", `{"templateID":"`+tpl+`"}`) }},
		{"create, later", 900 * time.Millisecond, func() { post(st.APIURL+"/sandboxes", `{"templateID":"`+tpl+`"}`) }},
		{"pause", 10 * time.Millisecond, func() { post(st.APIURL+"/sandboxes/"+kept+"/pause", "") }},
		{"template", 300 * time.Millisecond, func() {
			post(st.APIURL+"/templates", `{"image":"`+dockertest.BaseImage+`","exposedPorts":[49983],"probePort":49983}`)
		}},
	} {
		go step.do() // its answer dies with the server
		time.Sleep(step.after)
		kill(t, st.PID)
		st = ensure(t, opts)
		agree(t, engine, st, instance, step.name)
	}
	if egress.Supported() == nil {
		if made := tablesOf(t, netnsOf(t, engine), instance); len(made) < 2 { // or nothing left would prove nothing
			t.Errorf("tables before down: %q, want a sandbox's and the guard's", made)
		}
	}
	kill(t, st.PID)
	if err := os.Remove(filepath.Join(opts.StateDir, "state.json")); err != nil { // down finds all without it
		t.Fatal(err)
	}
	time.Sleep(time.Until(orphaned)) // before, it might be about to be started
	down := exec.CommandContext(t.Context(), exe, "local", "down", "--state-dir", opts.StateDir)
	if out, err := down.CombinedOutput(); err != nil {
		t.Fatalf("local down: %v\n%s", err, out)
	}
	nothingLeft(t, engine, instance)
	if _, err := engine.Client.ContainerInspect(t.Context(), helper); !errdefs.IsNotFound(err) {
		t.Errorf("a helper that a killed process left, after down: %v", err)
	}
	if _, err := os.Stat(filepath.Join(opts.StateDir, "state.json")); !os.IsNotExist(err) {
		t.Errorf("the state file after down: %v", err)
	}
}

// unfinishedHelper is what a process leaves that is killed while it starts a helper.
func unfinishedHelper(t *testing.T, engine dockertest.Engine) string {
	t.Helper()
	made, err := engine.Client.ContainerCreate(t.Context(),
		&container.Config{Image: dockertest.BaseImage, Labels: cluster.HelperLabels()}, nil, nil, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	return made.ID
}

// background says how to start hermesbox itself, and takes down what was started when the test ends.
func background(t *testing.T, engine dockertest.Engine) localcube.EnsureOptions {
	t.Helper()
	opts := localcube.EnsureOptions{
		StateDir: tempDir(t), Exe: program(t).hermesbox, Args: []string{"--shared-root", t.TempDir(), "--api", "127.0.0.1:0", "--master", "127.0.0.1:0", "--proxy", "127.0.0.1:0"},
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 2*time.Minute)
		defer cancel()
		if err := localcube.Down(ctx, localcube.Options{Docker: engine.Client, StateDir: opts.StateDir, SharedRoot: t.TempDir()}); err != nil {
			t.Errorf("taking the local Cube down: %v", err)
		}
	})
	return opts
}

// TestEnsureTogether starts one server, however many ask for it at once.
func TestEnsureTogether(t *testing.T) {
	t.Parallel()
	opts := background(t, dockertest.Default(t))
	pids, begun := make([]int, 4), make([]bool, 4)
	var all sync.WaitGroup
	for i := range pids {
		all.Go(func() {
			st, started, err := localcube.Ensure(t.Context(), opts)
			if err != nil {
				t.Error(err)
			}
			pids[i], begun[i] = st.PID, started
		})
	}
	all.Wait()
	starters := 0
	for i, pid := range pids {
		if pid != pids[0] || pid == 0 {
			t.Errorf("processes %v", pids)
		}
		if begun[i] {
			starters++
		}
	}
	if starters != 1 {
		t.Errorf("%d say that they started it", starters)
	}
}

// TestEnsureFails passes on that the server did not start, and where its words are.
func TestEnsureFails(t *testing.T) {
	t.Parallel()
	opts := background(t, dockertest.Default(t))
	opts.Args = []string{"--shared-root", "relative"}
	_, started, err := localcube.Ensure(t.Context(), opts)
	if err == nil || started || !strings.Contains(err.Error(), "serve.log") {
		t.Errorf("Ensure: started %v, %v, want an error that names serve.log", started, err)
	}
}

func ensure(t *testing.T, opts localcube.EnsureOptions) localcube.Status {
	t.Helper()
	st, started, err := localcube.Ensure(t.Context(), opts)
	if err != nil {
		log, _ := os.ReadFile(filepath.Join(opts.StateDir, "serve.log"))
		t.Fatalf("ensuring a local Cube: %v\n%s", err, log)
	}
	if !started {
		t.Error("a server that was not there was not started")
	}
	again, started, err := localcube.Ensure(t.Context(), opts)
	if err != nil || started || again.PID != st.PID {
		t.Errorf("ensuring once more: %+v, started %v, %v", again, started, err)
	}
	return st
}

func kill(t *testing.T, pid int) {
	t.Helper()
	process, err := os.FindProcess(pid)
	if err == nil {
		err = process.Kill()
	}
	if err != nil {
		t.Fatalf("killing the server: %v", err)
	}
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		state, err := os.ReadFile("/proc/" + itoa(pid) + "/stat")
		if err != nil || strings.Contains(string(state), ") Z ") {
			return
		}
	}
	t.Fatal("the server outlives SIGKILL")
}

func instanceOf(t *testing.T, stateDir string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(stateDir, "state.json"))
	if err != nil {
		t.Fatal(err)
	}
	var state struct{ Instance string }
	if err := json.Unmarshal(text, &state); err != nil {
		t.Fatal(err)
	}
	return state.Instance
}

func containers(t *testing.T, engine dockertest.Engine, instance string) []container.Summary {
	t.Helper()
	list, err := engine.Client.ContainerList(t.Context(), container.ListOptions{
		All: true, Filters: filters.NewArgs(filters.Arg("label", "hermesbox.local.instance="+instance)),
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// agree wants the list of sandboxes to be the Engine's containers, with their states.
func agree(t *testing.T, engine dockertest.Engine, st localcube.Status, instance, when string) {
	t.Helper()
	resp, err := http.Get(st.APIURL + "/sandboxes")
	if err != nil {
		t.Fatal(err)
	}
	var listed []struct{ SandboxID, State string }
	decode(t, resp, &listed)
	var got, want []string
	for _, b := range listed {
		got = append(got, b.SandboxID+" "+b.State)
	}
	for _, c := range containers(t, engine, instance) {
		want = append(want, c.Labels["hermesbox.local.id"]+" "+c.State)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("after a kill during %s: listed %q, the Engine has %q", when, got, want)
	}
	if st.EgressEnforced {
		rules := rulesOf(t, engine, instance)
		if len(rules) != len(want) {
			t.Errorf("after a kill during %s: rules %q for %d sandboxes", when, rules, len(want))
		}
	}
}

// rulesOf are the sandboxes of a local Cube that have rules.
func rulesOf(t *testing.T, engine dockertest.Engine, instance string) []string {
	t.Helper()
	all, err := egress.List(t.Context(), netnsOf(t, engine))
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(all, func(name string) bool { return !strings.HasPrefix(name, instance[:8]+"-") })
}

func netnsOf(t *testing.T, engine dockertest.Engine) string {
	t.Helper()
	path, err := egress.EngineNetNS(t.Context(), strings.TrimPrefix(engine.Host, "unix://"))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func nothingLeft(t *testing.T, engine dockertest.Engine, instance string) {
	t.Helper()
	if left := containers(t, engine, instance); len(left) > 0 {
		t.Errorf("containers left: %v", left)
	}
	networks, err := engine.Client.NetworkList(t.Context(), network.ListOptions{
		Filters: filters.NewArgs(filters.Arg("label", "hermesbox.local.instance="+instance)),
	})
	if err != nil || len(networks) > 0 {
		t.Errorf("networks left: %v, %v", networks, err)
	}
	if names := held(t, engine, instance); len(names) > 0 {
		t.Errorf("names of images left: %q", names)
	}
	if egress.Supported() == nil {
		nothingInKernel(t, netnsOf(t, engine), instance)
	}
}
