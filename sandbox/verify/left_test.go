package verify_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/hermesbox/hermesbox/internal/cube"
	"github.com/hermesbox/hermesbox/sandbox"
	"github.com/hermesbox/hermesbox/sandbox/verify"
)

var runID = regexp.MustCompile(`verify-[a-z2-7]{15}[a-z2-7_]`)

// ids are the ids of runs in what is left, each once.
func ids(left []string) []string {
	var out []string
	for _, line := range left {
		if id := runID.FindString(line); id != "" && !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return out
}

// TestLeftOver: what a killed run left is removed by the next, and nothing of a
// run that is at work, of another Cube or of somebody else.
func TestLeftOver(t *testing.T) {
	t.Parallel()
	s := newStage(t, "")
	notes := filepath.Join(s.opts.StateDir, "verify")
	id := func(letter string) string { return "verify-" + strings.Repeat(letter, 16) }
	if err := os.MkdirAll(notes, 0o700); err != nil {
		t.Fatal(err)
	}
	for letter, text := range map[string]string{"a": `{"where":"here"}`, "b": `{"where":"here"}`, "c": `{"where":"there"}`, "d": ""} {
		s.create(id(letter))
		if err := os.WriteFile(filepath.Join(notes, id(letter)), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s.create(id("a")[:22] + "_")
	s.create(id("e")) // of which no note tells
	if err := os.WriteFile(filepath.Join(notes, "other"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	working, err := os.OpenFile(filepath.Join(notes, id("b")), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer working.Close()
	if err := unix.Flock(int(working.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}

	var said []string
	o := s.options()
	o.Only, o.Notes, o.Where = []string{"mounts"}, notes, "here"
	o.Note = func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) }
	if _, err := verify.Smoke(t.Context(), s.client, sandbox.Spec{NoWebUI: true}, o); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{id("b"), id("c"), id("e")}, ids(s.left())); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
	entries, err := os.ReadDir(notes)
	if err != nil || len(entries) != 3 || entries[0].Name() != "other" || entries[1].Name() != id("b") || entries[2].Name() != id("c") {
		t.Errorf("notes: %v, %v", entries, err)
	}
	if all := strings.Join(said, "\n"); !strings.Contains(all, "removed "+id("a")+", which an earlier run left") || strings.Contains(all, "removed "+id("b")) {
		t.Errorf("said:\n%s", all)
	}
}

// TestCubeGone: where Cube goes away, the error says what stays, and the next
// run removes it.
func TestCubeGone(t *testing.T) {
	t.Parallel()
	s := newStage(t, "")
	gone, err := cube.New(cube.Options{APIURL: "http://127.0.0.1:1", MasterAddr: "http://127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(gone.Close)
	client := *s.client
	o := during(s.options(), "rebuilding", 1, func(string) { client.Cube = gone })
	o.Only, o.Notes, o.Where = []string{"mounts", "rebuild"}, filepath.Join(s.opts.StateDir, "verify"), "here"
	r, err := verify.Smoke(t.Context(), &client, sandbox.Spec{NoWebUI: true}, o)
	if err == nil || len(r.Checks) != 2 {
		t.Fatalf("%v, %+v", err, r.Checks)
	}
	left := ids(s.left())
	for _, want := range append(left, "removing what verify made", "sandbox "+r.Sandbox, "tries again") {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in: %v", want, err)
		}
	}
	if len(left) != 1 {
		t.Errorf("left: %q", left)
	}
	o.Note = s.say
	if _, err := verify.Smoke(t.Context(), s.client, sandbox.Spec{NoWebUI: true}, o); err != nil {
		t.Error(err)
	}
	if left := s.left(); len(left) > 0 {
		t.Errorf("left after the next run: %q", left)
	}
	client = *s.client
	client.Progress = func(step sandbox.Step) {
		if step.Number == 3 {
			client.Cube = gone
		}
	}
	if r, err := verify.Smoke(t.Context(), &client, sandbox.Spec{NoWebUI: true}, o); err == nil || len(r.Checks) > 0 || !strings.Contains(err.Error(), "step 4/10") {
		t.Errorf("a create that fails: %v", err)
	}
	if left := s.left(); len(left) > 0 {
		t.Errorf("left after a create that fails: %q", left)
	}
	o.Notes = filepath.Join(s.opts.StateDir, "verify", "no", "\x00")
	if _, err := verify.Smoke(t.Context(), s.client, sandbox.Spec{NoWebUI: true}, o); err != nil {
		t.Errorf("a run that cannot be noted: %v", err)
	}
}
