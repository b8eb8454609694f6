package cmd_test

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/google/go-cmp/cmp"

	"github.com/hermesbox/hermesbox/internal/dockertest"
)

// homeTest is a local Cube of its own, with a template of an image that has a home.
type homeTest struct {
	*testing.T
	engine dockertest.Engine
	dir    string
	status struct {
		APIURL     string `json:"api_url"`
		SharedRoot string `json:"shared_root"`
	}
	template string
}

func newHomeTest(t *testing.T, ref string) *homeTest {
	t.Helper()
	h := &homeTest{T: t, engine: dockertest.Default(t), dir: t.TempDir()}
	h.engine.NeedBase(t)
	c := h.engine.Start(t, container.Config{Image: dockertest.BaseImage}, container.HostConfig{})
	made := c.Exec(t, "sh", "-euc", `mkdir -p /root/.hermes/skills/one /root/.hermes/sessions; cd /root/.hermes
echo 'model: {default: x}' >config.yaml; echo kind >SOUL.md; echo one >skills/one/SKILL.md; echo canary-0123456789 >.env; echo x >sessions/x; echo `+ref+` >ref`)
	if made.Code != 0 {
		t.Fatal(made.Stderr)
	}
	if _, err := h.engine.Client.ContainerCommit(t.Context(), c.ID, container.CommitOptions{Reference: ref}); err != nil {
		t.Fatal(err)
	}
	h.engine.RemoveImage(t, ref)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 2*time.Minute)
		defer cancel()
		if got := run(t, prepare(ctx, t, h.dir, h.engine, "local", "down")); got.code != 0 {
			t.Errorf("local down: %s", got.stderr)
		}
	})
	h.template = h.must("template", "create", "--image", ref)
	if err := json.Unmarshal([]byte(h.must("local", "status", "--output", "json")), &h.status); err != nil {
		t.Fatal(err)
	}
	return h
}

func (h *homeTest) args(args []string) []string { return append([]string{"--cube", "local"}, args...) }

func (h *homeTest) must(args ...string) string {
	h.Helper()
	return must(h.T, h.dir, h.engine, h.args(args)...)
}

// fails runs a command that must end with a code and say the words.
func (h *homeTest) fails(code int, words string, args ...string) {
	h.Helper()
	got := run(h.T, prepare(h.Context(), h.T, h.dir, h.engine, h.args(args)...))
	if got.code != code || !strings.Contains(got.stderr, words) || got.stdout != "" {
		h.Errorf("%q: exit code %d, want %d and %q\n%s%s", args, got.code, code, words, got.stdout, tail(got.stderr))
	}
}

func (h *homeTest) path(name string) string {
	return filepath.Join(h.status.SharedRoot, "hermes-homes", name)
}

func (h *homeTest) write(name, text string) {
	h.Helper()
	if err := os.MkdirAll(filepath.Dir(h.path(name)), 0o755); err != nil {
		h.Fatal(err)
	}
	if err := os.WriteFile(h.path(name), []byte(text), 0o600); err != nil {
		h.Fatal(err)
	}
}

// tree is all that is in a home, as a text to compare.
func (h *homeTest) tree(home string) string {
	h.Helper()
	return shell(h.T, "sh", "-euc", `cd "$1"; find . -printf '%y %m %U:%G %T@ %l %p\n' | sort -k6; find . -type f -exec sha256sum {} + | sort`, "sh", h.path(home))
}

// sandboxes are the ids of all that Cube has.
func (h *homeTest) sandboxes() string {
	h.Helper()
	return h.must("sandbox", "ls", "--output", "json")
}

// TestHomes goes through the home commands against the local Cube.
func TestHomes(t *testing.T) {
	t.Parallel()
	h := newHomeTest(t, "hermesbox-test/homes:latest")
	if got := h.must("home", "ls", "--output", "json"); got != "[]" {
		t.Errorf("homes before: %s", got)
	}
	h.fails(1, "there is no home alice", "home", "show", "alice")

	var both sync.WaitGroup
	for range 5 {
		both.Go(func() {
			if got := h.must("home", "seed", "alice"); got != "alice" {
				t.Errorf("seed printed %q", got)
			}
		})
	}
	both.Wait()
	if diff := cmp.Diff(h.tree("default"), h.tree("alice")); diff != "" || !strings.Contains(h.tree("alice"), "./skills/one/SKILL.md") {
		t.Errorf("the home is not as the default home:\n%s", diff)
	}
	if text := shell(t, "sh", "-c", `grep -r canary "$1"; ls "$1"`, "sh", h.path("alice")); strings.Contains(text, "canary") || strings.Contains(text, "sessions") {
		t.Errorf("the home has %s", text)
	}
	if got := h.sandboxes(); got != "[]" {
		t.Errorf("sandboxes are left: %s", got)
	}
	h.looks()
	h.refreshes()
	h.adopts()
}

func (h *homeTest) looks() {
	h.Helper()
	var rows []struct {
		ID, State, Node string
		Sandboxes       []string
	}
	if err := json.Unmarshal([]byte(h.must("home", "ls", "--output", "json")), &rows); err != nil {
		h.Fatal(err)
	}
	if len(rows) != 2 || rows[0].ID != "alice" || rows[0].State != "initialised" || rows[0].Node != "local" || rows[0].Sandboxes == nil || rows[1].ID != "default" {
		h.Errorf("home ls: %+v", rows)
	}
	if got := h.must("home", "ls"); !strings.HasPrefix(got, "ID ") || !strings.Contains(got, "\nalice    initialised  local  20") {
		h.Errorf("home ls:\n%s", got)
	}
	h.write("alice/config.yaml", "a: [\n")
	if got := h.must("home", "show", "alice"); !strings.Contains(got, "/data/shared/hermes-homes/alice") || !strings.Contains(got, "config.yaml is broken") {
		h.Errorf("home show:\n%s", got)
	}
}

// refreshes: the default home is replaced where that was asked for and confirmed; seeded homes stay.
func (h *homeTest) refreshes() {
	h.Helper()
	before := h.tree("alice")
	h.write("default/mark", "old")
	if got := h.must("home", "seed", "--from-template", "--output", "json"); !strings.Contains(got, `"did": "kept"`) {
		h.Errorf("seed --from-template: %s", got)
	}
	h.fails(2, "needs --yes", "home", "seed", "--from-template", "--refresh")
	if _, err := os.Stat(h.path("default/mark")); err != nil {
		h.Errorf("replaced without a yes: %v", err)
	}
	if got := h.must("home", "seed", "--from-template", "--refresh", "--yes"); got != "default" {
		h.Errorf("printed %q", got)
	}
	if _, err := os.Stat(h.path("default/mark")); !os.IsNotExist(err) {
		h.Errorf("not replaced: %v", err)
	}
	if diff := cmp.Diff(before, h.tree("alice")); diff != "" {
		h.Errorf("a seeded home changed:\n%s", diff)
	}
	h.fails(1, `looking for template "tpl-none"`, "home", "seed", "--from-template", "--template", "tpl-none")
}

// adopts: a directory with entries is adopted only when asked for, and while no sandbox has it.
func (h *homeTest) adopts() {
	h.Helper()
	h.write("bob/SOUL.md", "mine")
	h.fails(1, `"SOUL.md"`, "home", "seed", "bob")
	h.fails(1, "hint: hermesbox --cube local home seed --adopt bob", "home", "seed", "bob")
	body := `{"templateID":"` + h.template + `","timeout":600,"metadata":{"hermesbox.name":"bobs","hermesbox.home":"bob","hermesbox.workspace":"bob","hermesbox.generation":"1"}}`
	resp, err := http.Post(h.status.APIURL+"/sandboxes", "application/json", strings.NewReader(body))
	if err != nil {
		h.Fatal(err)
	}
	resp.Body.Close()
	h.fails(1, "home bob is held by sandbox bobs", "home", "seed", "--adopt", "bob")
	if got := h.must("home", "ls"); !strings.Contains(got, "bobs") {
		h.Errorf("home ls names no holder:\n%s", got)
	}
	h.must("sandbox", "stop", "bobs")
	h.must("home", "seed", "--adopt", "bob")
	text, err := os.ReadFile(h.path("bob/SOUL.md"))
	if err != nil || string(text) != "mine" {
		h.Errorf("what was there is now %q, %v", text, err)
	}
	if got := h.must("home", "seed", "bob", "--output", "json"); !strings.Contains(got, `"did": "kept"`) {
		h.Errorf("seed again: %s", got)
	}
}

// TestHomeSeedKilled kills hermesbox at all times of making a default home and a home: the next run ends well, and no
// seed sandbox is left.
func TestHomeSeedKilled(t *testing.T) {
	t.Parallel()
	h := newHomeTest(t, "hermesbox-test/homes-killed:latest")
	for after := 200 * time.Millisecond; after < 3*time.Second; after += 350 * time.Millisecond {
		cmd := prepare(t.Context(), t, h.dir, h.engine, h.args([]string{"home", "seed", "--from-template", "--refresh", "--yes", "carol"})...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(after)
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()
	}
	h.interrupted()
	h.must("home", "seed", "--from-template", "--refresh", "--yes", "dora")
	if got := h.sandboxes(); got != "[]" {
		t.Errorf("sandboxes are left: %s", got)
	}
	h.must("home", "seed", "carol")
	for _, home := range []string{"carol", "dora"} {
		if got := h.must("home", "show", home); !strings.Contains(got, "initialised") {
			t.Errorf("home show:\n%s", got)
		}
	}
	h.bare(".hermesbox/stage")
}

// interrupted: Ctrl-C while the seed sandbox is made ends in 130 with nothing left at once.
func (h *homeTest) interrupted() {
	h.Helper()
	cmd := prepare(h.Context(), h.T, h.dir, h.engine, h.args([]string{"home", "seed", "--from-template", "--refresh", "--yes"})...)
	stderr := &triggerWriter{trigger: "making a default home", fire: func() {
		time.AfterFunc(300*time.Millisecond, func() { _ = cmd.Process.Signal(os.Interrupt) }) // it may have ended
	}}
	cmd.Stderr = stderr
	_ = cmd.Run() // the code says it
	if code := cmd.ProcessState.ExitCode(); code != 130 {
		h.Errorf("exit code %d\n%s", code, stderr.text.String())
	}
	if got := h.sandboxes(); got != "[]" {
		h.Errorf("sandboxes are left: %s", got)
	}
	h.bare(".hermesbox/stage")
}

// bare wants a directory with nothing in it.
func (h *homeTest) bare(name string) {
	h.Helper()
	if left := shell(h.T, "ls", "-A", h.path(name)); strings.TrimSpace(left) != "" {
		h.Errorf("in %s there is still %s", name, left)
	}
}
