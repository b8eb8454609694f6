package sandbox_test

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hermesbox/hermesbox/sandbox"
)

// TestDefaultOrigin: a default home tells what it was made from, and whether
// somebody changed it since.
func TestDefaultOrigin(t *testing.T) {
	t.Parallel()
	w := bareWorld(t)
	want := func(what string, want sandbox.Origin) {
		t.Helper()
		got, err := sandbox.DefaultOrigin(t.Context(), shNode{}, w.layout)
		w.do(err)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s:\n%s", what, diff)
		}
	}
	want("none", sandbox.Origin{State: sandbox.Absent, Changed: true})
	w.do(w.holdScript(shNode{}, false, "echo a: b >config.yaml; mkdir skills"))
	made := sandbox.Origin{State: sandbox.Initialised, Template: "tpl-1"}
	want("made", made)
	made.Changed = true
	w.write("hermes-homes/default/config.yaml", "a: c\n")
	want("a file changed", made)
	w.write("hermes-homes/default/config.yaml", "a: b\n")
	w.do(os.Mkdir(w.path("hermes-homes/default/more"), 0o755))
	want("a directory more", made)
	w.do(os.Remove(w.path("hermes-homes/default/more")))
	made.Changed = false
	want("as it was", made)
	for name, text := range map[string]string{"empty": "", "short": "tpl-1", "long": "tpl-1\n1 2\nmore\n"} {
		w.write("hermes-homes/.hermesbox/origin", text)
		want(name, sandbox.Origin{State: sandbox.Initialised, Changed: true})
	}
	w.do(os.Remove(w.path("hermes-homes/.hermesbox/origin")))
	want("not noted", sandbox.Origin{State: sandbox.Initialised, Changed: true})
}

// TestRemovePlace removes what a run made, and nothing that it leads to.
func TestRemovePlace(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.sh("mkdir -p hermes-homes/smoke-1/d hermes-workspaces/smoke-1 out; touch out/kept; ln -s $PWD/out hermes-homes/smoke-1/d/link")
	place := sandbox.Place{Layout: w.layout, Home: "smoke-1", Workspace: "smoke-1"}
	remove := func() error { return sandbox.RemovePlace(t.Context(), shNode{}, place) }
	w.do(remove())
	if left := w.sh("ls hermes-homes hermes-workspaces; ls out"); left != "hermes-homes:\ndefault\n\nhermes-workspaces:\nkept\n" {
		t.Errorf("left: %q", left)
	}
	w.sh("mkdir -p aside/smoke-1 && rm -rf hermes-homes && ln -s aside hermes-homes")
	if err := remove(); err == nil {
		t.Error("followed a link in place of the directory of homes")
	}
	if err := sandbox.RemovePlace(t.Context(), shNode{}, sandbox.Place{Layout: w.layout, Home: sandbox.DefaultHome, Workspace: "w"}); err == nil {
		t.Error("removed the default home")
	}
	if left := w.sh("ls aside"); left != "smoke-1\n" {
		t.Errorf("left: %q", left)
	}
}
