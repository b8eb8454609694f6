package cmd_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// upContext runs the first stage, for which no Engine is needed, with two secrets.
func upContext(t *testing.T, env ...string) ran {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"source/file": "text", "Dockerfile": "FROM scratch\nCOPY . /\n"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	env = append(env, "CUBE_API_KEY=canary%key", "PASS=canary\npass")
	return hermesbox(t, env, "up", "--until", "context", "-f", filepath.Join(dir, "Dockerfile"), "--secret", "id=pass,env=PASS", filepath.Join(dir, "source"))
}

// TestTellCI: GitHub Actions, and nobody else, is told secrets to mask.
func TestTellCI(t *testing.T) {
	t.Parallel()
	got := upContext(t, "GITHUB_ACTIONS=true")
	var masks []string
	for line := range strings.Lines(got.stderr) {
		if strings.HasPrefix(line, "::") {
			masks = append(masks, strings.TrimSuffix(line, "\n"))
		} else if strings.Contains(line, "canary") {
			t.Errorf("shows a secret: %s", line)
		}
	}
	if diff := cmp.Diff([]string{"::add-mask::canary%25key", "::add-mask::canary%0Apass"}, masks); diff != "" || got.code != 0 {
		t.Errorf("exit code %d: %s\n%s", got.code, diff, got.stderr)
	}
	for _, env := range []string{"GITHUB_ACTIONS=", "GITHUB_ACTIONS=false", "CI=true"} {
		if got := upContext(t, env); got.code != 0 || strings.Contains(got.stderr+got.stdout, "canary") {
			t.Errorf("%s: exit code %d\n%s", env, got.code, got.stderr)
		}
	}
}

// TestStepSummary: up adds to the summary, and fails where it cannot.
func TestStepSummary(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "summary.md")
	if err := os.WriteFile(path, []byte("before\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	got := upContext(t, "GITHUB_STEP_SUMMARY="+path)
	text, err := os.ReadFile(path)
	want := "before\n### hermesbox up: unchanged\n\n| stage | action | result | reason |\n|---|---|---|---|\n| context | read | <code>" +
		strings.TrimSpace(got.stdout) + "</code> | <code>it is read whole each time</code> |\n\n"
	if diff := cmp.Diff(want, string(text)); diff != "" || err != nil || got.code != 0 {
		t.Errorf("exit code %d, %v\n%s%s", got.code, err, diff, got.stderr)
	}
	if got := upContext(t, "GITHUB_STEP_SUMMARY="+filepath.Dir(path)); got.code != 1 || !strings.Contains(got.stderr, "writing the step summary") {
		t.Errorf("a directory: exit code %d\n%s", got.code, got.stderr)
	}
}
