package cmd_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hermesbox/hermesbox/internal/check"
	"github.com/hermesbox/hermesbox/internal/dockertest"
)

// wholeTest is a source whose image has a stand-in for the Web UI, and a local
// Cube of its own.
type wholeTest struct {
	*upTest
	cube []string // the flag that names the Cube
	env  []string
}

// newWhole makes a source of a stand-in of package sandbox.
func newWhole(t *testing.T, tag, studio string) *wholeTest {
	t.Helper()
	dir, err := os.MkdirTemp("", "hermesbox-up-") //nolint:usetesting // root writes there, whom the user cannot clean up after
	if err != nil {
		t.Fatal(err)
	}
	u := &wholeTest{upTest: &upTest{T: t, engine: dockertest.Default(t), dir: dir}, cube: []string{"--cube", "local"}}
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

// do runs up or plan and wants its exit code and actions. What up does without
// a failure, plan has to have said before.
func (u *wholeTest) do(code int, actions string, command string, more ...string) (passage, ran) {
	u.Helper()
	var plan passage
	if command == "up" && code == 0 {
		plan, _ = u.start("plan", more...)
	}
	out, got := u.start(command, more...)
	if got.code != code {
		u.Fatalf("%s %q: exit code %d, want %d\n%s%s", command, more, got.code, code, got.stdout, tail(got.stderr))
	}
	if diff := cmp.Diff(actions, out.actions()); diff != "" {
		u.Errorf("%s %q:\n%s%s", command, more, diff, tail(got.stderr))
	}
	if plan.Stages != nil {
		if diff := cmp.Diff(plan.actions(), actionsAsPlanned(plan, out)); diff != "" {
			u.Errorf("plan said (-), up %q did (+):\n%s", more, diff)
		}
	}
	return out, got
}

// start runs a command that prints a passage.
func (u *wholeTest) start(command string, more ...string) (out passage, got ran) {
	u.Helper()
	got = run(u.T, u.prepare(command, more...))
	if err := json.Unmarshal([]byte(got.stdout), &out); err != nil {
		u.Fatalf("%s %q: exit code %d, %v: %s\n%s", command, more, got.code, err, got.stdout, tail(got.stderr))
	}
	return out, got
}

func (u *wholeTest) prepare(command string, more ...string) *exec.Cmd {
	u.Helper()
	args := append(append(u.cube[:len(u.cube):len(u.cube)], "--output", "json", "--progress", "plain", command), more...)
	cmd := prepare(u.Context(), u.T, u.dir, u.engine, append(args, u.flags...)...)
	cmd.Env = append(cmd.Env, u.env...)
	return cmd
}

// actions are the stages and what was done, or is to be.
func (p passage) actions() string {
	var did []string
	for _, s := range p.Stages {
		did = append(did, s.Stage+" "+s.Action)
	}
	return strings.Join(did, ", ")
}

// actionsAsPlanned are what up did, in the words of a plan that cannot know
// which directories are missing, nor, where it says so, what there is.
func actionsAsPlanned(plan, did passage) string {
	text := strings.Replace(did.actions(), "nodes prepare", "nodes check", 1)
	for _, s := range plan.Stages {
		if s.Stage == "home" && strings.Contains(s.Reason, "cannot be looked at yet") {
			text = strings.NewReplacer("home refresh", "home make", "home none", "home make").Replace(text)
		}
	}
	return text
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
	first, _ := u.do(0, "context read, image build, template register, nodes prepare, home make, smoke run, verify run", "up")
	if first.Status != "done" || !first.Verified || !strings.HasPrefix(first.Template, "tpl-") || !strings.HasPrefix(first.Image, "sha256:") {
		t.Errorf("got %+v", first)
	}
	u.clean()
	u.do(0, wholeIdle, "plan")
	if second, said := u.do(0, wholeIdle, "up"); second.Template != first.Template || second.Report != first.Report || !strings.Contains(said.stderr, "nothing was done") {
		t.Errorf("again: %+v\n%s", second, said.stderr)
	}
	if until, _ := u.do(0, strings.TrimSuffix(wholeIdle, ", verify none"), "up", "--until", "smoke"); until.Verified {
		t.Errorf("until smoke: %+v", until)
	}
	for stage, want := range map[string]string{"image": first.Image, "template": first.Template, "home": first.Template, "context": first.Context} {
		if got := must(t, u.dir, u.engine, append([]string{"--cube", "local", "up", "--until", stage}, u.flags...)...); got != want {
			t.Errorf("until %s it printed %q, want %q", stage, got, want)
		}
	}
	u.settings()
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
	for _, bad := range []string{"", "{}", strings.ReplaceAll(string(text), `"pass"`, `"fail"`), strings.Replace(string(text), "tpl-", "tpl-0", 1), strings.Replace(string(text), `"hermesbox": "`, `"hermesbox": "0`, 1)} {
		if err := os.WriteFile(path, []byte(bad), 0o644); err != nil {
			u.Fatal(err)
		}
		u.do(0, "nodes check, context read, image none, template none, home none, smoke run, verify run", "plan")
	}
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() {
			if got := run(u.T, u.prepare("up")); got.code != 0 || !strings.Contains(got.stdout, `"verified": true`) {
				u.Errorf("two at once: exit code %d, %s\n%s", got.code, got.stdout, tail(got.stderr))
			}
		})
	}
	both.Wait()
	u.clean()
	u.do(0, wholeIdle, "up")
}

// settings: which stages run again after a change of hermesbox.yaml.
func (u *wholeTest) settings() {
	u.Helper()
	const again, anew = "nodes check, context read, image none, template none, home none, smoke run, verify run", "nodes check, context read, image none, template register, home none, smoke run, verify run"
	for text, want := range map[string]string{
		"skills: {source: source}":                         wholeIdle,
		"sandbox: {timeout: 20m, home: alice}":             wholeIdle,
		"cube: {proxy: {ip: 10.0.0.1}}":                    wholeIdle, // of a cluster
		"nodes: [{name: one, ssh: root@10.0.0.5}]":         wholeIdle, // likewise
		"sandbox: {model_endpoints: [http://10.0.0.1]}":    again,
		"template: {egress: {allow: [10.0.0.1/32]}}":       anew,
		"template: {memory: 2048}":                         anew,
		"shared_root: /data/shared/team":                   "nodes check, context read, image none, template none, home make, smoke run, verify run",
		"image: {build_args: {A: b}}":                      "context read, image build, template register, nodes check, home refresh, smoke run, verify run",
		"context: {exclude: [README.md]}":                  "context read, image build, template register, nodes check, home refresh, smoke run, verify run",
		"template: {name: other}":                          anew,
		"image: {base: \"hermesbox-test/no-such-base:1\"}": wholeIdle, // the Dockerfile has no base
	} {
		u.write("../hermesbox.yaml", text+"\n")
		if plan, got := u.start("plan"); got.code != 0 || plan.actions() != want {
			u.Errorf("%s: exit code %d, %s\nwant %s\n%s", text, got.code, plan.actions(), want, tail(got.stderr))
		}
	}
	if err := os.Remove(filepath.Join(u.dir, "hermesbox.yaml")); err != nil {
		u.Fatal(err)
	}
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
	if first.Status != "failed" || first.Report != "" || first.Template == "" || first.Verified || len(first.FailedChecks) < 2 || first.FailedChecks[0].Status != check.Fail {
		t.Errorf("got %+v", first)
	}
	for _, words := range []string{"fail  agent-import", "stays to be looked at: hermesbox --cube local verify smoke-", "it goes on here"} {
		if !strings.Contains(said.stderr, words) {
			t.Errorf("nothing says %q:\n%s", words, tail(said.stderr))
		}
	}
	text, err := os.ReadFile(summary)
	if err != nil || !strings.Contains(string(text), "### hermesbox up: failed") || !strings.Contains(string(text), "| template | register | <code>"+first.Template+"</code> |") || !strings.Contains(string(text), "\n| <code>agent-import</code> | ") {
		t.Errorf("the summary: %v\n%s", err, text)
	}
	box := u.smokeBoxes()
	if len(box) != 1 {
		t.Fatalf("sandboxes: %q", box)
	}
	must(t, u.dir, u.engine, "--cube", "local", "sandbox", "exec", box[0], "--", "true")
	if got := u.template("create", "--image", "hermesbox-test/up-red:latest", "--cpu", "1000", "--name", "hermes-studio"); got == first.Template {
		t.Errorf("another template is the first")
	}
	if got := run(t, prepare(t.Context(), t, u.dir, u.engine, "--cube", "local", "sandbox", "rebuild", "--outdated")); got.code != 0 || !strings.Contains(got.stderr, "no sandbox is outdated") {
		t.Errorf("rebuild --outdated: exit code %d\n%s", got.code, got.stderr)
	}
	second, _ := u.do(3, "nodes check, context read, image none, template none, home none, smoke run, verify fail", "up")
	if second.Template != first.Template || len(u.smokeBoxes()) != 2 {
		t.Errorf("again: %+v, sandboxes %q", second, u.smokeBoxes())
	}
	u.left(box[0])
}

// left: the next run that goes well removes what the failed ones left, and
// nothing else.
func (u *wholeTest) left(id string) {
	u.Helper()
	must(u.T, u.dir, u.engine, "--cube", "local", "sandbox", "stop", id)
	must(u.T, u.dir, u.engine, "--cube", "local", "home", "seed", "alice")
	other, foreign := "../.hermesbox/smoke/smoke-"+strings.Repeat("a", 16), "../.hermesbox/smoke/alice"
	u.write(other, `{"cube":"10.0.0.1:8089 ","shared_root":"/data/shared"}`)
	u.write(foreign, `{"cube":"local","shared_root":"/data/shared"}`)
	_, said := u.do(0, "nodes check, context read, image none, template none, home none, smoke run", "up", "--until", "smoke")
	if !strings.Contains(said.stderr, "removed what earlier runs left: ") || !strings.Contains(said.stderr, id) {
		u.Errorf("of what failed runs left:\n%s", tail(said.stderr))
	}
	notes, err := os.ReadDir(filepath.Join(u.dir, ".hermesbox", "smoke"))
	if err != nil || len(notes) != 2 {
		u.Errorf("notes: %v, %v", notes, err)
	}
	if got := u.onNode("cd /data/shared; ls -d hermes-*s/*"); got != "hermes-homes/alice\nhermes-homes/default\n" {
		u.Errorf("on the node there is\n%s", got)
	}
	if boxes := u.smokeBoxes(); len(boxes) > 0 {
		u.Errorf("sandboxes are left: %q", boxes)
	}
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
	recipe, err := os.ReadFile(filepath.Join(u.dir, "source", "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	u.write("Dockerfile", string(recipe)+"RUN sleep 8\n") // the build takes its time,
	u.write("kind", u.dir+"\n")                           // and no cache has it
	for _, at := range []struct{ stage, says, next string }{
		{"image", "FROM ", "context read, image build, template register, nodes check, home make, smoke run, verify run"},
		{"template", "making a template: ", "nodes check, context read, image none, template register, home make, smoke run, verify run"},
		{"home", "making a default home from template", "nodes check, context read, image none, template none, home make, smoke run, verify run"},
		{"smoke", "step 4/10", "nodes check, context read, image none, template none, home none, smoke run, verify run"},
		{"verify", "making sandbox verify-", "nodes check, context read, image none, template none, home none, smoke run, verify run"},
	} {
		cmd := u.prepare("up")
		var stdout bytes.Buffer
		cmd.Stdout = &stdout
		stderr, err := cmd.StderrPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		sent := false
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			if !sent && strings.Contains(lines.Text(), at.says) {
				sent = true
				if err := cmd.Process.Signal(os.Interrupt); err != nil {
					t.Error(err)
				}
			}
		}
		if err := cmd.Wait(); !sent || cmd.ProcessState.ExitCode() != 130 {
			t.Errorf("interrupted at %q (%t): %v", at.says, sent, err)
		}
		var out passage
		if err := json.Unmarshal(stdout.Bytes(), &out); err != nil || len(out.Stages) == 0 {
			t.Fatalf("interrupted at %q: %v: %s", at.says, err, stdout.String())
		}
		last := out.Stages[len(out.Stages)-1]
		late := at.stage == "template" && last.Stage == "nodes" // a job can be done before the signal is heard
		if last.Stage != at.stage && !late || last.Action != "fail" || last.Reason != "interrupted" || out.Status != "failed" {
			t.Errorf("interrupted at %q: %+v", at.says, out)
		}
		if plan, _ := u.start("plan"); plan.actions() != at.next && at.stage != "template" { // whose job may have ended meanwhile
			t.Errorf("after an interrupt at %q: %s", at.says, plan.actions())
		}
		if at.stage == "smoke" || at.stage == "verify" {
			u.clean()
		}
	}
	u.killed()
	if notes, err := os.ReadDir(filepath.Join(u.dir, ".hermesbox", "smoke")); err != nil || len(notes) > 0 {
		t.Errorf("notes: %v, %v", notes, err)
	}
}

// killed: what a run leaves that is killed, the next removes.
func (u *wholeTest) killed() {
	u.Helper()
	cmd := u.prepare("up")
	stderr, err := cmd.StderrPipe()
	if err != nil {
		u.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		u.Fatal(err)
	}
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		if strings.Contains(lines.Text(), "step 8/10") {
			_ = cmd.Process.Kill() // it may be killed already
		}
	}
	if cmd.Wait() == nil || len(u.smokeBoxes()) != 1 {
		u.Errorf("of a run that was killed there is %q", u.smokeBoxes())
	}
	u.do(0, "nodes check, context read, image none, template none, home none, smoke run", "up", "--until", "smoke")
	u.clean()
}

// TestUpSeedFails: where the image cannot become a default home, up fails there,
// and goes on there once it can.
func TestUpSeedFails(t *testing.T) {
	t.Parallel()
	u := newWhole(t, "hermesbox-test/up-seed-fails:latest", "testdata/studio")
	u.write("config.yaml", "model:\n  api_key: 0123456789abcdef\n")
	_, said := u.do(1, "context read, image build, template register, nodes prepare, home fail", "up")
	if !strings.Contains(said.stderr, "config.yaml sets model.api_key") || !strings.Contains(said.stderr, "take it out of the image") {
		t.Errorf("nothing says why:\n%s", tail(said.stderr))
	}
	u.do(1, "nodes check, context read, image none, template none, home fail", "up")
	u.write("config.yaml", "model: {}\n")
	u.do(0, "context read, image build, template register, nodes check, home make", "up", "--until", "home")
	must(t, u.dir, u.engine, "local", "down") // the image has another name than the configuration's
	u.do(0, "nodes check, context read, image none, template register, home refresh", "up", "--until", "home")
	text := must(t, u.dir, u.engine, append([]string{"--cube", "local", "plan"}, u.flags...)...)
	if !strings.HasPrefix(text, "STAGE ") || longDigest.MatchString(text) {
		t.Errorf("plan:\n%s", text)
	}
}

// TestUpCannotNote: where nothing can be noted of the smoke sandbox, none is made.
func TestUpCannotNote(t *testing.T) {
	t.Parallel()
	u := newWhole(t, "hermesbox-test/up-cannot-note:latest", "testdata/studio")
	u.write("../.hermesbox", "no directory\n")
	_, said := u.do(1, "context read, image build, template register, nodes prepare, home make, smoke fail", "up")
	if !strings.Contains(said.stderr, "noting the smoke sandbox: ") || strings.Contains(said.stderr, "step 1/10") {
		t.Errorf("it says\n%s", tail(said.stderr))
	}
	u.clean()
}

var longDigest = regexp.MustCompile(`sha256:[0-9a-f]{13}`)
