package cmd_test

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hermesbox/hermesbox/internal/dockertest"
)

// wholeTest is a source whose image has a stand-in for the Web UI, and a local
// Cube of its own.
type wholeTest struct {
	*upTest
	env []string
}

// newWhole makes a source of a stand-in of package sandbox.
func newWhole(t *testing.T, tag, studio string) *wholeTest {
	t.Helper()
	dir, err := os.MkdirTemp("", "hermesbox-up-") //nolint:usetesting // root writes there, whom the user cannot clean up after
	if err != nil {
		t.Fatal(err)
	}
	u := &wholeTest{upTest: &upTest{T: t, engine: dockertest.Default(t), dir: dir}}
	u.engine.NeedBase(t)
	u.engine.RemoveImage(t, tag)
	u.flags = []string{"-f", "source/Dockerfile", "-t", tag, "source"}
	u.copyStudio(filepath.Join("..", "sandbox", studio, "*"))
	u.write("kind", tag+"\n")
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
		defer cancel()
		if got := run(t, prepare(ctx, t, dir, u.engine, "local", "down")); got.code != 0 {
			t.Errorf("local down: %s", got.stderr)
		}
		os.RemoveAll(dir) //nolint:errcheck // what root wrote there may stay
	})
	return u
}

// copyStudio makes a source of the files of a stand-in, and one more.
func (u *wholeTest) copyStudio(pattern string) {
	u.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		u.Fatalf("%s: %q, %v", pattern, files, err)
	}
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			u.Fatal(err)
		}
		if filepath.Base(path) == "Dockerfile" {
			text = append(text, "COPY kind /root/.hermes/SOUL.md\n"...)
		}
		u.write(filepath.Base(path), string(text))
		if strings.HasPrefix(string(text), "#!") {
			if err := os.Chmod(filepath.Join(u.dir, "source", filepath.Base(path)), 0o755); err != nil {
				u.Fatal(err)
			}
		}
	}
}

// do runs up or plan and wants its exit code and actions.
func (u *wholeTest) do(code int, actions string, command string, more ...string) (passage, ran) {
	u.Helper()
	args := append(append([]string{"--cube", "local", "--output", "json", command}, more...), u.flags...)
	cmd := prepare(u.Context(), u.T, u.dir, u.engine, args...)
	cmd.Env = append(cmd.Env, u.env...)
	got := run(u.T, cmd)
	if got.code != code {
		u.Fatalf("%q: exit code %d, want %d\n%s%s", args, got.code, code, got.stdout, tail(got.stderr))
	}
	var out passage
	if err := json.Unmarshal([]byte(got.stdout), &out); err != nil {
		u.Fatalf("%v: %s", err, got.stdout)
	}
	var did []string
	for _, s := range out.Stages {
		did = append(did, s.Stage+" "+s.Action)
	}
	if diff := cmp.Diff(actions, strings.Join(did, ", ")); diff != "" {
		u.Errorf("%q:\n%s%s", args, diff, tail(got.stderr))
	}
	return out, got
}

// clean wants nothing but the default home on the node, and no sandbox.
func (u *wholeTest) clean() {
	u.Helper()
	if all := must(u.T, u.dir, u.engine, "--cube", "local", "sandbox", "ls", "--output", "json"); all != "[]" {
		u.Errorf("sandboxes are left: %s", all)
	}
	if homes := must(u.T, u.dir, u.engine, "--cube", "local", "home", "ls", "--output", "json"); strings.Count(homes, `"id"`) != 1 {
		u.Errorf("homes are left: %s", homes)
	}
}

const wholeIdle = "nodes none, context read, image none, template none, home none, smoke none, verify none"

// TestUpWhole takes a source to a template that is tried out, and does again
// only what changed or failed.
func TestUpWhole(t *testing.T) {
	t.Parallel()
	u := newWhole(t, "hermesbox-test/up-whole:latest", "verify/testdata/studio")
	u.do(0, "nodes check, context read, image build, template register, home make, smoke run, verify run", "plan")
	first, _ := u.do(0, "context read, image build, template register, nodes prepare, home make, smoke run, verify run", "up")
	if first.Status != "done" || !strings.HasPrefix(first.Template, "tpl-") || !strings.HasPrefix(first.Image, "sha256:") {
		t.Errorf("got %+v", first)
	}
	u.clean()
	u.do(0, wholeIdle, "plan")
	if second, said := u.do(0, wholeIdle, "up"); second.Template != first.Template || second.Report != first.Report || !strings.Contains(said.stderr, "nothing was done") {
		t.Errorf("again: %+v\n%s", second, said.stderr)
	}
	u.do(0, strings.TrimSuffix(wholeIdle, ", verify none"), "up", "--until", "smoke")
	u.without(first.Report)
	u.edited(first)
}

// without a green report, up tries out what is there; a touch changes nothing.
func (u *wholeTest) without(report string) {
	u.Helper()
	now := time.Now().Add(time.Hour)
	if err := os.Chtimes(filepath.Join(u.dir, "source", "kind"), now, now); err != nil {
		u.Fatal(err)
	}
	u.do(0, wholeIdle, "up")
	path := filepath.Join(u.dir, report)
	text, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(text), `"status": "pass"`) {
		u.Errorf("the report: %v\n%s", err, text)
	}
	for _, bad := range []string{"", "{}", strings.ReplaceAll(string(text), `"pass"`, `"fail"`), strings.Replace(string(text), "tpl-", "tpl-0", 1)} {
		if err := os.WriteFile(path, []byte(bad), 0o644); err != nil {
			u.Fatal(err)
		}
		u.do(0, "nodes check, context read, image none, template none, home none, smoke run, verify run", "plan")
	}
	u.do(0, "nodes check, context read, image none, template none, home none, smoke run, verify run", "up")
}

// edited: after an edit all is made anew, and the previous template stays.
func (u *wholeTest) edited(first passage) {
	u.Helper()
	u.write("kind", "another\n")
	second, _ := u.do(0, "context read, image build, template register, nodes check, home refresh, smoke run, verify run", "up")
	if list := u.template("ls", "--output", "json"); !strings.Contains(list, first.Template) || !strings.Contains(list, second.Template) || first.Template == second.Template {
		u.Errorf("templates after an edit:\n%s", list)
	}
	must(u.T, u.dir, u.engine, "--cube", "local", "home", "seed", "alice")
	if got := u.onNode("cat /data/shared/hermes-homes/alice/SOUL.md"); got != "another\n" {
		u.Errorf("the default home has %q", got)
	}
	u.onNode("echo mine >/data/shared/hermes-homes/default/SOUL.md; rm -r /data/shared/hermes-homes/alice")
	u.write("kind", "third\n")
	_, said := u.do(0, "context read, image build, template register, nodes check, home none, smoke run, verify run", "up")
	if got := u.onNode("cat /data/shared/hermes-homes/default/SOUL.md"); got != "mine\n" || !strings.Contains(said.stderr, "was changed by hand: it is kept") {
		u.Errorf("a default home that somebody changed has %q:\n%s", got, tail(said.stderr))
	}
	u.clean()
}

// onNode runs a shell line where the shared root is seen as on a node.
func (u *wholeTest) onNode(line string) string {
	u.Helper()
	var status struct {
		SharedRoot string `json:"shared_root"`
	}
	if err := json.Unmarshal([]byte(must(u.T, u.dir, u.engine, "local", "status", "--output", "json")), &status); err != nil {
		u.Fatal(err)
	}
	return shell(u.T, "docker", "-H", u.engine.Host, "run", "--rm", "--entrypoint", "sh", "-v", status.SharedRoot+":/data/shared", dockertest.BaseImage, "-ec", line)
}

// TestUpRed: a template that verify finds wrong fails up. The smoke sandbox
// stays, and the next run goes on with that template.
func TestUpRed(t *testing.T) {
	t.Parallel()
	u := newWhole(t, "hermesbox-test/up-red:latest", "testdata/studio") // no Hermes Agent is in it
	summary := filepath.Join(u.dir, "summary.md")
	u.env = []string{"GITHUB_STEP_SUMMARY=" + summary}
	first, said := u.do(3, "context read, image build, template register, nodes prepare, home make, smoke run, verify fail", "up")
	if first.Status != "failed" || first.Report != "" || first.Template == "" {
		t.Errorf("got %+v", first)
	}
	for _, words := range []string{"fail  agent-import", "stays to be looked at: hermesbox --cube local verify smoke-", "it goes on here"} {
		if !strings.Contains(said.stderr, words) {
			t.Errorf("nothing says %q:\n%s", words, tail(said.stderr))
		}
	}
	text, err := os.ReadFile(summary)
	if err != nil || !strings.Contains(string(text), "### hermesbox up: failed") || !strings.Contains(string(text), "| template | register | <code>"+first.Template+"</code> |") {
		t.Errorf("the summary: %v\n%s", err, text)
	}
	box := u.smokeBoxes()
	if len(box) != 1 {
		t.Fatalf("sandboxes: %q", box)
	}
	must(t, u.dir, u.engine, "--cube", "local", "sandbox", "exec", box[0], "--", "true")
	second, _ := u.do(3, "nodes check, context read, image none, template none, home none, smoke run, verify fail", "up")
	if second.Template != first.Template || len(u.smokeBoxes()) != 2 {
		t.Errorf("again: %+v, sandboxes %q", second, u.smokeBoxes())
	}
	must(t, u.dir, u.engine, append([]string{"--cube", "local", "sandbox", "stop"}, u.smokeBoxes()...)...)
}

// smokeBoxes are the names of the smoke sandboxes that are there.
func (u *wholeTest) smokeBoxes() []string {
	u.Helper()
	var all []struct{ Name string }
	if err := json.Unmarshal([]byte(must(u.T, u.dir, u.engine, "--cube", "local", "sandbox", "ls", "--output", "json")), &all); err != nil {
		u.Fatal(err)
	}
	var names []string
	for _, one := range all {
		if strings.HasPrefix(one.Name, "smoke-") {
			names = append(names, one.Name)
		}
	}
	return names
}

// TestUpSmokeFails: an image without a Web UI is told what up can do with it,
// and its sandbox stays.
func TestUpSmokeFails(t *testing.T) {
	t.Parallel()
	u := newWhole(t, "hermesbox-test/up-smoke-fails:latest", "testdata/studio")
	u.write("Dockerfile", "FROM "+dockertest.BaseImage+"\nCOPY config.yaml kind /root/.hermes/\n")
	_, said := u.do(1, "context read, image build, template register, nodes prepare, home make, smoke fail", "up")
	if !strings.Contains(said.stderr, "or stop before it with --until home") || len(u.smokeBoxes()) != 1 {
		t.Errorf("sandboxes %q\n%s", u.smokeBoxes(), tail(said.stderr))
	}
	u.do(0, "nodes none, context read, image none, template none, home none", "up", "--until", "home")
	must(t, u.dir, u.engine, append([]string{"--cube", "local", "sandbox", "stop"}, u.smokeBoxes()...)...)
}

// TestUpInterrupted: of a run that is interrupted while the template is tried
// out nothing stays, and the next run goes on there.
func TestUpInterrupted(t *testing.T) {
	t.Parallel()
	u := newWhole(t, "hermesbox-test/up-interrupted:latest", "testdata/studio")
	for _, until := range []string{"step 4/10", "making sandbox verify-"} {
		cmd := prepare(t.Context(), t, u.dir, u.engine, append([]string{"--cube", "local", "up"}, u.flags...)...)
		stderr, err := cmd.StderrPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		sent := false
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			if !sent && strings.Contains(lines.Text(), until) {
				sent = true
				if err := cmd.Process.Signal(os.Interrupt); err != nil {
					t.Error(err)
				}
			}
		}
		if err := cmd.Wait(); !sent || cmd.ProcessState.ExitCode() != 130 {
			t.Errorf("interrupted at %q (%t): %v", until, sent, err)
		}
		u.clean()
	}
	u.do(0, "nodes check, context read, image none, template none, home none, smoke run", "plan", "--until", "smoke")
}
