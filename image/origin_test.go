package image

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// checkout is a git checkout with one commit.
func checkout(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{"pyproject.toml": "[project]\nversion = \"1.2.3\"\n", ".gitignore": "ignored\n"})
	gitIn(t, dir, "init", "-q")
	gitIn(t, dir, "add", ".")
	gitIn(t, dir, "commit", "-qm", "first", "--date", "2026-01-02T03:04:05Z")
	return dir
}

func gitIn(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir, "-c", "user.name=n", "-c", "user.email=n@example.com"}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_COMMITTER_DATE=2026-01-02T03:04:05Z")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func TestOriginOfCheckout(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change   func(dir string) error
		modified bool
	}{
		"clean":          {func(string) error { return nil }, false},
		"tracked edited": {func(dir string) error { return os.WriteFile(filepath.Join(dir, ".gitignore"), nil, 0o644) }, true},
		"untracked sent": {func(dir string) error { return os.WriteFile(filepath.Join(dir, "new"), nil, 0o644) }, true},
		"ignored file":   {func(dir string) error { return os.WriteFile(filepath.Join(dir, "ignored"), nil, 0o644) }, false},
		"litter":         {func(dir string) error { return os.WriteFile(filepath.Join(dir, ".DS_Store"), nil, 0o644) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := checkout(t)
			if err := test.change(dir); err != nil {
				t.Fatal(err)
			}
			o, err := ReadOrigin(t.Context(), loadTree(t, dir), "")
			if err != nil {
				t.Fatal(err)
			}
			want := Origin{Revision: gitIn(t, dir, "rev-parse", "HEAD"), Modified: test.modified, Version: "1.2.3", Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
			if o != want {
				t.Errorf("origin %+v, want %+v", o, want)
			}
		})
	}
}

func TestOriginBelowACheckoutHasNoRevision(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(checkout(t), "below")
	writeFiles(t, dir, map[string]string{"f": "f"})
	o, err := ReadOrigin(t.Context(), loadTree(t, dir), "5")
	if err != nil || o != (Origin{Time: time.Unix(5, 0).UTC()}) {
		t.Errorf("origin %+v, %v", o, err)
	}
}

func TestOriginWithoutCommit(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{"f": "f"})
	gitIn(t, dir, "init", "-q")
	o, err := ReadOrigin(t.Context(), loadTree(t, dir), "")
	if err != nil || o.Revision != "" || o.NoGit == "" {
		t.Errorf("origin %+v, %v", o, err)
	}
}

// The environment of a git hook names its own repository.
func TestOriginIgnoresGitEnvironment(t *testing.T) {
	other, dir := checkout(t), checkout(t)
	gitIn(t, other, "commit", "-q", "--allow-empty", "-m", "second")
	t.Setenv("GIT_DIR", filepath.Join(other, ".git"))
	o, err := ReadOrigin(t.Context(), loadTree(t, dir), "")
	t.Setenv("GIT_DIR", filepath.Join(dir, ".git"))
	if want := gitIn(t, dir, "rev-parse", "HEAD"); err != nil || o.Revision != want {
		t.Errorf("revision %s (%v), want %s", o.Revision, err, want)
	}
}

func TestEpoch(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{"f": "f"})
	tree := loadTree(t, dir)
	for _, bad := range []string{"x", "-1", "1.5", "99999999999999999", "0x10", " 1"} {
		if _, err := ReadOrigin(t.Context(), tree, bad); !errors.Is(err, ErrSpec) || !strings.Contains(err.Error(), bad) {
			t.Errorf("SOURCE_DATE_EPOCH=%q: %v, want ErrSpec with the value", bad, err)
		}
	}
	o, err := ReadOrigin(t.Context(), tree, "253402300799")
	if got := o.labels("c", "r", Base{})[LabelCreated]; err != nil || got != "9999-12-31T23:59:59Z" {
		t.Errorf("created %q, %v", got, err)
	}
}
