package cmd_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hermesbox/hermesbox/internal/check"
	"github.com/hermesbox/hermesbox/internal/dockertest"
)

// program builds hermesbox once, for the tests that run it as another user or
// interrupt it. The directory outlives the test that asked first: TestMain
// removes it.
var program = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "hermesbox-test-")
	if err != nil {
		return "", err
	}
	programDir = dir
	if err := os.Chmod(dir, 0o755); err != nil {
		return "", err
	}
	path := filepath.Join(dir, "hermesbox")
	out, err := exec.Command("go", "build", "-o", path, "./hermesbox").CombinedOutput()
	if err != nil {
		return "", errors.Join(err, errors.New(string(out)))
	}
	return path, nil
})

var programDir string

// ran is what a run of hermesbox left.
type ran struct {
	code           int
	stdout, stderr string
}

// prepare makes a command that runs hermesbox in dir against an Engine.
func prepare(ctx context.Context, t *testing.T, dir string, engine dockertest.Engine, args ...string) *exec.Cmd {
	t.Helper()
	path, err := program()
	if err != nil {
		t.Fatalf("building hermesbox: %v", err)
	}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "DOCKER_HOST="+engine.Host, "HOME="+dir)
	return cmd
}

func run(t *testing.T, cmd *exec.Cmd) ran {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("running %q: %v", cmd.Args, err)
	}
	return ran{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// must runs hermesbox and wants exit code 0; it returns standard output without its last line end.
func must(t *testing.T, dir string, engine dockertest.Engine, args ...string) string {
	t.Helper()
	got := run(t, prepare(t.Context(), t, dir, engine, args...))
	if got.code != 0 {
		t.Fatalf("hermesbox %q: exit code %d\n%s%s", args, got.code, got.stdout, tail(got.stderr))
	}
	return strings.TrimSuffix(got.stdout, "\n")
}

func tail(text string) string { return text[max(0, len(text)-4000):] }

// setting is a value that scripts/test-env.sh gives; without it the test is missing the backend.
func setting(t *testing.T, name, backend string) string {
	t.Helper()
	value := os.Getenv(name)
	if value == "" {
		dockertest.Missing(t, backend, name+" is not set; scripts/test-env.sh up prints it")
	}
	return value
}

// hermesSource unpacks Hermes Agent 0.19.0 below dir.
func hermesSource(t *testing.T, dir string) string {
	t.Helper()
	archive := setting(t, "HERMESBOX_TEST_HERMES_SOURCE", "hermes")
	source := filepath.Join(dir, "source")
	if err := os.Mkdir(source, 0o755); err != nil {
		t.Fatal(err)
	}
	shell(t, "tar", "-xzf", archive, "-C", source, "--strip-components", "1")
	return source
}

func shell(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, tail(string(out)))
	}
	return string(out)
}

// buildFlags are those that a build of the recipe needs on this machine.
func buildFlags(t *testing.T) []string {
	t.Helper()
	flags := []string{"--base", dockertest.BaseImage, "--web-ui-package", setting(t, "HERMESBOX_TEST_WEB_UI", "hermes"), "--progress", "plain"}
	if bundle := os.Getenv("HERMESBOX_TEST_CA_BUNDLE"); bundle != "" {
		flags = append(flags, "--ca-bundle", bundle)
	}
	return flags
}

// report runs image test and returns the checks by id.
func report(t *testing.T, dir string, engine dockertest.Engine, ref string) map[string]check.Check {
	t.Helper()
	got := run(t, prepare(t.Context(), t, dir, engine, "image", "test", "--output", "json", ref))
	var read struct {
		Image  string
		Status check.Status
		Checks []check.Check
	}
	if err := json.Unmarshal([]byte(got.stdout), &read); err != nil {
		t.Fatalf("image test: exit code %d: %v\n%s%s", got.code, err, got.stdout, got.stderr)
	}
	wantCode := 0
	if read.Status == check.Fail {
		wantCode = 3
	}
	if got.code != wantCode {
		t.Errorf("image test is %s with exit code %d", read.Status, got.code)
	}
	checks := map[string]check.Check{}
	for _, c := range read.Checks {
		checks[c.ID] = c
	}
	return checks
}

// The main job: a littered checkout in, a tested image out, twice the same.
func TestHermesImage(t *testing.T) {
	t.Parallel()
	dockertest.Each(t, func(t *testing.T, engine dockertest.Engine) {
		engine.NeedBase(t)
		dir := t.TempDir()
		source := hermesSource(t, dir)
		clean := must(t, dir, engine, "context", "check", "--output", "json", source)
		shell(t, "../scripts/plant-litter.sh", source)
		const tag = "hermesbox-test/hermes:latest"
		engine.RemoveImage(t, tag)
		args := append([]string{"build", "-t", tag, "source"}, buildFlags(t)...)
		first := must(t, dir, engine, args...)
		wantTested(t, dir, engine, first, clean)
		wantSmall(t, engine, tag)
		shell(t, "find", source, "-exec", "touch", "-h", "-d", "2026-01-01", "{}", "+")
		if again := must(t, dir, engine, args...); again != first {
			t.Errorf("a second build after a touch printed %s, the first %s", again, first)
		}
		if engine.Name != dockertest.Default(t).Name {
			return // what breaks an image is the same in every Engine
		}
		for name, m := range mutations {
			t.Run(name, func(t *testing.T) { m.test(t, dir, engine, tag) })
		}
	})
}

func wantTested(t *testing.T, dir string, engine dockertest.Engine, ref, clean string) {
	t.Helper()
	for id, c := range report(t, dir, engine, ref) {
		if c.Status != check.Pass {
			t.Errorf("%s: %s: %s", id, c.Status, c.Evidence)
		}
	}
	var receipt struct{ Digest string }
	var details struct{ Labels map[string]string }
	inspected := must(t, dir, engine, "image", "inspect", "--output", "json", ref)
	if err := errors.Join(json.Unmarshal([]byte(clean), &receipt), json.Unmarshal([]byte(inspected), &details)); err != nil {
		t.Fatal(err)
	}
	if got := details.Labels["hermesbox.context.digest"]; got != receipt.Digest {
		t.Errorf("the image's context is %s, that of the clean source %s", got, receipt.Digest)
	}
}

// wantSmall wants the image at most 450 MB above its base, summed over its own layers.
func wantSmall(t *testing.T, engine dockertest.Engine, tag string) {
	t.Helper()
	const most = 450e6
	sum := func(ref string) (total int64) {
		history, err := engine.Client.ImageHistory(t.Context(), ref)
		if err != nil {
			t.Fatal(err)
		}
		for _, layer := range history {
			total += layer.Size
		}
		return total
	}
	if above := sum(tag) - sum(dockertest.BaseImage); above > most {
		t.Errorf("the image is %.0f MB above its base, at most %.0f are allowed", float64(above)/1e6, most/1e6)
	} else {
		t.Logf("%.0f MB above the base", float64(above)/1e6)
	}
}

// mutation breaks an image; the named checks must see it, and the others not.
type mutation struct {
	recipe string            // lines behind FROM
	fails  []string          // ids of the checks that fail
	skips  map[string]string // id → because
}

// mutations hold a breakage for every check of image test.
var mutations = map[string]mutation{
	"AppleDouble in tools": {
		recipe: `RUN printf '\000\005\026\007\000\002\000\000Mac OS X        \000\002\243\243' >/opt/hermes-agent/tools/._registry.py`,
		fails:  []string{"litter", "source", "agent-import"}, skips: map[string]string{"agent-turn": "agent-import"},
	},
	"a byte changed":    {recipe: "RUN printf x >>/opt/hermes-agent/LICENSE", fails: []string{"source"}},
	"a file missing":    {recipe: "RUN rm /opt/hermes-agent/LICENSE", fails: []string{"source"}},
	"no manifest":       {recipe: "RUN rm /usr/share/hermesbox/manifest", fails: []string{"source"}},
	"hermes is missing": {recipe: "RUN rm /opt/hermes-agent/.venv/bin/hermes", fails: []string{"agent-version", "agent-turn", "web-ui"}, skips: map[string]string{"token": "web-ui"}},
	"a baked token":     {recipe: "RUN mkdir -p /root/.hermes/web-ui && echo 0123 >/root/.hermes/web-ui/.token", fails: []string{"web-ui"}, skips: map[string]string{"token": "web-ui"}},
	"another entrypoint": {
		recipe: `ENTRYPOINT ["/bin/false"]`, fails: []string{"command-service", "web-ui"}, skips: map[string]string{"token": "web-ui"},
	},
	"the token for all": {recipe: `RUN sed -i '2i (while :; do chmod 644 /root/.hermes/web-ui/.token 2>/dev/null; sleep 0.2; done) &' $(readlink -f $(command -v hermes-studio))`, fails: []string{"token"}},
}

func (m mutation) test(t *testing.T, dir string, engine dockertest.Engine, tag string) {
	recipe := filepath.Join(t.TempDir(), "Dockerfile")
	if err := os.WriteFile(recipe, []byte("FROM "+tag+"\n"+m.recipe+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	empty := t.TempDir()
	if err := os.WriteFile(filepath.Join(empty, "file"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	const broken = "hermesbox-test/broken:latest"
	engine.RemoveImage(t, broken)
	args := []string{"build", "-t", broken, "-f", recipe, empty}
	must(t, dir, engine, args...)
	for id, c := range report(t, dir, engine, broken) {
		want := check.Pass
		for _, f := range m.fails {
			if f == id {
				want = check.Fail
			}
		}
		if m.skips[id] != "" {
			want = check.Skip
		}
		if c.Status != want || c.Because != m.skips[id] {
			t.Errorf("%s is %s because %q, want %s because %q: %s", id, c.Status, c.Because, want, m.skips[id], c.Evidence)
		}
	}
}

// exporting is what a builder prints when the steps are done.
const exporting = "exporting layers"

// interruptions are the moments at which a build is interrupted: when the
// program has printed this.
var interruptions = map[string]struct{ recipe, trigger string }{
	"at solve start":      {"FROM " + dockertest.BaseImage + "\nCOPY . /src\nRUN sleep 60\n", "[internal] load build definition"},
	"during the transfer": {"FROM scratch\nCOPY . /src\n", "transferring context:"},
	"during the export":   {"FROM " + dockertest.BaseImage + "\nCOPY small /src\nRUN head -c 300000000 /dev/urandom >/big\n", exporting},
	"during a RUN":        {"FROM " + dockertest.BaseImage + "\nCOPY small /src\nRUN echo began-now && sleep 60\n", "began-now"},
}

func TestInterruptedBuild(t *testing.T) {
	t.Parallel()
	dockertest.Each(t, func(t *testing.T, engine dockertest.Engine) {
		engine.NeedBase(t)
		for name, at := range interruptions {
			t.Run(name, func(t *testing.T) { interrupt(t, engine, at.recipe, at.trigger) })
		}
	})
}

func interrupt(t *testing.T, engine dockertest.Engine, recipe, trigger string) {
	dir := t.TempDir()
	source := filepath.Join(dir, "source")
	if err := errors.Join(
		os.Mkdir(source, 0o755),
		os.WriteFile(filepath.Join(dir, "Dockerfile"), []byte(recipe), 0o644),
		os.WriteFile(filepath.Join(source, "small"), []byte(t.Name()), 0o644),
		os.WriteFile(filepath.Join(source, "large"), nil, 0o644),
		os.Truncate(filepath.Join(source, "large"), 400<<20),
	); err != nil {
		t.Fatal(err)
	}
	const tag = "hermesbox-test/interrupted:latest"
	engine.RemoveImage(t, tag)
	cmd := prepare(t.Context(), t, dir, engine, "build", "--progress", "plain", "-t", tag, "-f", "Dockerfile", "source")
	stderr := &triggerWriter{trigger: trigger, fire: func() {
		if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
			t.Errorf("interrupting: %v", err)
		}
	}}
	cmd.Stderr = stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	err := cmd.Wait()
	ended := time.Now()
	_, missing := engine.Client.ImageInspect(t.Context(), tag)
	switch code := cmd.ProcessState.ExitCode(); {
	case code == 0 && trigger == exporting && missing == nil:
		t.Log("the export was over before the interrupt: the build is done, and tagged")
	case code != 130:
		t.Fatalf("exit code %d (%v), want 130\n%s", code, err, tail(stderr.text.String()))
	case missing == nil:
		t.Error("the image was tagged")
	}
	if took := ended.Sub(stderr.fired); took > 2*time.Second {
		t.Errorf("it took %s to end", took)
	}
	if err := errors.Join(
		os.WriteFile(filepath.Join(dir, "Dockerfile"), []byte("FROM scratch\nCOPY small /src\n"), 0o644),
		os.Remove(filepath.Join(source, "large")),
	); err != nil {
		t.Fatal(err)
	}
	must(t, dir, engine, "build", "-t", tag, "-f", "Dockerfile", "source")
}

// triggerWriter keeps what is written and fires once, when it has the trigger.
type triggerWriter struct {
	text    bytes.Buffer
	trigger string
	fire    func()
	fired   time.Time
}

func (w *triggerWriter) Write(p []byte) (int, error) {
	w.text.Write(p)
	if w.fired.IsZero() && strings.Contains(w.text.String(), w.trigger) {
		w.fired = time.Now()
		w.fire()
	}
	return len(p), nil
}

// As another user than root, an unreadable file ends the build; BuildKit's own
// sender would make it an empty one.
func TestUnreadableFile(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		dockertest.Missing(t, "root", "only root can run hermesbox as another user")
	}
	dockertest.Each(t, func(t *testing.T, engine dockertest.Engine) {
		dir := t.TempDir()
		for parent := dir; parent != "/" && parent != os.TempDir(); parent = filepath.Dir(parent) {
			if err := os.Chmod(parent, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(
			os.WriteFile(filepath.Join(dir, "Dockerfile"), []byte("FROM scratch\nCOPY . /\n"), 0o644),
			os.Mkdir(filepath.Join(dir, "source"), 0o755),
			os.WriteFile(filepath.Join(dir, "source", "secret"), []byte("s"), 0o000),
			os.WriteFile(filepath.Join(dir, "source", "open"), []byte("o"), 0o644),
		); err != nil {
			t.Fatal(err)
		}
		const tag = "hermesbox-test/unreadable:latest"
		engine.RemoveImage(t, tag)
		cmd := prepare(t.Context(), t, dir, engine, "build", "-t", tag, "-f", "Dockerfile", "source")
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534, Groups: []uint32{socketGroup(t, engine)}}}
		got := run(t, cmd)
		if got.code != 1 || !strings.Contains(got.stderr, `"secret"`) || !strings.Contains(got.stderr, "hint: make it readable") {
			t.Errorf("exit code %d, want 1 and the file's name\n%s", got.code, tail(got.stderr))
		}
		if err := os.Chmod(filepath.Join(dir, "source", "secret"), 0o644); err != nil {
			t.Fatal(err)
		}
		cmd = prepare(t.Context(), t, dir, engine, "build", "-t", tag, "-f", "Dockerfile", "source")
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		if got := run(t, cmd); got.code != 1 || !strings.Contains(got.stderr, "not permitted to use the Docker Engine") {
			t.Errorf("without the socket's group: exit code %d\n%s", got.code, tail(got.stderr))
		}
	})
}

// socketGroup is the group that may use the Engine's socket.
func socketGroup(t *testing.T, engine dockertest.Engine) uint32 {
	t.Helper()
	info, err := os.Stat(strings.TrimPrefix(engine.Host, "unix://"))
	if err != nil {
		t.Fatal(err)
	}
	return info.Sys().(*syscall.Stat_t).Gid
}
