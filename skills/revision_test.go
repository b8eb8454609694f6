package skills_test

import (
	"errors"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hermesbox/hermesbox/skills"
)

// TestRevision: the commit that last changed the directory, whatever was
// committed elsewhere, and whether it differs from that.
func TestRevision(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	git := func(args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "git", append([]string{"-C", w.source, "-c", "user.name=n", "-c", "user.email=n@example.com"}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}
	read := func() skills.Revision {
		t.Helper()
		r, err := skills.ReadRevision(t.Context(), w.source+"/public")
		if err != nil {
			t.Error(err)
		}
		return r
	}
	w.skill("public/one", "x")
	if r := read(); r != (skills.Revision{}) || r.String() != "" {
		t.Errorf("without a repository: %+v", r)
	}
	git("init", "-q")
	if r := read(); r != (skills.Revision{}) {
		t.Errorf("without a commit: %+v", r)
	}
	git("add", ".")
	git("commit", "-qm", "one")
	first := read()
	if len(first.Commit) != 40 || first.Dirty || first.String() != first.Commit[:12] {
		t.Errorf("committed: %+v", first)
	}
	w.put("else", "x", 0o644)
	git("add", ".")
	git("commit", "-qm", "else")
	if r := read(); r != first {
		t.Errorf("a commit elsewhere: %+v, want %+v", r, first)
	}
	w.put("public/two/SKILL.md", "x", 0o644)
	if r := read(); r.Commit != first.Commit || !r.Dirty || r.String() != first.Commit[:12]+" with changes" {
		t.Errorf("a new file: %+v", r)
	}
	w.put(".git/config", "[core\n", 0o644)
	if r, err := skills.ReadRevision(t.Context(), w.source+"/public"); r != (skills.Revision{}) || !errors.Is(err, skills.ErrRevision) || !strings.Contains(err.Error(), "bad config line") {
		t.Errorf("a repository that git cannot read: %+v, %v", r, err)
	}
}

// TestDeployRevision: where only the revision is another, the ledger gets it, and nothing is sent.
func TestDeployRevision(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.skill("one", "x")
	w.deploy()
	r, err := w.release()
	must(t, err)
	r.Revision = skills.Revision{Commit: "def", Dirty: true}
	for range 2 {
		d, err := skills.Deploy(t.Context(), w.node, w.place, func() (skills.Release, error) { return r, nil })
		if err != nil || len(d.Actions) != 0 || d.Same != 1 {
			t.Errorf("%+v, %v", d, err)
		}
	}
	f, err := skills.Look(t.Context(), w.node, w.place)
	must(t, err)
	if f.Ledger.Revision != r.Revision {
		t.Errorf("%+v", f.Ledger)
	}
	if diff := cmp.Diff(map[string]string{"one": r.Set.Skills[0].Digest[:16]}, f.Deployed); diff != "" || len(f.Changed)+len(f.Missing)+len(f.Others) != 0 {
		t.Errorf("%+v\n%s", f, diff)
	}
}
