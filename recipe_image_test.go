package hermesbox_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/google/go-cmp/cmp"

	"github.com/hermesbox/hermesbox/buildctx"
	"github.com/hermesbox/hermesbox/image"
	"github.com/hermesbox/hermesbox/internal/dockertest"
)

// kitchen builds the recipe on one Engine, with a small source, the stand-in base and the stand-in Web UI.
type kitchen struct {
	docker dockertest.Engine
	engine *image.Engine
	source string
	webUI  string
	log    bytes.Buffer
}

func newKitchen(t *testing.T, docker dockertest.Engine) *kitchen {
	t.Helper()
	docker.NeedBase(t)
	engine, err := image.Connect(t.Context(), docker.Host, func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := engine.Close(); err != nil {
			t.Error(err)
		}
	})
	k := &kitchen{docker: docker, engine: engine, source: filepath.Join(t.TempDir(), "source"), webUI: filepath.Join(t.TempDir(), "web-ui.tgz")}
	if err := os.CopyFS(k.source, os.DirFS("testdata/source")); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "sh", "scripts/standin/webui/make-package.sh", k.webUI).CombinedOutput(); err != nil {
		t.Fatalf("make-package.sh: %v\n%s", err, out)
	}
	return k
}

// build returns the image's ID; change alters the usual spec.
func (k *kitchen) build(t *testing.T, change func(*image.Spec)) (string, error) {
	t.Helper()
	tree, err := buildctx.Load(t.Context(), k.source, buildctx.Options{})
	if err != nil {
		t.Fatal(err)
	}
	recipe, err := image.LoadDockerfile("")
	if err != nil {
		t.Fatal(err)
	}
	tag := "hermesbox-test/recipe-" + strings.ToLower(docker(k)) + ":latest"
	k.docker.RemoveImage(t, tag)
	spec := image.Spec{
		Tree: tree, Dockerfile: recipe, Base: image.Base{Name: dockertest.BaseImage, Ref: dockertest.BaseImage, Local: true},
		Tags: []string{tag}, Platform: k.engine.Info.OS + "/" + k.engine.Info.Arch,
		BuildArgs: map[string]string{}, CABundle: os.Getenv("HERMESBOX_TEST_CA_BUNDLE"), WebUIPackage: k.webUI,
	}
	if change != nil {
		change(&spec)
	}
	k.log.Reset()
	builder := image.Builder{Engine: k.engine, Progress: &k.log, Mode: "plain", Note: t.Logf}
	made, err := builder.Build(t.Context(), spec)
	if made.ID != "" {
		k.docker.RemoveImage(t, made.ID)
	}
	return made.ID, errors.Join(err, tree.Close())
}

func docker(k *kitchen) string { return strings.ReplaceAll(k.docker.Name, ".", "-") }

func (k *kitchen) mustBuild(t *testing.T, change func(*image.Spec)) string {
	t.Helper()
	id, err := k.build(t, change)
	if err != nil {
		t.Fatalf("building: %v\n%s", err, k.log.String())
	}
	return id
}

func (k *kitchen) layers(t *testing.T, id string) []string {
	t.Helper()
	found, err := k.docker.Client.ImageInspect(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return found.RootFS.Layers
}

// TestRecipe builds the recipe on every Engine and looks at what comes out, at rest and running.
func TestRecipe(t *testing.T) {
	t.Parallel()
	dockertest.Each(t, func(t *testing.T, e dockertest.Engine) {
		k := newKitchen(t, e)
		id := k.mustBuild(t, nil)
		box := e.Start(t, container.Config{Image: id}, container.HostConfig{NetworkMode: "none"})
		t.Run("keeps the base", func(t *testing.T) { keepsBase(t, k, id) })
		t.Run("layout", func(t *testing.T) { layout(t, box) })
		t.Run("manifest", func(t *testing.T) { manifest(t, box) })
		t.Run("environment", func(t *testing.T) { environment(t, box) })
		t.Run("launcher", func(t *testing.T) { launcher(t, box) })
		t.Run("edit", func(t *testing.T) { edit(t, k, id) })
		t.Run("bad input", func(t *testing.T) { badInput(t, k) })
	})
}

func keepsBase(t *testing.T, k *kitchen, id string) {
	api := k.docker.Client
	base, err := api.ImageInspect(t.Context(), dockertest.BaseImage)
	if err != nil {
		t.Fatal(err)
	}
	made, err := api.ImageInspect(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(base.Config.Entrypoint, made.Config.Entrypoint); diff != "" {
		t.Errorf("entrypoint (-base +made):\n%s", diff)
	}
	if base.Config.User != made.Config.User || base.Config.WorkingDir != made.Config.WorkingDir {
		t.Errorf("user %q and directory %q, the base's are %q and %q", made.Config.User, made.Config.WorkingDir, base.Config.User, base.Config.WorkingDir)
	}
	for _, port := range []string{"9000/tcp", "49983/tcp"} {
		if _, ok := made.Config.ExposedPorts[port]; !ok {
			t.Errorf("port %s is not exposed", port)
		}
	}
}

// sh runs a script and returns what it printed, both streams; its failure fails the test.
func sh(t *testing.T, box *dockertest.Container, script string) string {
	t.Helper()
	got := box.Exec(t, "sh", "-c", script)
	if got.Code != 0 {
		t.Errorf("%s\nexit %d: %s%s", script, got.Code, got.Stdout, got.Stderr)
	}
	return strings.TrimSpace(got.Stdout + got.Stderr)
}

func layout(t *testing.T, box *dockertest.Container) {
	const want = `/opt/hermes-agent 755
/opt/node24/LICENSE 644
/opt/node24/bin/node 755
/root 700
/root/.hermes 700
/root/.hermes/config.yaml 600
/usr/local/bin/hermes-studio 755`
	got := sh(t, box, `stat -c '%n %a' $(echo "`+regexp.MustCompile(` \d+(\n|$)`).ReplaceAllString(want, " ")+`")`)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("modes (-want +got):\n%s", diff)
	}
	tests := map[string]struct{ script, want string }{
		"only config.yaml in the home":  {`ls -A /root/.hermes`, "config.yaml"},
		"state link":                    {`readlink /root/.hermes-web-ui`, "/root/.hermes/web-ui"},
		"hermes link":                   {`readlink /usr/local/bin/hermes`, "/opt/hermes-agent/.venv/bin/hermes"},
		"Node 24 under its prefix":      {`/opt/node24/bin/node --version | cut -d. -f1`, "v24"},
		"the base's node untouched":     {`command -v node`, "/usr/bin/node"},
		"writable data of the Web UI":   {`test -d /opt/hermes-web-ui/lib/node_modules/hermes-web-ui/dist/data && echo yes`, "yes"},
		"nothing of the build":          {`ls -d /build /out /opt/hermes-agent/.hermesbox /root/.npm /root/.cache /opt/node24/include 2>/dev/null || true`, ""},
		"no compiler":                   {`command -v gcc g++ cc make || true`, ""},
		"no pip, no setuptools":         {`ls -d /opt/hermes-agent/.venv/bin/pip* /opt/hermes-agent/.venv/lib/python3*/site-packages/pip* /opt/hermes-agent/.venv/lib/python3*/site-packages/setuptools* 2>/dev/null || true`, ""},
		"no byte code":                  {`find /opt -name '*.pyc' | head -n 3`, ""},
		"editable":                      {`/opt/hermes-agent/.venv/bin/python -B -c 'import fake_hermes; print(fake_hermes.__file__)'`, "/opt/hermes-agent/fake_hermes.py"},
		"aiohttp beside the extras":     {`/opt/hermes-agent/.venv/bin/python -B -c 'import aiohttp; print(aiohttp.__version__)'`, "3.14.1"},
		"no key, token or user in it":   {`ls -d /root/.hermes/.env /root/.hermes/web-ui /run/hermes-studio.pid 2>/dev/null || true`, ""},
		"mount points":                  {`ls -A /workspace /opt/hermes-common-skills | grep -v : || true`, ""},
		"another user's hermes":         {`su user -s /bin/sh -c 'cd / && hermes --version'`, "Hermes Agent v0.0.1 (fake)"},
		"another user is told to leave": {`su user -s /bin/sh -c 'hermes-studio 2>&1 || echo $?' | tail -n 1`, "77"},
	}
	for name, tt := range tests {
		if got := sh(t, box, tt.script); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

func manifest(t *testing.T, box *dockertest.Container) {
	sh(t, box, "cd /opt/hermes-agent && sha256sum --check --quiet --strict /usr/share/hermesbox/manifest")
	got := sh(t, box, `cd /opt/hermes-agent && find . -type f ! -path './.venv/*' ! -path './*.egg-info/*' | sort`)
	if want := "./fake_hermes.py\n./pyproject.toml"; got != want {
		t.Errorf("files of the source:\n%s\nwant:\n%s", got, want)
	}
}

// environment: of the image, and of a login shell in which nothing of the image's is left.
func environment(t *testing.T, box *dockertest.Container) {
	const want = "HERMES_DISABLE_LAZY_INSTALLS=1\nHERMES_GATEWAY_NO_SUPERVISE=1\nHERMES_HOME=/root/.hermes"
	if got := sh(t, box, "env | grep ^HERMES_ | sort"); got != want {
		t.Errorf("of the image:\n%s", got)
	}
	if got := sh(t, box, "env -i HOME=/root PATH=$PATH bash -l -c env | grep ^HERMES_ | sort"); got != want {
		t.Errorf("of a login shell:\n%s", got)
	}
	if got := sh(t, box, "su - user -c env | grep ^HERMES_ | sort"); strings.Contains(got, "HERMES_HOME") || !strings.Contains(got, "HERMES_GATEWAY_NO_SUPERVISE=1") {
		t.Errorf("of another user's login shell:\n%s", got)
	}
}

// health waits for the Web UI to say that all is well.
func health(t *testing.T, box *dockertest.Container) {
	t.Helper()
	const ask = `curl -s --max-time 5 http://127.0.0.1:9000/health || true`
	var last string
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(300 * time.Millisecond) {
		last = sh(t, box, ask)
		var got struct{ Status string }
		if json.Unmarshal([]byte(last), &got) == nil && got.Status == "ok" {
			return
		}
	}
	t.Fatalf("no health within 30 s: %s\n%s", last, sh(t, box, "cat /tmp/out /root/.hermes/web-ui/logs/*"))
}

// launcher: start, a second start refused, end, and a start that finds the gateway again.
func launcher(t *testing.T, box *dockertest.Container) {
	const start = "hermes-studio >/tmp/out 2>&1 & sleep 0.2"
	sh(t, box, start)
	health(t, box)
	if got := sh(t, box, "hermes-studio; test $? = 69"); !strings.Contains(got, "already running") {
		t.Errorf("a second start says:\n%s", got)
	}
	token := sh(t, box, "cat /root/.hermes-web-ui/.token")
	if got := sh(t, box, "cat /tmp/out"); strings.Contains(got, token) {
		t.Errorf("the launcher prints the token:\n%s", got)
	}
	gateway := sh(t, box, "cat /root/.hermes/gateway.pid")
	if got := sh(t, box, "curl -s -o /dev/null -w '%{http_code}' -H 'Authorization: Bearer "+token+"' http://127.0.0.1:9000/v1/models"); got != "200" {
		t.Errorf("through the Web UI the gateway answers %s: they do not share the key", got)
	}
	sh(t, box, "kill $(cat /run/hermes-studio.pid); for i in 1 2 3 4 5; do curl -s http://127.0.0.1:9000/ >/dev/null || exit 0; sleep 0.2; done; exit 1")
	sh(t, box, start)
	health(t, box)
	if got := sh(t, box, "cat /root/.hermes/gateway.pid"); got != gateway {
		t.Errorf("the restart made another gateway: %s, before %s", got, gateway)
	}
	if got := sh(t, box, "cat /root/.hermes-web-ui/.token"); got != token {
		t.Error("the restart made another token")
	}
	if got := sh(t, box, "sed -n 's/^API_SERVER_KEY=//p' /root/.hermes/.env | wc -c"); got != "65" {
		t.Errorf("API_SERVER_KEY and its newline have %s characters, want one key of 64", got)
	}
}

// edit: a change of one file makes one new layer, and installs nothing again; the same source makes the same layers.
func edit(t *testing.T, k *kitchen, id string) {
	before := k.layers(t, id)
	file := filepath.Join(k.source, "fake_hermes.py")
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	// An edit that no earlier run made: what it left in the builder's cache would be compared otherwise.
	edited := fmt.Appendf(content, "\n# edited at %d\n", time.Now().UnixNano())
	if err := os.WriteFile(file, edited, 0o644); err != nil {
		t.Fatal(err)
	}
	after := k.layers(t, k.mustBuild(t, nil))
	if len(before) != len(after) {
		t.Fatalf("%d layers, before the edit %d", len(after), len(before))
	}
	if n := len(after) - 1; cmp.Diff(before[:n], after[:n]) != "" || before[n] == after[n] {
		t.Errorf("layers after the edit differ elsewhere than in the last (-before +after):\n%s", cmp.Diff(before, after))
	}
	if strings.Contains(k.log.String(), "Collecting ") || strings.Contains(k.log.String(), "added 1 package") {
		t.Errorf("the edit installed packages again:\n%s", k.log.String())
	}
	again := k.layers(t, k.mustBuild(t, func(spec *image.Spec) { spec.NoCache = true }))
	if diff := cmp.Diff(after, again); diff != "" {
		t.Errorf("layers of a build without cache (-cached +fresh):\n%s", diff)
	}
}

func badInput(t *testing.T, k *kitchen) {
	tests := map[string]struct{ arg, value, want string }{
		"extra":          {"HERMES_EXTRAS", "mcp,nope", "no extra 'nope'; it has: homeassistant, mcp"},
		"web UI version": {"WEB_UI_VERSION", "0.5.15", "is version 0.5.16, wanted 0.5.15"},
		"interpreter":    {"PYTHON", "python9", "python9"},
	}
	for name, tt := range tests {
		_, err := k.build(t, func(spec *image.Spec) { spec.BuildArgs[tt.arg] = tt.value })
		if err == nil || !strings.Contains(k.log.String()+err.Error(), tt.want) {
			t.Errorf("%s: error %v, want one with %q in\n%s", name, err, tt.want, k.log.String())
		}
	}
}
