package skills_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hermesbox/hermesbox/skills"
)

// TestOverlayScript runs the script on this machine: what exists is private and
// wins, and a second run changes nothing.
func TestOverlayScript(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	public, private := filepath.Join(dir, "public"), filepath.Join(dir, "home", "skills")
	text, err := os.ReadFile("overlay.sh")
	if err != nil {
		t.Fatal(err)
	}
	sh := func(line string, args ...string) string {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), "sh", append([]string{"-c", line, "sh"}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return string(out)
	}
	sh(`set -e; mkdir -p "$2" "$1"; cd "$1"
		for s in one two mine gone odd\ name; do mkdir "$s"; echo x >"$s/SKILL.md"; done; mkdir empty; echo x >file
		mkdir "$2/mine"; ln -s /nowhere "$2/gone"`, public, private)
	got, err := skills.ParseOverlaid(sh(string(text), private, public))
	want := skills.Overlaid{Linked: []string{"one", "two"}, Kept: []string{}, Private: []string{"gone", "mine"}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v, %s", err, diff)
	}
	again, err := skills.ParseOverlaid(sh(string(text), private, public))
	want = skills.Overlaid{Linked: []string{}, Kept: []string{"one", "two"}, Private: []string{"gone", "mine"}}
	if diff := cmp.Diff(want, again); diff != "" || err != nil {
		t.Errorf("again: %v, %s", err, diff)
	}
	if got := strings.TrimSpace(sh(`readlink "$1/one" "$1/gone"`, private)); got != public+"/one\n/nowhere" {
		t.Errorf("links: %q", got)
	}
}

// TestParseOverlaid: an answer that no script gives is an error.
func TestParseOverlaid(t *testing.T) {
	t.Parallel()
	if _, err := skills.ParseOverlaid("linked one\nbroken\n"); err == nil {
		t.Error("no error")
	}
	if none, err := skills.ParseOverlaid(""); err != nil || none.String() != "0 linked, 0 linked before, 0 kept private" {
		t.Errorf("%v, %v", none, err)
	}
}
