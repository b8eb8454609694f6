package sandbox_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hermesbox/hermesbox/sandbox"
)

func TestLook(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.sh(`mkdir -p hermes-homes/h hermes-workspaces/w hermes-homes/.hermesbox/sandboxes; cd hermes-homes/h
touch .hidden "two words" "end" "` + "a\nhome state" + `"; for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do touch "n$i"; done
touch -d @1000000000 .
cd ../.hermesbox/sandboxes; printf '{"id":"a"}' >a.json; printf '{"id":\n"b"}\n' >b.json; : >empty.json; printf 'x\0y' >zero.json
ln -s a.json link.json; mkfifo fifo.json; mkdir dir.json; echo other >other.txt; head -c 20000 /dev/zero >long.json`)
	before := w.sh("find . -printf '%p %y %T@ %C@\\n' | sort")
	got, err := sandbox.Look(t.Context(), shNode{}, w.place("h"))
	w.do(err)
	if after := w.sh("find . -printf '%p %y %T@ %C@\\n' | sort"); after != before {
		t.Errorf("looking changed something:\n%s", cmp.Diff(before, after))
	}
	want := sandbox.Found{
		Node: "here", Root: sandbox.Usable, Workspace: sandbox.Usable,
		Home:    sandbox.Home{ID: "h", State: sandbox.Uninitialised, Count: 24, Modified: time.Unix(1000000000, 0).UTC()},
		Default: sandbox.Home{ID: "default", State: sandbox.Initialised},
		Records: map[string][]byte{"a.json": []byte("{\"id\":\"a\"}\n"), "b.json": []byte("{\"id\":\n\"b\"}\n"), "empty.json": {}, "zero.json": []byte("xy\n")},
	}
	ignore := cmp.Options{
		cmpopts.IgnoreFields(sandbox.Home{}, "Entries"), cmpopts.IgnoreFields(sandbox.Found{}, "Free", "Files"),
		cmp.FilterPath(func(p cmp.Path) bool { return p.String() == "Default.Modified" }, cmp.Ignore()),
	}
	if diff := cmp.Diff(want, got, ignore); diff != "" {
		t.Error(diff)
	}
	if len(got.Home.Entries) != 20 || got.Home.Entries[0] != "a\nhome state" || got.Free <= 0 || got.Files == 0 {
		t.Errorf("entries %q, %d free, %d files", got.Home.Entries, got.Free, got.Files)
	}
}

// TestLookAtNothing: a node that nothing was done on yet.
func TestLookAtNothing(t *testing.T) {
	t.Parallel()
	w := bareWorld(t)
	w.layout.Root += "/not/there"
	got, err := sandbox.Look(t.Context(), shNode{}, w.place("h"))
	w.do(err)
	want := sandbox.Found{
		Node: "here", Root: sandbox.Absent, Workspace: sandbox.Absent, Records: map[string][]byte{},
		Home:    sandbox.Home{ID: "h", State: sandbox.Absent},
		Default: sandbox.Home{ID: "default", State: sandbox.Absent},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(sandbox.Found{}, "Free", "Files")); diff != "" || got.Free < 0 {
		t.Errorf("%d free\n%s", got.Free, diff)
	}
}

// TestLookStates: what a home can be. Nothing blocks on a fifo, and no link is followed.
func TestLookStates(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before  string
		state   sandbox.State
		problem string
	}{
		"absent":             {"true", sandbox.Absent, ""},
		"empty":              {"mkdir h", sandbox.Empty, ""},
		"initialised":        {"mkdir h; touch h/config.yaml", sandbox.Initialised, ""},
		"hard link":          {"mkdir h; ln default/config.yaml h/config.yaml", sandbox.Initialised, ""},
		"hidden entry":       {"mkdir h; touch h/.x", sandbox.Uninitialised, ""},
		"two dots":           {"mkdir h; touch h/..x", sandbox.Uninitialised, ""},
		"dangling entry":     {"mkdir h; ln -s nowhere h/x", sandbox.Uninitialised, ""},
		"other config":       {"mkdir h; touch h/Config.yaml", sandbox.Uninitialised, ""},
		"link to a home":     {"ln -s default h", sandbox.Unusable, "it is a link"},
		"dangling":           {"ln -s nowhere h", sandbox.Unusable, "it is a link"},
		"loop":               {"ln -s h h", sandbox.Unusable, "it is a link"},
		"file":               {"touch h", sandbox.Unusable, "it is no directory"},
		"fifo":               {"mkfifo h", sandbox.Unusable, "it is no directory"},
		"config link":        {"mkdir h; ln -s ../default/config.yaml h/config.yaml", sandbox.Unusable, "its config.yaml is a link"},
		"config dangles":     {"mkdir h; ln -s nowhere h/config.yaml", sandbox.Unusable, "its config.yaml is a link"},
		"config fifo":        {"mkdir h; mkfifo h/config.yaml", sandbox.Unusable, "its config.yaml is no file"},
		"config directory":   {"mkdir -p h/config.yaml", sandbox.Unusable, "its config.yaml is no file"},
		"link to a fifo":     {"mkdir h; mkfifo h/f; ln -s f h/config.yaml", sandbox.Unusable, "its config.yaml is a link"},
		"fifo beside config": {"mkdir h; touch h/config.yaml; mkfifo h/f", sandbox.Initialised, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.sh("cd hermes-homes; " + c.before)
			got, err := sandbox.Look(t.Context(), shNode{}, w.place("h"))
			w.do(err)
			if got.Home.State != c.state || got.Home.Problem != c.problem {
				t.Errorf("got %q, %q", got.Home.State, got.Home.Problem)
			}
		})
	}
}

// TestLookRoot: what is wrong with the shared root.
func TestLookRoot(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ before, problem string }{
		"homes link":      {"ln -s /etc hermes-homes", "/hermes-homes: it is a link"},
		"workspaces file": {"touch hermes-workspaces", "/hermes-workspaces: it is no directory"},
		"skills link":     {"ln -s nowhere hermes-common-skills", "/hermes-common-skills: it is a link"},
		"state link":      {"mkdir hermes-homes; ln -s /etc hermes-homes/.hermesbox", "/hermes-homes/.hermesbox: it is a link"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := bareWorld(t)
			w.sh(c.before)
			got, err := sandbox.Look(t.Context(), shNode{}, w.place("h"))
			w.do(err)
			if got.Root != sandbox.Unusable || got.RootProblem != w.layout.Root+c.problem {
				t.Errorf("got %q, %q", got.Root, got.RootProblem)
			}
		})
	}
}

func TestHomes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.sh(`mkdir -p hermes-homes/.hermesbox hermes-homes/empty "hermes-homes/No Home" hermes-homes/full; touch hermes-homes/full/x; ln -s full hermes-homes/link`)
	got, err := sandbox.Homes(t.Context(), shNode{}, w.layout)
	w.do(err)
	want := []sandbox.Home{
		{ID: "No Home", State: sandbox.Unusable, Problem: "its name is no home-id"},
		{ID: "default", State: sandbox.Initialised},
		{ID: "empty", State: sandbox.Empty},
		{ID: "full", State: sandbox.Uninitialised, Entries: []string{"x"}, Count: 1},
		{ID: "link", State: sandbox.Unusable, Problem: "it is a link"},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(sandbox.Home{}, "Modified")); diff != "" {
		t.Error(diff)
	}
	none, err := sandbox.Homes(t.Context(), shNode{}, sandbox.Layout{Root: w.path("nothing")})
	if err != nil || len(none) != 0 {
		t.Errorf("of nothing: %v, %v", none, err)
	}
}

func TestShowHome(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ before, problem string }{
		"good":      {`echo "model: {}" >h/config.yaml`, ""},
		"empty":     {`: >h/config.yaml`, ""},
		"broken":    {`printf 'a: [\n' >h/config.yaml`, "config.yaml is broken: yaml: line 1: did not find expected node content"},
		"a list":    {`echo "- a" >h/config.yaml`, "config.yaml is broken: it is no mapping"},
		"two":       {`printf 'a: b\n---\nc: d\n' >h/config.yaml`, "config.yaml is broken: it has more than one document"},
		"binary":    {`head -c 1000 /dev/zero >h/config.yaml`, "config.yaml is broken: yaml: control characters are not allowed"},
		"too long":  {`head -c 2000000 /dev/zero >h/config.yaml`, "it is longer than 1 MiB"},
		"hard link": {`echo "a: b" >x; ln x h/config.yaml`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := bareWorld(t)
			w.sh("mkdir -p hermes-homes/h; cd hermes-homes; " + c.before)
			got, err := sandbox.ShowHome(t.Context(), shNode{}, w.layout, "h")
			w.do(err)
			if got.State != sandbox.Initialised || got.Config != c.problem || got.Size <= 0 || got.Modified.IsZero() {
				t.Errorf("got %+v, want problem %q", got, c.problem)
			}
		})
	}
}

func TestShowHomeElse(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	got, err := sandbox.ShowHome(t.Context(), shNode{}, w.layout, "nothing")
	if err != nil || got.State != sandbox.Absent || got.Size != -1 {
		t.Errorf("absent: %+v, %v", got, err)
	}
	if got, err = sandbox.ShowHome(t.Context(), shNode{}, w.layout, sandbox.DefaultHome); err != nil || got.State != sandbox.Initialised {
		t.Errorf("default: %+v, %v", got, err)
	}
	if _, err = sandbox.ShowHome(t.Context(), shNode{}, w.layout, "../x"); !errors.Is(err, sandbox.ErrSpec) {
		t.Errorf("../x: %v", err)
	}
}

// TestErrorWords: each error names the node and what is about it.
func TestErrorWords(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		want string
	}{
		{&sandbox.NotInitialisedError{Node: "n", Home: "h", Entries: []string{"a\nb", "c"}, Count: 5}, `home h on node n has no config.yaml, but "a\nb", "c" and 3 more`},
		{&sandbox.SpaceError{Node: "n", Path: "/p", Need: 9 << 20, Free: 1 << 20, Files: 3, Nodes: 9}, "no space left in /p on node n: 9216 KiB are needed, 1024 KiB are free"},
		{&sandbox.SpaceError{Node: "n", Path: "/p", Need: 1, Free: 2, Files: 30, Nodes: 9}, "no space left in /p on node n: 30 files are to be made, 9 inodes are free"},
		{&sandbox.SpaceError{Node: "n", Path: "/p", Need: -1, Free: -1, Files: -1, Nodes: -1}, "no space left in /p on node n"},
		{&sandbox.PathError{Node: "n", Path: "/p", Problem: "it is a link"}, "/p on node n: it is a link"},
	} {
		if got := c.err.Error(); !strings.HasPrefix(got, c.want) {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

// TestShowLongProblem: what a sandbox wrote is quoted in part only.
func TestShowLongProblem(t *testing.T) {
	t.Parallel()
	w := bareWorld(t)
	w.write("hermes-homes/h/config.yaml", "a: *"+strings.Repeat("x", 100_000)+"\n")
	got, err := sandbox.ShowHome(t.Context(), shNode{}, w.layout, "h")
	w.do(err)
	if len(got.Config) != 200 || !strings.HasPrefix(got.Config, "config.yaml is broken: ") {
		t.Errorf("problem of %d bytes: %.60s", len(got.Config), got.Config)
	}
}
