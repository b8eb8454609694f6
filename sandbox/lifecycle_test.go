package sandbox_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hermesbox/hermesbox/internal/cube"
	"github.com/hermesbox/hermesbox/internal/dockertest"
	"github.com/hermesbox/hermesbox/internal/node"
	"github.com/hermesbox/hermesbox/sandbox"
)

// TestLostAndBusy: Cube forgets the metadata at a pause, and later can neither
// resume nor stop the sandbox. The record still knows it; a rebuild goes on with
// its name, its files and what was chosen for it.
func TestLostAndBusy(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	spec := s.spec("alice", "team")
	spec.Timeout, spec.Chosen.Timeout = time.Hour, "1h0m0s"
	made := s.create(spec)
	s.sh(made.Sandbox, "echo kept >/root/.hermes/marker; echo kept >/workspace/marker")
	s.fault("lose-metadata")
	for _, want := range []bool{true, false} {
		if changed, err := s.client.Pause(t.Context(), made.Sandbox); err != nil || changed != want {
			t.Fatalf("pause: %v, %v", changed, err)
		}
	}
	found, err := s.client.Find(t.Context(), "alice")
	if err != nil || found.ID != made.ID || found.Home != "alice" || found.Workspace != "team" || found.State != "paused" || found.Generation != made.Generation || found.Chosen != spec.Chosen {
		t.Fatalf("after the metadata was lost: %+v, %v", found, err)
	}
	shown, err := s.client.Show(t.Context(), found)
	if err != nil || len(shown.Mounts) != 3 {
		t.Errorf("show: %+v, %v", shown, err)
	}
	s.fault("resume-busy")
	if _, err := s.client.Resume(t.Context(), found, time.Minute); !errors.Is(err, cube.ErrBusy) || !sandbox.Unstoppable(err) {
		t.Fatalf("resume: %v", err)
	}
	if err := s.client.Stop(t.Context(), found); !sandbox.Unstoppable(err) {
		t.Fatalf("stop: %v", err)
	}
	anew, err := s.client.Rebuild(t.Context(), found, s.spec("", ""))
	if err != nil {
		t.Fatalf("rebuild: %v\n%s", err, strings.Join(s.steps, "\n"))
	}
	if !s.heard("it is left over") {
		t.Errorf("not said that it is left over: %q", s.said)
	}
	if got := s.sh(anew.Sandbox, "cat /root/.hermes/marker /workspace/marker"); got != "kept\nkept\n" {
		t.Errorf("read back %q", got)
	}
	all, err := s.client.List(t.Context())
	if err != nil || len(all) != 2 || all[0].ID != anew.ID || all[0].Chosen != spec.Chosen || all[0].Superseded || !all[1].Superseded || all[1].Name != "alice" {
		t.Errorf("list: %+v, %v", all, err)
	}
	if now, err := s.client.Cube.GetSandbox(t.Context(), anew.ID); err != nil || time.Until(now.EndAt.Time) < 45*time.Minute {
		t.Errorf("its idle window ends at %v, %v", now.EndAt, err)
	}
	s.fault()
	for _, one := range all {
		if err := s.client.Stop(t.Context(), one); err != nil {
			t.Error(err)
		}
	}
	if left := slices.Sorted(slices.Values(s.records())); len(left) != 0 {
		t.Errorf("records stay: %q", left)
	}
}

// records are the names of what the node keeps of sandboxes.
func (s *stage) records() []string {
	var out strings.Builder
	if _, err := s.client.Nodes[0].Run(s.Context(), node.Script{Text: "ls -A /data/shared/hermes-homes/.hermesbox/sandboxes", Stdout: &out}); err != nil {
		s.Fatal(err)
	}
	return strings.Fields(out.String())
}

// TestPauseResume: what is so already is left so.
func TestPauseResume(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	spec := s.spec("alice", "team")
	spec.NoWebUI = true
	made := s.create(spec)
	s.fault("async-pause")
	if changed, err := s.client.Pause(t.Context(), made.Sandbox); err != nil || !changed {
		t.Fatalf("pause: %v, %v", changed, err)
	}
	if now, err := s.client.Find(t.Context(), made.ID); err != nil || now.State != "paused" {
		t.Errorf("after a pause that takes its time: %+v, %v", now, err)
	}
	for _, want := range []bool{true, false} {
		if changed, err := s.client.Resume(t.Context(), made.Sandbox, time.Minute); err != nil || changed != want {
			t.Fatalf("resume: %v, %v", changed, err)
		}
	}
	if err := s.client.Cube.PauseSandbox(t.Context(), made.ID); err != nil {
		t.Fatal(err)
	}
	pausing, err := s.client.Find(t.Context(), made.ID)
	if err != nil || pausing.State != cube.Pausing {
		t.Fatalf("while it is being paused: %+v, %v", pausing, err)
	}
	if changed, err := s.client.Resume(t.Context(), pausing, time.Minute); err != nil || !changed {
		t.Errorf("resume of one that is being paused: %v, %v", changed, err)
	}
	s.fault("resume-rejected")
	if _, err := s.client.Pause(t.Context(), made.Sandbox); err != nil {
		t.Fatal(err)
	}
	if _, err := s.client.Resume(t.Context(), made.Sandbox, time.Minute); !errors.Is(err, cube.ErrConflict) || sandbox.Unstoppable(err) {
		t.Errorf("a resume that the node rejects: %v", err)
	}
}

// TestHeld: a home or a name that another has is refused before anything is made.
func TestHeld(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	spec := s.spec("alice", "team")
	spec.NoWebUI = true
	first := s.create(spec)
	second := spec
	second.Name, second.Workspace = "other", "own"
	var held *sandbox.HeldError
	if made, err := s.client.Create(t.Context(), second); !errors.As(err, &held) || held.What != "home" || held.Holder.ID != first.ID || made.ID != "" {
		t.Errorf("the same home: %+v, %v", made, err)
	}
	named := s.spec("bob", "own")
	named.Name = "alice"
	if _, err := s.client.Create(t.Context(), named); !errors.As(err, &held) || held.What != "name" {
		t.Errorf("the same name: %v", err)
	}
	if _, err := s.client.Pause(t.Context(), first.Sandbox); err != nil {
		t.Fatal(err)
	}
	if _, err := s.client.Create(t.Context(), second); !errors.As(err, &held) {
		t.Errorf("the home of a paused one: %v", err)
	}
	second.ShareHome = true
	shared := s.create(second)
	again, err := s.client.Rebuild(t.Context(), shared.Sandbox, spec)
	if err != nil || again.Name != "other" || again.ID == shared.ID {
		t.Errorf("rebuilding one that shares: %+v, %v", again.Sandbox, err)
	}
}

// TestRace: of two creates at once with one home, at most one stays.
func TestRace(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	var wait sync.WaitGroup
	errs := make([]error, 3)
	for i := range errs {
		wait.Go(func() {
			spec := s.spec("alice", "team-"+strconv.Itoa(i))
			spec.Name, spec.NoWebUI = "racer-"+strconv.Itoa(i), true
			_, errs[i] = s.client.Create(t.Context(), spec)
		})
	}
	wait.Wait()
	won := 0
	for _, err := range errs {
		var held *sandbox.HeldError
		switch {
		case err == nil:
			won++
		case !errors.As(err, &held):
			t.Errorf("lost with %v", err)
		}
	}
	all, err := s.client.List(t.Context())
	if err != nil || won != 1 || len(all) != 1 {
		t.Errorf("%d won, there are %+v, %v", won, all, err)
	}
}

// TestAnswerLost: a sandbox whose create got no answer is found and used.
func TestAnswerLost(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	to, err := url.Parse(s.status.APIURL)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(to)
	cut := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		if r.Method != http.MethodPost || !strings.Contains(string(body), "hermesbox.generation") {
			proxy.ServeHTTP(w, r)
			return
		}
		proxy.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	}))
	defer cut.Close()
	link, err := cube.New(cube.Options{APIURL: cut.URL, MasterAddr: s.status.MasterAddr})
	if err != nil {
		t.Fatal(err)
	}
	defer link.Close()
	latest := s.client.Latest
	s.client = s.newClient(link, dockertest.Default(t))
	s.client.Latest = latest
	spec := s.spec("alice", "team")
	spec.NoWebUI = true
	made := s.create(spec)
	all, err := s.client.List(t.Context())
	if err != nil || len(all) != 1 || all[0].ID != made.ID || !s.heard("gave no answer") {
		t.Errorf("made %s, there are %+v, %v", made.ID, all, err)
	}
	if err := s.client.Stop(t.Context(), made.Sandbox); err != nil {
		t.Fatal(err)
	}
	wantOrphanTold(t, s, spec)
}

// wantOrphanTold interrupts a create whose sandbox is made and whose answer is
// lost: the sandbox is named all the same, and its record is there.
func wantOrphanTold(t *testing.T, s *stage, spec sandbox.Spec) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		for ctx.Err() == nil {
			if all, err := s.client.Cube.ListSandboxes(ctx, map[string]string{"hermesbox.name": "alice"}); err == nil && len(all) > 0 {
				cancel()
			}
			time.Sleep(10 * time.Millisecond)
		}
	}()
	made, err := s.client.Create(ctx, spec)
	var step *sandbox.StepError
	if !errors.As(err, &step) || step.ID == "" || made.ID != step.ID {
		t.Fatalf("made %q: %v", made.ID, err)
	}
	if records := s.records(); len(records) != 1 || records[0] != made.ID+".json" {
		t.Errorf("records: %q", records)
	}
}

const killVar = "HERMESBOX_TEST_KILL_STEP"

// TestKilled: a create that is killed after any of its steps loses nothing, and
// another run goes on.
func TestKilled(t *testing.T) {
	t.Parallel()
	if os.Getenv(killVar) != "" {
		killedCreate(t)
		return
	}
	if testing.Short() {
		t.Skip("makes twenty sandboxes")
	}
	s := newStage(t)
	for step := 1; step < sandbox.Steps; step++ {
		home := "home-" + strconv.Itoa(step)
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestKilled$")
		cmd.Env = append(os.Environ(), killVar+"="+strconv.Itoa(step), "HERMESBOX_TEST_KILL_HOME="+home,
			"HERMESBOX_TEST_KILL_TEMPLATE="+s.client.Latest.ID, "HERMESBOX_TEST_KILL_SHARED="+s.opts.SharedRoot, "HERMESBOX_TEST_KILL_IMAGE="+s.image)
		for _, v := range s.status.Variables() {
			cmd.Env = append(cmd.Env, v[0]+"="+v[1])
		}
		if out, err := cmd.CombinedOutput(); cmd.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
			t.Fatalf("step %d: %v\n%s", step, err, out)
		}
		s.goOn(step, home)
	}
}

// goOn does what a user does after a create was killed.
func (s *stage) goOn(step int, home string) {
	s.Helper()
	made, err := s.client.Create(s.Context(), s.spec(home, home))
	var held *sandbox.HeldError
	if errors.As(err, &held) {
		if step < 4 {
			s.Errorf("step %d: %v", step, err)
		}
		s.sh(held.Holder, "echo kept >/root/.hermes/marker")
		made, err = s.client.Rebuild(s.Context(), held.Holder, s.spec("", ""))
	} else if step >= 4 {
		s.Errorf("step %d: the sandbox of the killed run was not seen: %v", step, err)
	}
	if err != nil {
		s.Fatalf("step %d: going on: %v", step, err)
	}
	if step >= 4 && s.sh(made.Sandbox, "cat /root/.hermes/marker") != "kept\n" {
		s.Errorf("step %d: the marker is lost", step)
	}
	all, err := s.client.List(s.Context())
	if err != nil || len(all) != 1 {
		s.Errorf("step %d: there are %+v, %v", step, all, err)
	}
	if err := s.client.Stop(s.Context(), made.Sandbox); err != nil {
		s.Error(err)
	}
}

// killedCreate is the process that is killed.
func killedCreate(t *testing.T) {
	t.Helper()
	last, err := strconv.Atoi(os.Getenv(killVar))
	if err != nil {
		t.Fatal(err)
	}
	link, err := cube.New(cube.Options{APIURL: os.Getenv("CUBE_API_URL"), MasterAddr: os.Getenv("CUBE_MASTER_ADDR")})
	if err != nil {
		t.Fatal(err)
	}
	s := &stage{T: t, image: os.Getenv("HERMESBOX_TEST_KILL_IMAGE")}
	s.opts.SharedRoot = os.Getenv("HERMESBOX_TEST_KILL_SHARED")
	s.status.Proxy.IP, s.status.Proxy.Scheme, s.status.Domain = os.Getenv("CUBE_PROXY_NODE_IP"), os.Getenv("CUBE_PROXY_SCHEME"), os.Getenv("CUBE_SANDBOX_DOMAIN")
	if s.status.Proxy.Port, err = strconv.Atoi(os.Getenv("CUBE_PROXY_PORT_HTTP")); err != nil {
		t.Fatal(err)
	}
	s.client = s.newClient(link, dockertest.Default(t))
	s.client.Latest.ID = os.Getenv("HERMESBOX_TEST_KILL_TEMPLATE")
	s.client.Progress = func(step sandbox.Step) {
		if step.Number == last {
			syscall.Kill(os.Getpid(), syscall.SIGKILL) //nolint:errcheck // then the test sees that it lives
			select {}
		}
	}
	home := os.Getenv("HERMESBOX_TEST_KILL_HOME")
	_, err = s.client.Create(context.WithoutCancel(t.Context()), s.spec(home, home))
	t.Fatalf("it was not killed: %v", err)
}
