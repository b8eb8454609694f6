package hermesbox_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hermesbox/hermesbox"
	"github.com/hermesbox/hermesbox/internal/dockertest"
)

// TestRecipeIsSelfContained: the Dockerfile copies every file of the recipe, and nothing that hermesbox does not send.
func TestRecipeIsSelfContained(t *testing.T) {
	t.Parallel()
	copied := map[string]bool{}
	for _, name := range regexp.MustCompile(`\.hermesbox/(\S+)`).FindAllStringSubmatch(string(hermesbox.Dockerfile), -1) {
		copied[name[1]] = true
	}
	for _, sent := range []string{"manifest", "web-ui.tg[z]", "", "with"} {
		delete(copied, sent)
	}
	var got []string
	for name := range copied {
		got = append(got, name)
	}
	slices.Sort(got)
	if diff := cmp.Diff(recipeFiles(t), got); diff != "" {
		t.Errorf("files of recipe/ and files the Dockerfile copies (-recipe +copied):\n%s", diff)
	}
}

func recipeFiles(t *testing.T) []string {
	t.Helper()
	entries, err := fs.ReadDir(hermesbox.Recipe, "recipe")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

// TestDockerfileForOldFrontend: nothing that the frontend inside Engine 20.10 does not know.
func TestDockerfileForOldFrontend(t *testing.T) {
	t.Parallel()
	for _, word := range []string{"# syntax", "#syntax", "<<", "--link", "--exclude", "--parents", "--checksum"} {
		if strings.Contains(string(hermesbox.Dockerfile), word) {
			t.Errorf("Dockerfile.hermes uses %q", word)
		}
	}
	last := string(hermesbox.Dockerfile)[strings.LastIndex(string(hermesbox.Dockerfile), "\nFROM "):]
	for _, word := range []string{"RUN", "USER", "ENTRYPOINT", "CMD", "WORKDIR", "VOLUME"} {
		if strings.Contains(last, "\n"+word+" ") {
			t.Errorf("the last stage has a %s: user, entrypoint and services are the base's", word)
		}
	}
}

// TestScriptsParse: every script of the recipe is sh, and says so.
func TestScriptsParse(t *testing.T) {
	t.Parallel()
	for _, name := range recipeFiles(t) {
		if path.Ext(name) != "" && path.Ext(name) != ".sh" {
			continue
		}
		content, err := hermesbox.Recipe.ReadFile("recipe/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if name != "profile.sh" && !strings.HasPrefix(string(content), "#!/bin/sh\n") {
			t.Errorf("%s does not begin with #!/bin/sh", name)
		}
		cmd := exec.CommandContext(t.Context(), "sh", "-n")
		cmd.Stdin = strings.NewReader(string(content))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}

// TestNoForeignEndpoint: neither the recipe nor the default config names a host of the network.
func TestNoForeignEndpoint(t *testing.T) {
	t.Parallel()
	for _, name := range recipeFiles(t) {
		content, err := hermesbox.Recipe.ReadFile("recipe/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if url := regexp.MustCompile(`https?://[^\s"']*`).Find(content); url != nil {
			t.Errorf("%s names %s", name, url)
		}
	}
}

const project = `[build-system]
requires = ["setuptools>=77,<83"]
[project]
name = "hermes-agent"
requires-python = ">=3.9,<4"
dependencies = ["openai==2.24.0", "pywin32==1; sys_platform == 'win32'"]
[project.optional-dependencies]
mcp = ["mcp==1.26.0"]
messaging = ["aiohttp==3.14.1", "slack==1"]
homeassistant = ["aiohttp==3.14.1"]
sms = ["aiohttp==3.14.1"]
cli = ["menu==1"]
all = ["Hermes_Agent[cli]", "hermes-agent[mcp,all]"]
`

func TestRequirements(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		args    string
		project string // "": the one above
		want    string // "error: …" for a failure that says so
	}{
		"build":               {"build", "", "setuptools>=77,<83"},
		"no build system":     {"build", "[project]\nname='x'\n", "setuptools"},
		"python":              {"python", "", ""},
		"python too old":      {"python", "[project]\nname='x'\nrequires-python='>=9'\n", "error: the source wants >=9"},
		"extras":              {"extras mcp", "", "mcp homeassistant"},
		"extra with aiohttp":  {"extras messaging,mcp", "", "messaging mcp"},
		"no extra":            {"extras", "", "homeassistant"},
		"no extra has it":     {"extras a", "[project]\nname='x'\noptional-dependencies.a=[]\n", "a"},
		"unknown extra":       {"extras mcp,nope", "", "error: no extra 'nope'; it has: all, cli, homeassistant"},
		"project":             {"project mcp", "", "aiohttp==3.14.1 mcp==1.26.0 openai==2.24.0"},
		"extra of extras":     {"project all", "", "aiohttp==3.14.1 mcp==1.26.0 menu==1 openai==2.24.0"},
		"without any aiohttp": {"project a", "[project]\nname='x'\noptional-dependencies.a=['b']\n", "b aiohttp"},
	}
	python := needPython(t)
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			content := tt.project
			if content == "" {
				content = project
			}
			got := requirements(t, python, content, tt.args)
			wanted, fails := strings.CutPrefix(tt.want, "error: ")
			if fails && !strings.Contains(got, "error: ") || fails && !strings.Contains(got, wanted) || !fails && got != wanted {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// needPython is a Python 3.11 or later with pip, as the venv of the recipe has.
func needPython(t *testing.T) string {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err == nil {
		err = exec.CommandContext(t.Context(), python, "-c", "import tomllib, pip._vendor.packaging.requirements").Run()
	}
	if err != nil {
		dockertest.Missing(t, "python", err)
	}
	return python
}

// requirements runs requirements.py on a pyproject.toml; words of its lines, or "error: " and what it says.
func requirements(t *testing.T, python, pyproject, args string) string {
	t.Helper()
	dir := t.TempDir()
	script, err := hermesbox.Recipe.ReadFile("recipe/requirements.py")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "pyproject.toml")
	text := strings.Replace(string(script), "/opt/hermes-agent/pyproject.toml", file, 1)
	for name, content := range map[string]string{file: pyproject, filepath.Join(dir, "requirements.py"): text} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), python, append([]string{filepath.Join(dir, "requirements.py")}, strings.Fields(args)...)...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "error: " + string(out)
	}
	return strings.Join(strings.Fields(string(out)), " ")
}
