package scripts

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hermesbox/hermesbox/internal/dockertest"
)

// fakes is a directory of programs that note how they are called.
type fakes struct {
	*testing.T
	dir string
}

func newFakes(t *testing.T, programs map[string]string) *fakes {
	t.Helper()
	f := &fakes{t, t.TempDir()}
	for name, script := range programs {
		text := "#!/bin/bash\necho \"" + name + " $*\" >>" + f.dir + "/calls\n" + script + "\n"
		if err := os.WriteFile(filepath.Join(f.dir, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

func (f *fakes) env(more ...string) []string {
	return append(more, "PATH="+f.dir+":"+os.Getenv("PATH"))
}

func (f *fakes) calls() string {
	text, err := os.ReadFile(filepath.Join(f.dir, "calls"))
	if err != nil && !os.IsNotExist(err) {
		f.Fatal(err)
	}
	return string(text)
}

// breakages runs breakages.sh with a hermesbox whose verify is a script.
func (f *fakes) breakages(verb string) (stdout, stderr string, code int) {
	return run(f.T, f.env("HERMESBOX="+f.dir+"/hermesbox"), "demo/breakages.sh", verb, f.dir+"/hermesbox.yaml", "demo")
}

// allFail is a verify that sees everything.
const allFail = `case "$*" in
*' verify '*)
	IFS=, read -ra checks <<<"$5"
	for check in "${checks[@]}"; do printf 'fail  %s  it is broken\n      → mend it\n' "$check"; done
	exit 3 ;;
*' local status --output json') echo '{"egress_enforced": true}' ;;
*' local status --output env') echo "export CUBE_API_URL='http://cube'" ;;
*' template create '*) echo tpl-0 ;;
*' sandbox show '*) printf '{\n  "id": "0123"\n,\n' ;;
esac`

func TestBreakages(t *testing.T) {
	t.Parallel()
	f := newFakes(t, map[string]string{"hermesbox": allFail, "docker": "", "curl": ""})
	stdout, stderr, code := f.breakages("run")
	if code != 0 || strings.Count(stdout, "\n-- ") != 8 || strings.Count(stdout, "\nfail  ") != 10 || strings.Count(stdout, "→ mend it") != 10 {
		t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
	}
	for _, way := range []string{"docker kill", "docker start", "docker commit", "verify --only secrets --template tpl-0", "template delete", `"allowOut": ["0.0.0.0/0"]`, "-d {} http"} {
		if !strings.Contains(f.calls(), way) {
			t.Errorf("no %q in\n%s", way, f.calls())
		}
	}
	if _, err := os.Stat(f.dir + "/broken"); err == nil {
		t.Error("something is left broken")
	}
}

// TestBreakageUnseen: whatever verify says but that the check fails, the demo fails.
func TestBreakageUnseen(t *testing.T) {
	t.Parallel()
	for name, verify := range map[string]string{
		"passes":           `*' verify '*) echo "pass  source  all is well" ;;`,
		"another fails":    `*' verify '*) echo "fail  sources  another"; exit 3 ;;`,
		"cannot be judged": `*' verify '*) echo "no Cube" >&2; exit 1 ;;`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFakes(t, map[string]string{"hermesbox": "case \"$*\" in\n" + verify + "\nesac", "docker": ""})
			stdout, stderr, code := f.breakages("run")
			if code != 1 || !strings.Contains(stderr, "did not see it: source does not fail") {
				t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
			}
		})
	}
}

// TestBreakageMended: what cannot be broken wholly, and what a killed run left, is mended.
func TestBreakageMended(t *testing.T) {
	t.Parallel()
	f := newFakes(t, map[string]string{"hermesbox": `case "$*" in *'printf "\0'*) echo "no such sandbox" >&2; exit 1 ;; esac`})
	mended := func() bool { return strings.Contains(f.calls(), "rm -f /opt/hermes-agent/tools/._registry.py") }
	if _, stderr, code := f.breakages("run"); code != 1 || !strings.Contains(stderr, "no such sandbox") || !mended() {
		t.Errorf("exit code %d, %s, calls\n%s", code, stderr, f.calls())
	}
	f = newFakes(t, map[string]string{"hermesbox": ""})
	if _, stderr, code := f.breakages("mend"); code != 0 || f.calls() != "" {
		t.Errorf("nothing to mend: exit code %d, %s, calls\n%s", code, stderr, f.calls())
	}
	if err := os.WriteFile(f.dir+"/broken", []byte("litter\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, stderr, code := f.breakages("mend"); code != 0 || !mended() {
		t.Errorf("exit code %d, %s, calls\n%s", code, stderr, f.calls())
	}
	if _, err := os.Stat(f.dir + "/broken"); err == nil {
		t.Error("something is left broken")
	}
}

// TestDemoPackages: where an Engine answers, only what the demo needs is
// installed, never Debian's Docker over another.
func TestDemoPackages(t *testing.T) {
	t.Parallel()
	release, err := os.ReadFile("/etc/os-release")
	if err != nil || os.Getuid() != 0 || !regexp.MustCompile(`(?m)^VERSION_ID="12"`).Match(release) {
		dockertest.Missing(t, "root", "not Debian 12 as root")
	}
	f := newFakes(t, map[string]string{"docker": "", "apt-get": "", "dpkg-query": `if [ "${@: -1}" = debootstrap ]; then echo not-installed; else printf installed; fi`})
	_, stderr, code := run(t, f.env(), "test-env.sh", "docker")
	calls := strings.Split(f.calls(), "\n")
	if code != 0 || !slices.Contains(calls, "apt-get -q -y install --no-install-recommends debootstrap") || slices.Contains(calls, "dpkg-query -W -f ${db:Status-Status} docker.io") {
		t.Errorf("exit code %d, %s, calls\n%s", code, stderr, f.calls())
	}
}

// TestModelEndpoint: the endpoint answers, refuses while it is cut off, counts its turns, and goes.
func TestModelEndpoint(t *testing.T) {
	t.Parallel()
	e := dockertest.Default(t)
	e.NeedBase(t)
	env := []string{"DOCKER_HOST=" + e.Host, "HERMESBOX_DEMO_MODEL=hermesbox-test-model", "HERMESBOX_DEMO_PORT=18152"}
	t.Cleanup(func() { run(t, env, "demo/model.sh", "stop") })
	model := func(code int, args ...string) (stdout, stderr string) {
		stdout, stderr, got := run(t, env, "demo/model.sh", args...)
		if got != code {
			t.Fatalf("%q: exit code %d\n%s%s", args, got, stdout, stderr)
		}
		return strings.TrimSpace(stdout), stderr
	}
	url, _ := model(0, "start", dockertest.BaseImage)
	if !regexp.MustCompile(`^http://[0-9.]+:18152/v1$`).MatchString(url) {
		t.Fatalf("its address is %q", url)
	}
	key, _ := model(0, "key")
	for _, try := range []struct {
		key    string
		status int
	}{{key, 200}, {"another", 401}, {key, 200}} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/chat/completions", strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+try.key)
		got, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(got.Body)
		if got.Body.Close(); err != nil || got.StatusCode != try.status || strings.Contains(string(body), "pong") != (try.status == 200) {
			t.Errorf("key %q: %s %s %v", try.key, got.Status, body, err)
		}
	}
	if turns, _ := model(0, "turns"); turns != "2" {
		t.Errorf("%s turns, want 2", turns)
	}
	other := append(slices.Clone(env), "HERMESBOX_DEMO_MODEL=hermesbox-test-model-2")
	if _, stderr, code := run(t, other, "demo/model.sh", "start", dockertest.BaseImage); code != 1 || !strings.Contains(stderr, "name another with HERMESBOX_DEMO_PORT") {
		t.Errorf("a port that is taken: exit code %d, %s", code, stderr)
	}
	model(0, "cut")
	if got, err := http.Get(url + "/models"); err == nil {
		got.Body.Close()
		t.Error("it answers while it is cut off")
	}
	model(0, "mend")
	got, err := http.Get(url + "/models")
	if err != nil {
		t.Fatal(err)
	}
	got.Body.Close()
	model(0, "stop")
	model(1, "cut")
	model(0, "stop")
}
