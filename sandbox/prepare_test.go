package sandbox_test

import (
	"errors"
	"os"
	"os/exec"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hermesbox/hermesbox/sandbox"
)

func TestPrepareFirstUse(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	got, err := sandbox.Prepare(t.Context(), shNode{}, w.place("first"))
	w.do(err)
	if got.Home != sandbox.Seeded || got.Node != "here" {
		t.Errorf("prepared %+v", got)
	}
	if diff := cmp.Diff(w.layout.Mounts("first", "w"), got.Mounts); diff != "" {
		t.Error(diff)
	}
	for _, dir := range []string{w.layout.Home("first"), w.layout.Workspace("w")} {
		text, err := os.ReadFile(dir + "/" + got.NonceFile)
		w.do(err)
		if string(text) != got.Nonce+"\n" {
			t.Errorf("nonce in %s: %q, want %q", dir, text, got.Nonce)
		}
		info, err := os.Stat(dir + "/" + got.NonceFile)
		w.do(err)
		if info.Mode().Perm() != 0o600 {
			t.Errorf("nonce in %s has mode %v", dir, info.Mode())
		}
		w.do(os.Remove(dir + "/" + got.NonceFile))
	}
	w.sh("touch -r hermes-homes/default hermes-homes/first") // the nonce came and went
	if diff := cmp.Diff(w.tree("hermes-homes/default"), w.tree("hermes-homes/first")); diff != "" {
		t.Errorf("home against default:\n%s", diff)
	}
	if left := w.staged(); len(left) > 0 {
		t.Errorf("still staged: %q", left)
	}
	w.modes(map[string]os.FileMode{"hermes-homes/.hermesbox": 0o700, "hermes-workspaces": 0o711, "hermes-common-skills": 0o755})
}

func (w world) modes(want map[string]os.FileMode) {
	w.Helper()
	for name, mode := range want {
		info, err := os.Stat(w.path(name))
		w.do(err)
		if info.Mode().Perm() != mode {
			w.Errorf("%s has mode %v, want %v", name, info.Mode(), mode)
		}
	}
}

// TestPrepareAgain: an initialised home and what is in the workspace stay as they are.
func TestPrepareAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write("hermes-homes/old/config.yaml", "mine: true\n")
	w.write("hermes-homes/old/.hermesbox-nonce-stale", "x")
	w.write("hermes-homes/old/.hermesbox-nonce-recent", "x")
	w.write("hermes-workspaces/w/file", "mine")
	w.sh("touch -d '2 hours ago' hermes-homes/old/.hermesbox-nonce-stale")
	got, err := sandbox.Prepare(t.Context(), shNode{}, w.place("old"))
	w.do(err)
	w.sh("rm hermes-homes/old/" + got.NonceFile + " hermes-workspaces/w/" + got.NonceFile)
	if want := "./.hermesbox-nonce-recent\n./config.yaml\n"; w.sh("cd hermes-homes/old && find . -type f | sort") != want || got.Home != sandbox.Kept {
		t.Errorf("%s: %s", got.Home, w.sh("ls -lA hermes-homes/old"))
	}
	if w.read("hermes-homes/old/config.yaml") != "mine: true\n" || w.read("hermes-workspaces/w/file") != "mine" {
		t.Error("files changed")
	}
}

func TestPrepareRefuses(t *testing.T) {
	t.Parallel()
	path := func(name, problem string) func(w world) error {
		return func(w world) error { return &sandbox.PathError{Node: "here", Path: w.path(name), Problem: problem} }
	}
	for name, c := range map[string]struct {
		before string
		want   func(w world) error
	}{
		"home is a link":         {"ln -s default hermes-homes/h", path("hermes-homes/h", "it is a link")},
		"home is a file":         {"touch hermes-homes/h", path("hermes-homes/h", "it is no directory")},
		"home is a fifo":         {"mkfifo hermes-homes/h", path("hermes-homes/h", "it is no directory")},
		"config is a link":       {"mkdir hermes-homes/h; ln -s /etc/hostname hermes-homes/h/config.yaml", path("hermes-homes/h", "its config.yaml is a link")},
		"config dangles":         {"mkdir hermes-homes/h; ln -s nowhere hermes-homes/h/config.yaml", path("hermes-homes/h", "its config.yaml is a link")},
		"config is a directory":  {"mkdir -p hermes-homes/h/config.yaml", path("hermes-homes/h", "its config.yaml is no file")},
		"config is a fifo":       {"mkdir hermes-homes/h; mkfifo hermes-homes/h/config.yaml", path("hermes-homes/h", "its config.yaml is no file")},
		"workspace is a link":    {"mkdir -p hermes-workspaces; ln -s /etc hermes-workspaces/w", path("hermes-workspaces/w", "it is a link")},
		"workspaces are a link":  {"ln -s /etc hermes-workspaces", path("hermes-workspaces", "it is a link")},
		"workspace is a file":    {"mkdir -p hermes-workspaces; touch hermes-workspaces/w", path("hermes-workspaces/w", "it is no directory")},
		"skills are a file":      {"touch hermes-common-skills", path("hermes-common-skills", "it is no directory")},
		"state is a link":        {"mkdir x; ln -s ../x hermes-homes/.hermesbox", path("hermes-homes/.hermesbox", "it is a link")},
		"stage is a link":        {"mkdir hermes-homes/.hermesbox; ln -s /etc hermes-homes/.hermesbox/stage", path("hermes-homes/.hermesbox/stage", "it is a link")},
		"lock is a link":         {"mkdir hermes-homes/.hermesbox; ln -s /etc/hostname hermes-homes/.hermesbox/lock", path("hermes-homes/.hermesbox/lock", "it is a link")},
		"default has no config":  {"rm hermes-homes/default/config.yaml", path("hermes-homes/default", "it has no config.yaml")},
		"default is a link":      {"mv hermes-homes/default x; ln -s ../x hermes-homes/default", path("hermes-homes/default", "it is a link")},
		"default's config links": {"ln -sf SOUL.md hermes-homes/default/config.yaml", path("hermes-homes/default", "its config.yaml is a link")},
		"no default":             {"rm -r hermes-homes/default", func(world) error { return sandbox.ErrNoDefaultHome }},
		"empty default":          {"rm -r hermes-homes/default/*", func(world) error { return sandbox.ErrNoDefaultHome }},
		"entries, no config": {"mkdir hermes-homes/h; touch hermes-homes/h/.a \"hermes-homes/h/b\nhome\"", func(world) error {
			return &sandbox.NotInitialisedError{Node: "here", Home: "h", Entries: []string{"b\nhome", ".a"}, Count: 2}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.sh(c.before)
			before := w.sh("find hermes-homes -path '*/.hermesbox' -prune -o -printf '%p %y %l\\n' | sort")
			_, err := sandbox.Prepare(t.Context(), shNode{}, w.place("h"))
			want := c.want(w)
			if !errors.Is(err, want) && !sameError(err, want) {
				t.Errorf("got %v, want %v", err, want)
			}
			if home := w.sh("find hermes-homes -path '*/.hermesbox' -prune -o -printf '%p %y %l\\n' | sort"); home != before && name[:5] != "works" && name[:6] != "skills" {
				t.Errorf("homes changed:\n%s", cmp.Diff(before, home))
			}
		})
	}
}

// sameError compares a typed error with the one in a chain.
func sameError(err, want error) bool {
	var path *sandbox.PathError
	var uninitialised *sandbox.NotInitialisedError
	switch {
	case errors.As(err, &path):
		return cmp.Equal(error(path), want)
	case errors.As(err, &uninitialised):
		return cmp.Equal(error(uninitialised), want)
	}
	return false
}

func TestPrepareIDs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, p := range []sandbox.Place{
		{Layout: w.layout, Home: "../x", Workspace: "w"},
		{Layout: w.layout, Home: "default", Workspace: "w"},
		{Layout: w.layout, Home: "h"},
		{Layout: w.layout, Home: "h", Workspace: "a b"},
	} {
		if _, err := sandbox.Prepare(t.Context(), shNode{}, p); !errors.Is(err, sandbox.ErrSpec) {
			t.Errorf("%q, %q: %v", p.Home, p.Workspace, err)
		}
	}
	if got := w.sh("ls -A"); got != "hermes-homes\n" {
		t.Errorf("something was made: %s", got)
	}
}

// TestOtherShells: /bin/sh is not the same program everywhere.
func TestOtherShells(t *testing.T) {
	t.Parallel()
	for _, shell := range []string{"dash", "bash", "zsh"} {
		t.Run(shell, func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath(shell); err != nil {
				t.Skipf("no %s here: %v", shell, err)
			}
			w, n := newWorld(t), shNode{shell: shell}
			if shell == "zsh" {
				n.shell = w.link("sh", shell) // which makes it behave as one
			}
			got, err := sandbox.Prepare(t.Context(), n, w.place("h"))
			w.do(err)
			w.write("hermes-homes/adopted/skills/x y", "mine")
			did, err := sandbox.AdoptHome(t.Context(), n, w.layout, "adopted")
			w.do(err)
			homes, err := sandbox.Homes(t.Context(), n, w.layout)
			w.do(err)
			found, err := sandbox.Look(t.Context(), n, w.place("h"))
			w.do(err)
			shown, err := sandbox.ShowHome(t.Context(), n, w.layout, "adopted")
			w.do(err)
			if got.Home != sandbox.Seeded || did != sandbox.Added || len(homes) != 3 || found.Home.State != sandbox.Initialised || shown.Config != "" || shown.Size <= 0 {
				t.Errorf("%+v, %s, %+v, %+v, %+v", got, did, homes, found, shown)
			}
		})
	}
}

// link makes a link to a program, under another name.
func (w world) link(name, program string) string {
	w.Helper()
	path, err := exec.LookPath(program)
	w.do(err)
	link := w.TempDir() + "/" + name
	w.do(os.Symlink(path, link))
	return link
}
