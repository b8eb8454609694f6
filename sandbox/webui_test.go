package sandbox_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hermesbox/hermesbox/internal/dockertest"
	"github.com/hermesbox/hermesbox/internal/envd"
	"github.com/hermesbox/hermesbox/sandbox"
)

// TestWebUI: what a Web UI may do at its start.
func TestWebUI(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	tests := []struct {
		name  string
		env   map[string]string
		is    error
		words string // in the error, or else in what was said
		token error
	}{
		{"refused by the launcher", map[string]string{"FAKE": "refuse"}, sandbox.ErrWebUI, "exit code 78: error: the home is not initialised", nil},
		{"crashes once", map[string]string{"FAKE": "crash-once"}, nil, "step 10/10 check: 49983 and 9000 answer", nil},
		{"has users", map[string]string{"FAKE": "users"}, nil, "user admin and password 123456", sandbox.ErrUsers},
		{"has a token of the caller's", map[string]string{"AUTH_TOKEN": "canary-token-0123456789"}, nil, "its token is not shown", nil},
	}
	for i, test := range tests {
		spec := s.spec("home-"+string(rune('a'+i)), "work")
		spec.Env = test.env
		made, err := s.client.Create(t.Context(), spec)
		var step *sandbox.StepError
		switch {
		case !errors.Is(err, test.is):
			t.Errorf("%s: %v", test.name, err)
		case err != nil && (!errors.As(err, &step) || step.ID != made.ID || step.Step != 8 || !strings.Contains(err.Error(), test.words)):
			t.Errorf("%s: %v", test.name, err)
		case err == nil && !s.heard(test.words):
			t.Errorf("%s: %q not among\n%s", test.name, test.words, strings.Join(append(s.steps, s.said...), "\n"))
		}
		if err != nil {
			if now, err := s.client.Find(t.Context(), made.ID); err != nil || now.Name != spec.Home {
				t.Errorf("%s: it does not stay: %+v, %v", test.name, now, err)
			}
			continue
		}
		service, err := s.client.Route.Service(made.Sandbox)
		if err != nil {
			t.Fatal(err)
		}
		token, err := s.client.Token(t.Context(), made.Sandbox, service)
		service.Close()
		if !errors.Is(err, test.token) || test.env["AUTH_TOKEN"] != "" && token != test.env["AUTH_TOKEN"] {
			t.Errorf("%s: token %q, %v", test.name, token, err)
		}
		if err := s.client.Stop(t.Context(), made.Sandbox); err != nil {
			t.Error(err)
		}
	}
}

// TestBrokenConfig: settings that Hermes cannot read are warned of before the Web UI is waited for.
func TestBrokenConfig(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	spec := s.spec("alice", "team")
	spec.NoWebUI = true
	made := s.create(spec)
	const words = "home alice: config.yaml is broken: "
	if s.heard(words) {
		t.Errorf("a good one: %q", s.said)
	}
	s.sh(made.Sandbox, "printf 'model: [\\n' >/root/.hermes/config.yaml")
	if _, err := s.client.Rebuild(t.Context(), made.Sandbox, s.spec("", "")); err != nil {
		t.Fatal(err)
	}
	if !s.heard(words) {
		t.Errorf("not warned: %q", s.said)
	}
}

// TestBareHome: a home that nobody seeded, and that cannot be without access to the
// node, is left as it is, so that it can be seeded later.
func TestBareHome(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	nodes := s.client.Nodes
	s.client.Nodes = nil
	for _, dir := range []string{"hermes-homes/alice", "hermes-workspaces/team", "hermes-common-skills"} {
		if err := os.MkdirAll(filepath.Join(s.opts.SharedRoot, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	s.client.Overlay = func(context.Context, *envd.Client) (string, error) { return "linked", nil }
	made, err := s.client.Create(t.Context(), s.spec("alice", "team"))
	var step *sandbox.StepError
	if !errors.Is(err, sandbox.ErrBareHome) || !errors.As(err, &step) || step.Step != 8 || made.Steps[6].Detail != "skipped: the home has no config.yaml" {
		t.Fatalf("%v, %+v", err, made.Steps)
	}
	if got := s.sh(made.Sandbox, "ls -A /root/.hermes"); got != "" {
		t.Errorf("left in it: %q", got)
	}
	if err := s.client.Stop(t.Context(), made.Sandbox); err != nil {
		t.Fatal(err)
	}
	spec := s.spec("alice", "team")
	spec.NoWebUI, spec.Env = true, map[string]string{"A": "b"}
	if made, err = s.client.Create(t.Context(), spec); !errors.Is(err, sandbox.ErrBareHome) {
		t.Errorf("with a variable: %v, %+v", err, made.Steps)
	}
	if got := s.sh(made.Sandbox, "ls -A /root/.hermes"); got != "" {
		t.Errorf("left by a variable: %q", got)
	}
	if err := s.client.Stop(t.Context(), made.Sandbox); err != nil {
		t.Fatal(err)
	}
	s.client.Nodes = nodes
	if made := s.create(s.spec("alice", "team")); made.Steps[2].Detail != sandbox.Seeded || made.Steps[6].Detail != "linked" {
		t.Errorf("seeded later: %+v", made.Steps)
	}
}

// TestOddFiles: what a home has in place of files that are read inside keeps nobody waiting.
func TestOddFiles(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	spec := s.spec("alice", "team")
	spec.NoWebUI = true
	made := s.create(spec)
	s.sh(made.Sandbox, "mkdir -p /root/.hermes/web-ui && mkfifo /root/.hermes/web-ui/.token /root/.hermes/.env")
	service, err := s.client.Route.Service(made.Sandbox)
	if err != nil {
		t.Fatal(err)
	}
	defer service.Close()
	began := time.Now()
	if token, err := s.client.Token(t.Context(), made.Sandbox, service); token != "" || !errors.Is(err, sandbox.ErrNoToken) {
		t.Errorf("token %q, %v", token, err)
	}
	again := s.spec("", "")
	again.Env, again.NoWebUI = map[string]string{"MODE": "blue"}, true
	if _, err := s.client.Rebuild(t.Context(), made.Sandbox, again); err != nil {
		t.Errorf("rebuild: %v", err)
	}
	if took := time.Since(began); took > 50*time.Second {
		t.Errorf("it took %v", took)
	}
}

// TestWebUISupervised: killed, it comes back; ended, it stays ended.
func TestWebUISupervised(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	made := s.create(s.spec("alice", "team"))
	s.sh(made.Sandbox, "pkill -KILL -f '^/usr/bin/python3 /usr/local/bin/hermes-studio'")
	s.sh(made.Sandbox, `for i in $(seq 100); do python3 -c 'import urllib.request as u; u.urlopen("http://127.0.0.1:9000/health")' 2>/dev/null && exit; sleep 0.2; done; exit 1`)
	s.sh(made.Sandbox, "kill $(cat /run/hermesbox-web-ui.pid); for i in $(seq 50); do [ -e /run/hermesbox-web-ui.end ] && exit; sleep 0.1; done; exit 1")
	if left := s.sh(made.Sandbox, "pgrep -f '^/usr/bin/python3 /usr/local/bin/hermes-studio' || true"); left != "" {
		t.Errorf("processes stay: %q", left)
	}
	if mode := s.sh(made.Sandbox, "stat -c %a /root/.hermes/web-ui/logs/supervisor.log"); mode != "600\n" {
		t.Errorf("mode of the log: %s", mode)
	}
}

// TestTemplatesRefused: templates that no sandbox should be made from.
func TestTemplatesRefused(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.create(s.spec("first", "work")) // makes the default home
	engine := dockertest.Default(t)
	for _, test := range []struct {
		name, dockerfile string
		is               error
	}{
		{"runs already", "ENTRYPOINT [\"/bin/sh\",\"-c\",\"python3 -m http.server 9000 >/dev/null 2>&1 & exec /init\"]\n", sandbox.ErrRunsAlready},
		{"baked token", "RUN mkdir -p /home/user/.hermes-web-ui && echo 0123456789abcdef >/home/user/.hermes-web-ui/.token\n", sandbox.ErrBakedToken},
		{"baked variable", "ENV AUTH_TOKEN=0123456789abcdef\n", sandbox.ErrBakedToken},
		{"no web ui", "RUN rm /usr/local/bin/hermes-studio\n", sandbox.ErrNoWebUI},
	} {
		id := strings.ReplaceAll(test.name, " ", "-")
		ref := "hermesbox-test/sandbox-" + id + ":1"
		buildImage(t, engine, ref, map[string]string{"Dockerfile": "FROM " + s.image + "\n" + test.dockerfile})
		spec := s.spec(id, "work")
		spec.Template = s.template(ref)
		made, err := s.client.Create(t.Context(), spec)
		var step *sandbox.StepError
		if !errors.Is(err, test.is) || !errors.As(err, &step) || step.Step != 8 || step.ID == "" {
			t.Errorf("%s: %v", test.name, err)
		}
		if strings.Contains(err.Error(), "0123456789abcdef") {
			t.Errorf("%s: the token is shown: %v", test.name, err)
		}
		if err := s.client.Stop(t.Context(), made.Sandbox); err != nil {
			t.Error(err)
		}
	}
}

// TestNoCommandService: a template that has none is told as such, and its
// sandbox stays with its record.
func TestNoCommandService(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.create(s.spec("first", "work")) // makes the default home
	ref := "hermesbox-test/sandbox-no-service:1"
	buildImage(t, dockertest.Default(t), ref, map[string]string{"Dockerfile": "FROM " + dockertest.BaseImage + "\nENTRYPOINT [\"sleep\", \"600\"]\n"})
	spec := s.spec("alice", "work")
	spec.Template = s.templateOf(ref, nil)
	s.client.Patience = time.Second
	made, err := s.client.Create(t.Context(), spec)
	var step *sandbox.StepError
	if !errors.Is(err, sandbox.ErrNoService) || !errors.As(err, &step) || step.Step != 5 || step.ID == "" {
		t.Fatalf("create: %v", err)
	}
	if !slices.Contains(s.records(), made.ID+".json") {
		t.Errorf("records: %q", s.records())
	}
}

// TestHealthProblem: readiness is judged by what each version says.
func TestHealthProblem(t *testing.T) {
	t.Parallel()
	bridge := func(ready bool) *struct {
		Ready bool `json:"ready"`
	} {
		return &struct {
			Ready bool `json:"ready"`
		}{ready}
	}
	for name, test := range map[string]struct {
		health sandbox.Health
		want   string
	}{
		"0.5 is well":             {sandbox.Health{Status: "ok", Gateway: "running", Version: "v0.19.0"}, ""},
		"0.5 without gateway":     {sandbox.Health{Status: "error", Gateway: "stopped"}, `its status is "error" and its gateway "stopped"`},
		"0.6 is well":             {sandbox.Health{Status: "ok", Version: "v0.19.0", Bridge: bridge(true)}, ""},
		"0.6 without Hermes":      {sandbox.Health{Status: "ok", Bridge: bridge(true)}, "it does not find Hermes Agent"},
		"0.6 with another bridge": {sandbox.Health{Status: "ok", Version: "v0.19.0", Bridge: bridge(false)}, "its bridge to Hermes Agent is not ready"},
	} {
		if diff := cmp.Diff(test.want, test.health.Problem()); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
