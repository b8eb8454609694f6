package verify

import (
	"encoding/json"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hermesbox/hermesbox/internal/dockertest"
)

// away are the paths of the facts, put below a directory of the test.
func away(dir string) []string {
	var out []string
	for _, path := range []string{"/root/.hermes", "/opt/hermes-common-skills", "/opt/hermes-agent", "/usr/share/hermesbox", "/workspace"} {
		out = append(out, `"`+path, `"`+dir+path)
	}
	out = append(out, "environment(1)", "environment(os.getpid())")
	return append(out, `("/root", "/home", `, `("`+dir+`/root", `)
}

// plantTree writes files; a name that ends in / is a directory, one with -> a link,
// one that ends in | a named pipe.
func plantTree(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		name, target, isLink := strings.Cut(name, "->")
		path := filepath.Join(dir, strings.TrimRight(name, "|"))
		err := os.MkdirAll(filepath.Dir(path), 0o755)
		switch {
		case err != nil:
		case strings.HasSuffix(name, "/"):
			err = os.MkdirAll(path, 0o755)
		case strings.HasSuffix(name, "|"):
			err = syscall.Mkfifo(path, 0o600)
		case isLink:
			err = os.Symlink(target, path)
		default:
			err = os.WriteFile(path, []byte(text), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestHostileFiles: whatever lies in the places that are looked at, looking ends
// and takes nothing for what it is not.
func TestHostileFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	plantTree(t, dir, map[string]string{
		"root/.hermes/config.yaml|": "", "root/.hermes/a\nb\xff/": "", "root/.hermes/SOUL.md->gone": "",
		"opt/hermes-agent/tools/pipe.py|": "", "opt/hermes-agent/ok.py": "x", "opt/hermes-agent/out->../../etc/passwd": "",
		"opt/hermes-agent/.venv/pipe|": "", "opt/hermes-agent/tools/__pycache__/x.pyc": "", "opt/hermes-agent/x.egg-info/PKG": "",
		"opt/hermes-common-skills/": "", "workspace/": "",
		"root/.netrc->gone": "", "root/.pypirc|": "", "root/.ssh/deploy": "-----BEGIN OPENSSH PRIVATE KEY-----\n", "root/.ssh/deploy.pub": "ssh-ed25519 A\n",
		"root/.env": "", "root/a/.token": "t", "root/.token->.hermes/web-ui/.token": "", "root/.hermes/web-ui/.token": "t",
	})
	want := []string{"home", "source", "secrets"}
	found := here(t, factsProbe, map[string]any{"want": want}, away(dir)...)

	var home struct {
		Config *string           `json:"config"`
		Names  map[string]string `json:"names"`
	}
	if err := found.read("home", &home); err != nil || home.Config != nil {
		t.Errorf("a pipe for settings: %v, %v", home.Config, err)
	}
	if diff := cmp.Diff(map[string]string{"config.yaml": "file", "a\nb\\xff": "dir", "SOUL.md": "link", "web-ui": "dir"}, home.Names); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	var source tree
	if err := found.read("source", &source); err != nil {
		t.Fatal(err)
	}
	got, err := sums(source.Files)
	if _, ok := got["ok.py"]; err != nil || !ok || len(got) != 1 {
		t.Errorf("files: %v, %v", got, err)
	}
	if diff := cmp.Diff([][]string{{"tools/pipe.py"}, {"out"}}, [][]string{source.Odd, source.Outside}); diff != "" {
		t.Errorf("neither file nor directory, outside (-want +got):\n%s", diff)
	}
	var secrets struct {
		Files []secretFile `json:"files"`
	}
	if err := found.read("secrets", &secrets); err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, f := range secrets.Files {
		if paths = append(paths, strings.TrimPrefix(f.Path, dir)); f.At == 0 {
			t.Errorf("%s was never changed", f.Path)
		}
	}
	if diff := cmp.Diff([]string{"/root/.ssh/deploy", "/root/a/.token"}, paths); diff != "" {
		t.Errorf("secrets (-want +got):\n%s", diff)
	}
}

// script runs the functions of the facts, and what runs programs, with a line of
// Python behind.
func script(t *testing.T, line string) string {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		dockertest.Missing(t, "python", "no python3")
	}
	text, err := probeScript(slices.Concat([]string{"run.py"}, factsProbe))
	if err != nil {
		t.Fatal(err)
	}
	defs, _, ok := strings.Cut(text, "for name, gather in")
	if !ok {
		t.Fatal("facts.py does not end with its sections")
	}
	out, err := exec.CommandContext(t.Context(), python, "-I", "-S", "-B", "-c", defs+line, "m", "{}").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return strings.TrimSpace(string(out))
}

// TestIsGateway: which processes are a gateway, and of which home.
func TestIsGateway(t *testing.T) {
	t.Parallel()
	cases := map[string]string{
		"/v/bin/python /v/bin/hermes gateway run --replace":     "/root/.hermes",
		"/v/bin/hermes gateway run":                             "/root/.hermes",
		"/v/bin/hermes gateway":                                 "/root/.hermes",
		"python -m hermes_cli.main --profile work gateway run":  "/root/.hermes/profiles/work",
		"python /v/bin/hermes -p work gateway run":              "/root/.hermes/profiles/work",
		"python /v/bin/hermes --accept-hooks gateway run":       "/root/.hermes",
		"python /v/bin/hermes --profile=work gateway --replace": "/root/.hermes/profiles/work",
		"python /v/bin/hermes gateway status":                   "",
		"python /v/bin/hermes chat gateway run":                 "",
		"grep hermes gateway run":                               "",
		"node server.js":                                        "",
		"":                                                      "",
	}
	lines := [][]string{}
	var want []string
	for _, line := range slices.Sorted(maps.Keys(cases)) {
		lines, want = append(lines, append(strings.Split(line, " "), "")), append(want, line+": "+cases[line])
	}
	said := script(t, "print(json.dumps([home_of(99999999, a) if is_gateway(a) else '' for a in "+quoted(t, lines)+"]))")
	var got []string
	if err := json.Unmarshal([]byte(said), &got); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	for i := range got {
		got[i] = strings.Join(lines[i][:len(lines[i])-1], " ") + ": " + got[i]
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("homes of gateways (-want +got):\n%s", diff)
	}
}

// TestRunBounded: a program that does not end, speaks without end or leaves
// others behind keeps nobody waiting.
func TestRunBounded(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"echo out; echo err >&2; exit 3":     `{"code": 3, "out": "out\n", "err": "err\n"}`,
		"cat":                                `{"code": 0, "out": "given", "err": ""}`,
		"sleep 300":                          `{"code": -1, "out": "", "err": "no end within 1 seconds"}`,
		"yes":                                `{"code": -1, "out": "", "err": "it says too much"}`,
		"sleep 300 & echo left behind":       `{"code": 0, "out": "left behind\n", "err": ""}`,
		"printf '\\377'; trap '' TERM; exit": `{"code": 0, "out": "\ufffd", "err": ""}`,
	} {
		got := script(t, "SAID = 1 << 20\nprint(json.dumps(run(['/bin/sh', '-c', "+quoted(t, line)+"], {}, 1, data=b'given')))")
		if got != want {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
	}
	if got := script(t, "print(run(['/no/such'], {}, 1)['code'])"); got != "127" {
		t.Errorf("no program: %s", got)
	}
}

// TestMasked: what a program says of the secrets of a home is not passed on.
func TestMasked(t *testing.T) {
	t.Parallel()
	settings := []string{"model: {api_key: sk-flow, base_url: http://h}\nauth:\n  bot_token: 'two words'\n", "OPENAI_API_KEY=abc\nDB_PASSWORD=\"pa ss#\"\nMODE=blue\nsecret_key = plain # c\n"}
	const said = "sk-flow two words abc pa ss# blue http://h plain"
	got := script(t, "print(masked("+quoted(t, said)+", *[s.encode() for s in "+quoted(t, settings)+"]))")
	if want := "*** *** abc *** blue http://h ***"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestSectionBounded: a section without end costs itself alone.
func TestSectionBounded(t *testing.T) {
	t.Parallel()
	got := script(t, "PATIENCE = 1\nsection('never', lambda: time.sleep(300))\nsection('bad', lambda: 1 / 0)\nsection('good', lambda: 7)\nanswer()")
	body, err := unframe([]byte(got+"\n"), "m")
	var found facts
	if err != nil || json.Unmarshal(body, &found) != nil {
		t.Fatalf("%v: %s", err, got)
	}
	var seven int
	if err := found.read("good", &seven); err != nil || seven != 7 {
		t.Errorf("%d, %v", seven, err)
	}
	for name, want := range map[string]string{"never": "no end within 1 seconds", "bad": "ZeroDivisionError"} {
		if err := found.read(name, &seven); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestDangling: links that lead nowhere, but for those of programs.
func TestDangling(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	plantTree(t, dir, map[string]string{
		"opt/hermes-common-skills/a/SKILL.md":                           "---\nname: a\n---\n",
		"root/.hermes/skills/a->" + dir + "/opt/hermes-common-skills/a": "", "root/.hermes/skills/b->gone": "", "root/.hermes/skills/cat/c->c": "",
		"root/.hermes/skills/own/node_modules/.bin/x->gone": "", "root/.hermes/skills/.hub/y->gone": "",
	})
	var got struct {
		Skills   map[string]publicSkill `json:"skills"`
		Dangling []string               `json:"dangling"`
	}
	if err := here(t, factsProbe, map[string]any{"want": []string{"public"}}, away(dir)...).read("public", &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"b", "cat/c"}, got.Dangling); diff != "" || len(got.Skills) != 1 || got.Skills["a"].Copy {
		t.Errorf("%v (-want +got):\n%s", got.Skills, diff)
	}
}

// TestGetBounded: a server that never ends its answer has none.
func TestGetBounded(t *testing.T) {
	t.Parallel()
	drip := dripping(t)
	_, port, _ := net.SplitHostPort(drip)
	got := script(t, "forever = within\nwithin = lambda limit, gather: forever(1, gather)\nprint(json.dumps(get("+port+", '/health')))")
	if want := `{"status": 0, "body": "no end within 1 seconds"}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestDigestBounded: a file that has no end has no sum.
func TestDigestBounded(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "long")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 1<<40); err != nil {
		t.Skip(err)
	}
	got := script(t, "HUGE = 3 << 20\nprint(digest("+quoted(t, path)+") == tree("+quoted(t, filepath.Dir(path))+"), digest("+quoted(t, path)+"))")
	if want := "False " + strings.Repeat("-", 64); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func quoted(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestListener: who listens is found, on IPv4 and on IPv6 alone.
func TestListener(t *testing.T) {
	t.Parallel()
	const line = `
for at in ("127.0.0.1", "::1"):
    with socket.socket(socket.AF_INET6 if ":" in at else socket.AF_INET) as s:
        s.bind((at, 0))
        port = s.getsockname()[1]
        print(listener(port))
        s.listen()
        print(listener(port) == os.getpid())
`
	if got, want := script(t, line), "0\nTrue\n0\nTrue"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
