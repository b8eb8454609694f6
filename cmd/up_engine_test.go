package cmd_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hermesbox/hermesbox/internal/check"
	"github.com/hermesbox/hermesbox/internal/dockertest"
)

// passage is what up and plan print as JSON.
type passage struct {
	Status, Context, Image, Template, Report string
	Verified                                 bool
	FailedChecks                             []check.Check `json:"failed_checks"`
	Stages                                   []struct{ Stage, Action, Reason, Result string }
}

// upTest is a small source and a local Cube of its own.
type upTest struct {
	*testing.T
	engine dockertest.Engine
	dir    string
	flags  []string
}

// newUp makes a source whose image is one static program. The local Cube that
// up starts is ended with the test.
func newUp(t *testing.T, tag string) *upTest {
	t.Helper()
	u := &upTest{T: t, engine: dockertest.Default(t), dir: t.TempDir()}
	u.engine.RemoveImage(t, tag)
	u.flags = []string{"-f", "source/Dockerfile", "-t", tag, "--until", "template", "source"} // the program is no Web UI
	u.write("Dockerfile", "FROM scratch\nCOPY app data /\nENTRYPOINT [\"/app\"]\n")
	u.write("data", tag) // an image that no other test has, since each removes its own
	build := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(u.dir, "source", "app"), "./testdata/app")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building the program: %v\n%s", err, out)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
		defer cancel()
		if got := run(t, prepare(ctx, t, u.dir, u.engine, "local", "down")); got.code != 0 {
			t.Errorf("local down: %s", got.stderr)
		}
	})
	return u
}

func (u *upTest) write(name, content string) {
	u.Helper()
	path := filepath.Join(u.dir, "source", name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		u.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		u.Fatal(err)
	}
}

// up runs a command with the source, and more flags, and wants its exit code.
func (u *upTest) run(code int, command string, more ...string) ran {
	u.Helper()
	args := append([]string{"--cube", "local", command}, append(more, u.flags...)...)
	got := run(u.T, prepare(u.Context(), u.T, u.dir, u.engine, args...))
	if got.code != code {
		u.Fatalf("%q: exit code %d, want %d\n%s%s", args, got.code, code, got.stdout, tail(got.stderr))
	}
	return got
}

// actions are what plan says, stage by stage.
func (u *upTest) actions(more ...string) map[string]string {
	u.Helper()
	var plan passage
	if err := json.Unmarshal([]byte(u.run(0, "plan", append(more, "--output", "json")...).stdout), &plan); err != nil {
		u.Fatal(err)
	}
	out := map[string]string{}
	for _, s := range plan.Stages {
		out[s.Stage] = s.Action
	}
	return out
}

func (u *upTest) template(args ...string) string {
	u.Helper()
	return must(u.T, u.dir, u.engine, append([]string{"--cube", "local", "template"}, args...)...)
}

func (u *upTest) want(got map[string]string, image, template string) {
	u.Helper()
	if diff := cmp.Diff(map[string]string{"context": "read", "image": image, "template": template}, got); diff != "" {
		u.Error(diff)
	}
}

// TestUp takes a source to a template on the local Cube, and does again only what changed.
func TestUp(t *testing.T) {
	t.Parallel()
	u := newUp(t, "hermesbox-test/up:latest")
	u.want(u.actions(), "build", "register")
	first := u.run(0, "up")
	id := strings.TrimSpace(first.stdout)
	if !strings.HasPrefix(id, "tpl-") || !strings.Contains(first.stderr, "started the local Cube in the background") {
		t.Fatalf("printed %q\n%s", first.stdout, tail(first.stderr))
	}
	u.want(u.actions(), "none", "none")
	again := u.run(0, "up")
	if strings.TrimSpace(again.stdout) != id || !strings.Contains(again.stderr, "nothing changed, nothing was done") {
		t.Errorf("again: %q\n%s", again.stdout, again.stderr)
	}
	u.sandbox(id, "mine")
	u.want(u.actions("--allow-out-cidr", "10.10.0.0/16"), "none", "register")
	opened := u.run(0, "up", "--allow-out-cidr", "10.10.0.0/16")
	for _, words := range []string{"has another outbound policy", "1 sandbox runs the previous one", "hermesbox --cube local sandbox rebuild mine"} {
		if !strings.Contains(opened.stderr, words) {
			t.Errorf("nothing says %q:\n%s", words, opened.stderr)
		}
	}
	if show := u.template("show", strings.TrimSpace(opened.stdout)); !strings.Contains(show, "10.10.0.0/16 is open (fixed: a sandbox cannot take it back)") {
		t.Errorf("template show:\n%s", show)
	}
	u.write("data", "two")
	u.want(u.actions(), "build", "register")
	if changed := strings.TrimSpace(u.run(0, "up").stdout); changed == id {
		t.Error("another image has the same template")
	}
	u.keepOne(id)
	u.want(u.actions("--no-cache"), "build", "register")
	if got := u.run(0, "up", "--no-cache"); !strings.Contains(got.stderr, "--no-cache was given") {
		t.Errorf("with --no-cache:\n%s", got.stderr)
	}
}

// keepOne deletes all templates but the newest, and that in use stays.
func (u *upTest) keepOne(used string) {
	u.Helper()
	got := run(u.T, prepare(u.Context(), u.T, u.dir, u.engine, "--cube", "local", "template", "delete", "--keep", "1", "--yes"))
	if got.code != 5 || !strings.Contains(got.stderr, "deleting template "+used) || !strings.Contains(got.stderr, "still in use") {
		u.Errorf("delete --keep 1: exit code %d\n%s", got.code, got.stderr)
	}
	if list := u.template("ls", "--output", "json"); strings.Count(list, `"READY"`) != 2 || !strings.Contains(list, used) {
		u.Errorf("after delete --keep 1:\n%s", list)
	}
}

// sandbox makes one with CubeAPI itself.
func (u *upTest) sandbox(template, name string) {
	u.Helper()
	var status struct {
		APIURL string `json:"api_url"`
	}
	if err := json.Unmarshal([]byte(must(u.T, u.dir, u.engine, "local", "status", "--output", "json")), &status); err != nil {
		u.Fatal(err)
	}
	body := `{"templateID":"` + template + `","timeout":600,"metadata":{"hermesbox.name":"` + name + `"}}`
	resp, err := http.Post(status.APIURL+"/sandboxes", "application/json", strings.NewReader(body))
	if err != nil {
		u.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusCreated {
		said, _ := io.ReadAll(resp.Body)
		u.Fatalf("creating a sandbox: %s: %s", resp.Status, said)
	}
}

// TestUpTwiceAtOnce: two runs on one machine end with one template.
func TestUpTwiceAtOnce(t *testing.T) {
	t.Parallel()
	u := newUp(t, "hermesbox-test/up-twice:latest")
	var printed [2]string
	var both sync.WaitGroup
	for i := range printed {
		both.Go(func() {
			got := run(t, prepare(t.Context(), t, u.dir, u.engine, append([]string{"--cube", "local", "up"}, u.flags...)...))
			if got.code != 0 {
				t.Errorf("exit code %d: %s", got.code, tail(got.stderr))
			}
			printed[i] = got.stdout
		})
	}
	both.Wait()
	if printed[0] != printed[1] || printed[0] == "" {
		t.Errorf("printed %q", printed)
	}
	if list := u.template("ls", "--output", "json"); strings.Count(list, `"id"`) != 1 {
		t.Errorf("templates:\n%s", list)
	}
}

// TestUpFails: a job that fails is told with phase, cause and hint, and the
// next run needs no cleaning.
func TestUpFails(t *testing.T) {
	t.Parallel()
	u := newUp(t, "hermesbox-test/up-fails:latest")
	failed := u.run(1, "up", "--cmd", "/no-such-program")
	for _, words := range []string{"failed in phase CREATING_TEMPLATE", "hint:", "the next try needs no cleaning first"} {
		if !strings.Contains(failed.stderr, words) {
			t.Errorf("nothing says %q:\n%s", words, failed.stderr)
		}
	}
	u.run(0, "up")
	u.template("delete", "--failed", "--yes")
	if list := u.template("ls", "--output", "json"); strings.Count(list, `"id"`) != 1 || strings.Contains(list, "FAILED") {
		t.Errorf("after delete --failed:\n%s", list)
	}
	detached := u.template("create", "--detach", "--image", "hermesbox-test/up-fails", "--cpu", "1000")
	if watched := u.template("watch", detached); watched != detached {
		t.Errorf("watch printed %q for %q", watched, detached)
	}
	// Without --image it is what build tagged as image.name.
	u.write("../hermesbox.yaml", "image: {name: hermesbox-test/up-fails}\n")
	if again := u.template("create", "--cpu", "1000"); again != detached {
		t.Errorf("create printed %q, the template is %q", again, detached)
	}
}
