package skills_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hermesbox/hermesbox/internal/dockertest"
	"github.com/hermesbox/hermesbox/skills"
)

// home is a home on this machine, and the public skills that it would see.
type home struct {
	*testing.T
	dir, public string
}

func newHome(t *testing.T) *home {
	t.Helper()
	dir := t.TempDir()
	h := &home{t, filepath.Join(dir, "home"), filepath.Join(dir, "public")}
	write(t, filepath.Join(dir, "mounts"), "overlay / overlay rw 0 0\n/dev/x "+h.public+" ext4 ro 0 0\n", 0o644)
	must(t, os.MkdirAll(h.public, 0o755))
	must(t, os.MkdirAll(h.dir, 0o755))
	return h
}

func (h *home) private() string { return filepath.Join(h.dir, "skills") }

// give makes public skills.
func (h *home) give(names ...string) {
	h.Helper()
	for _, name := range names {
		write(h, filepath.Join(h.public, name, "SKILL.md"), head(name, "x"), 0o644)
	}
}

func (h *home) script(mode string) (skills.Overlaid, error) {
	h.Helper()
	cmd := exec.CommandContext(h.Context(), "sh", "overlay.sh", mode, h.private(), h.public, filepath.Join(h.public, "../mounts"), filepath.Join(h.dir, "config.yaml"), filepath.Join(h.public, "../bundled"))
	out, err := cmd.Output()
	if err != nil {
		h.Fatal(err)
	}
	return skills.ParseOverlaid(string(out))
}

// want compares an overlay, as words, without what is empty.
func (h *home) want(mode, want string) {
	h.Helper()
	o, err := h.script(mode)
	if err != nil {
		h.Fatal(err)
	}
	var got []string
	for _, list := range []struct {
		word  string
		names []string
	}{
		{"linked", o.Linked},
		{"kept", o.Kept},
		{"private", o.Private},
		{"elsewhere", o.Elsewhere},
		{"twice", o.Twice},
		{"missing", o.Missing},
		{"dangling", o.Dangling},
		{"removed", o.Removed},
		{"failed", o.Failed},
	} {
		if len(list.names) > 0 {
			got = append(got, fmt.Sprintf("%s %q", list.word, list.names))
		}
	}
	if diff := cmp.Diff(want, strings.Join(got, " ")); diff != "" {
		h.Errorf("%s: %s", mode, diff)
	}
}

// TestOverlayScript runs the script on this machine: what exists is private and
// wins, and a second run changes nothing.
func TestOverlayScript(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.give("afar", "archived", "one", "two", "mine", "file", "gone", "cat", "called", "quoted", "marked", "bundle", "odd name", "Upper")
	write(t, h.public+"/../bundled/bundle/inner/SKILL.md", "x", 0o644)
	must(t, os.Mkdir(h.public+"/empty", 0o755))
	write(t, h.public+"/README", "x", 0o644)
	write(t, h.private()+"/mine/SKILL.md", "private", 0o644)
	write(t, h.private()+"/file", "private", 0o644)
	must(t, os.Symlink("/nowhere", h.private()+"/gone"))
	write(t, h.private()+"/tools/cat/SKILL.md", head("else", "x"), 0o644)
	write(t, h.private()+"/tools/other/SKILL.md", head("called", "x"), 0o644)
	write(t, h.private()+"/tools/third/SKILL.md", "---\nname: \"quoted\" # so\n---\nname: two\n", 0o644)
	write(t, h.private()+"/tools/fourth/SKILL.md", "\ufeff---\r\n\"name\" : 'marked'\r\n---\r\n", 0o644)
	write(t, h.private()+"/line\nname: two\n/SKILL.md", "---\nname: [\n", 0o644)
	write(t, h.private()+"/.archive/old/SKILL.md", head("archived", "x"), 0o644)
	write(t, h.dir+"/trees/deep/afar/SKILL.md", "x", 0o644)
	write(t, h.private()+"/tools/.github/one/SKILL.md", "x", 0o644)
	must(t, os.Symlink("../trees", h.private()+"/trees"))
	must(t, os.Symlink(h.public, h.private()+"/all"))
	must(t, os.Symlink(h.public+"/../elsewhere", h.private()+"/out"))
	must(t, os.Symlink(h.public+"/one/../../elsewhere", h.private()+"/further"))
	must(t, os.Symlink(h.public+"/was", h.private()+"/was"))
	must(t, os.Symlink(h.public+"/was", h.private()+"/new\nline"))
	must(t, os.Symlink("../../public/was", h.private()+"/relative"))
	must(t, os.Symlink(h.public+"/was", h.private()+"/tools/was"))

	const home = `private ["file" "gone" "mine"] elsewhere ["afar" "bundle" "called" "cat" "marked" "quoted"] `
	h.want("look", home+`missing ["archived" "one" "two"] dangling ["new\nline" "was"]`)
	h.want("apply", `linked ["archived" "one" "two"] `+home+`removed ["new\nline" "was"]`)
	h.want("apply", `kept ["archived" "one" "two"] `+strings.TrimSpace(home))
	for name, want := range map[string]string{"one": h.public + "/one", "gone": "/nowhere", "relative": "../../public/was", "tools/was": h.public + "/was", "all": h.public, "out": h.public + "/../elsewhere", "further": h.public + "/one/../../elsewhere"} {
		if to, err := os.Readlink(h.private() + "/" + name); to != want {
			t.Errorf("%s: %q, %v", name, to, err)
		}
	}
	write(t, h.private()+"/tools/two/SKILL.md", "x", 0o644)
	must(t, os.RemoveAll(h.public+"/one"))
	h.want("apply", `kept ["archived" "two"] `+home+`twice ["two"] removed ["one"]`)
}

// TestOverlayProblems: what is wrong is said, and nothing is done.
func TestOverlayProblems(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		spoil func(h *home)
		want  error
		words string
	}{
		"no mount":  {func(h *home) { write(h, h.public+"/../mounts", "overlay / overlay rw 0 0\n", 0o644) }, skills.ErrNoMount, "no public skills"},
		"a link":    {func(h *home) { must(h, os.Symlink("/tmp", h.private())) }, skills.ErrHome, "is a link"},
		"a file":    {func(h *home) { write(h, h.private(), "x", 0o644) }, skills.ErrHome, "is no directory"},
		"a file up": {func(h *home) { must(h, os.RemoveAll(h.dir)); write(h, h.dir, "x", 0o644) }, skills.ErrHome, "mkdir"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHome(t)
			h.give("one")
			test.spoil(h)
			if o, err := h.script("apply"); !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.words) {
				t.Errorf("%+v, %v", o, err)
			}
		})
	}
}

// TestOverlayReadOnly: a home that cannot be written.
func TestOverlayReadOnly(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.give("one")
	must(t, os.Mkdir(h.private(), 0o755))
	dockertest.Tmpfs(t, "disk", h.private(), "ro")
	o, err := h.script("apply")
	if diff := cmp.Diff([]string{"one"}, o.Failed); diff != "" || err != nil || !strings.Contains(o.Said, "Read-only file system") {
		t.Errorf("%v, %+v\n%s", err, o, diff)
	}
	other := newHome(t)
	other.give("one")
	dockertest.Tmpfs(t, "disk", other.dir, "ro")
	if o, err := other.script("apply"); !errors.Is(err, skills.ErrHome) || !strings.Contains(err.Error(), "Read-only file system") {
		t.Errorf("%v, %+v", err, o)
	}
}

// TestOverlaySettings: a home whose settings do not name the public skills.
func TestOverlaySettings(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	for text, want := range map[string]bool{
		"model: x\n": true, "skills:\n  external_dirs:\n  - " + h.public + "\n": false, "# - " + h.public + "\n": true,
	} {
		write(t, h.dir+"/config.yaml", text, 0o644)
		if o, err := h.script("look"); err != nil || o.Unnamed != want {
			t.Errorf("%q: %v, %v", text, o.Unnamed, err)
		}
	}
}

// TestOverlayFast: a thousand skills take little.
func TestOverlayFast(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	for i := range 1000 {
		h.give(fmt.Sprintf("skill-%04d", i))
		write(t, fmt.Sprintf("%s/private/own-%04d/SKILL.md", h.private(), i), head("own", "x"), 0o644)
	}
	for round, want := range []string{"1000 linked, 0 linked before", "0 linked, 1000 linked before"} {
		began := time.Now()
		o, err := h.script("apply")
		if err != nil || !strings.HasPrefix(o.String(), want) {
			t.Errorf("%v, %v", o, err)
		}
		took := time.Since(began)
		t.Logf("%d: %v", round, took)
		if took > 300*time.Millisecond && dockertest.Required("speed") {
			t.Errorf("it took %v", took)
		}
	}
}

// TestParseOverlaid: an answer that no script gives is an error.
func TestParseOverlaid(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "linked one\n", "linked\x00one\x00", "linked\x00one\x00end\x00", "broken\x00one\x00end\x00\x00"} {
		if o, err := skills.ParseOverlaid(text); err == nil {
			t.Errorf("%q: %+v and no error", text, o)
		}
	}
	if none, err := skills.ParseOverlaid("end\x00\x00"); err != nil || none.String() != "0 linked, 0 linked before, 0 kept private" {
		t.Errorf("%v, %v", none, err)
	}
}

// FuzzParseOverlaid: what comes out of a sandbox is anything.
func FuzzParseOverlaid(f *testing.F) {
	f.Add("linked\x00one\x00end\x00\x00")
	f.Fuzz(func(t *testing.T, text string) {
		o, err := skills.ParseOverlaid(text)
		if err == nil && !strings.Contains(text, "end\x00") {
			t.Errorf("%q: %+v", text, o)
		}
	})
}
