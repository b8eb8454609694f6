package sandbox_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hermesbox/hermesbox/internal/dockertest"
	"github.com/hermesbox/hermesbox/sandbox"
)

// TestSeedIsIdentical: modes, owners, times, links, hard links, attributes and odd files come along as they are.
func TestSeedIsIdentical(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.sh(`cd hermes-homes/default
ln -s /etc/passwd outside; ln -s SOUL.md inside; ln -s nowhere dangling
ln SOUL.md hard; mkfifo fifo; mkdir -m 0700 private; touch "private/a
b" -- private/-rf; chmod 0640 SOUL.md; : >empty
touch -d 2001-02-03T04:05:06.789 SOUL.md; touch -h -d 2002-01-01 inside; touch -d 2003-01-01 private .`)
	w.sh(`[ "$(id -u)" != 0 ] || chown 12345:54321 hermes-homes/default/SOUL.md`)
	done, err := sandbox.SeedHome(t.Context(), shNode{}, w.layout, "h")
	w.do(err)
	if done != sandbox.Seeded {
		t.Errorf("did %q", done)
	}
	if diff := cmp.Diff(w.tree("hermes-homes/default"), w.tree("hermes-homes/h")); diff != "" {
		t.Error(diff)
	}
	if w.sh("stat -c %h hermes-homes/h/hard") != "2\n" {
		t.Error("the hard link is no link any more")
	}
}

func TestSeedTwentyAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.do(os.Mkdir(w.layout.Home("h"), 0o755)) // empty is as good as absent
	want := w.tree("hermes-homes/default")
	var seeded, kept atomic.Int32
	all(20, func(int) {
		done, err := sandbox.SeedHome(t.Context(), shNode{}, w.layout, "h")
		switch {
		case err != nil:
			t.Error(err)
		case done == sandbox.Seeded:
			seeded.Add(1)
		case done == sandbox.Kept:
			kept.Add(1)
		}
	})
	if seeded.Load() != 1 || kept.Load() != 19 {
		t.Errorf("%d seeded, %d kept", seeded.Load(), kept.Load())
	}
	w.same(want, "h")
}

// same wants a home that is as the default home, and nothing staged.
func (w world) same(want, home string) {
	w.Helper()
	if diff := cmp.Diff(want, w.tree("hermes-homes/"+home)); diff != "" {
		w.Errorf("home %s:\n%s", home, diff)
	}
	if left := w.staged(); len(left) > 0 {
		w.Errorf("still staged: %q", left)
	}
}

// TestSeedKilled: wherever the shell dies, the home is absent or whole, and the
// next run ends well.
func TestSeedKilled(t *testing.T) {
	t.Parallel()
	for _, point := range []string{"begun", "before-copy", "copied", "placed"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			want := w.tree("hermes-homes/default")
			if done, err := sandbox.SeedHome(t.Context(), shNode{dieAt: point}, w.layout, "h"); err == nil {
				t.Fatalf("the script was not killed: %s", done)
			}
			w.wholeOrAbsent(want, "h")
			_, err := sandbox.SeedHome(t.Context(), shNode{}, w.layout, "h")
			w.do(err)
			w.same(want, "h")
		})
	}
}

func (w world) wholeOrAbsent(want, home string) {
	w.Helper()
	if _, err := os.Lstat(w.layout.Home(home)); errors.Is(err, os.ErrNotExist) {
		return
	}
	if diff := cmp.Diff(want, w.tree("hermes-homes/"+home)); diff != "" {
		w.Errorf("half a home:\n%s", diff)
	}
}

// TestSeedKilledAtRandom kills 200 runs, at times the shell alone, at times all that it started.
func TestSeedKilledAtRandom(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range 60 {
		w.write(fmt.Sprintf("hermes-homes/default/skills/many/%03d", i), strings.Repeat("x", i))
	}
	want := w.tree("hermes-homes/default")
	took := w.timed()
	runs, killed := 200, 0
	if testing.Short() {
		runs = 20
	}
	for i := range runs {
		n := shNode{started: func(pid int) {
			if i%2 == 0 {
				pid = -pid
			}
			go func() {
				time.Sleep(rand.N(took))
				_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
			}()
		}}
		if _, err := sandbox.SeedHome(t.Context(), n, w.layout, "h"); err != nil {
			killed++
		}
		w.wholeOrAbsent(want, "h")
		if i%7 == 0 {
			w.do(os.RemoveAll(w.layout.Home("h")))
		}
	}
	if killed < runs/10 {
		t.Errorf("only %d runs of %d were killed", killed, runs)
	}
	_, err := sandbox.SeedHome(t.Context(), shNode{}, w.layout, "h")
	w.do(err)
	w.same(want, "h")
}

// timed is how long one seeding takes here.
func (w world) timed() time.Duration {
	start := time.Now()
	_, err := sandbox.SeedHome(w.Context(), shNode{}, w.layout, "timed")
	w.do(err)
	return time.Since(start)
}

// TestSeedTaken: what appears while the copy is made is not overwritten.
func TestSeedTaken(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]string{
		"a file":           `touch "$homes/h"`,
		"a directory":      `mkdir "$homes/h"; echo mine >"$homes/h/config.yaml"`,
		"another":          `mkdir "$homes/h"; echo mine >"$homes/h/note"`,
		"a link":           `ln -s /etc "$homes/h"`,
		"a dangling link":  `ln -s nowhere "$homes/h"`,
		"a linked default": `ln -s default "$homes/h"`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			want := w.tree("hermes-homes/default")
			_, err := sandbox.SeedHome(t.Context(), shNode{dieAt: "copied", insert: c}, w.layout, "h")
			if !errors.Is(err, sandbox.ErrTaken) {
				t.Errorf("got %v", err)
			}
			expect := bareWorld(t)
			expect.sh("mkdir hermes-homes; homes=hermes-homes; " + c)
			list := `find hermes-homes/h -printf '%p %y %l %s\n' | sort`
			if diff := cmp.Diff(expect.sh(list), w.sh(list)); diff != "" {
				t.Errorf("what came in between was changed:\n%s", diff)
			}
			if diff := cmp.Diff(want, w.tree("hermes-homes/default")); diff != "" {
				t.Errorf("the default home changed:\n%s", diff)
			}
		})
	}
}

// TestSeedNoSpace: a full disk is told with numbers, and leaves nothing behind.
func TestSeedNoSpace(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		dockertest.Missing(t, "root", "a small file system has to be mounted")
	}
	for name, c := range map[string]struct {
		options, fill string
		want          func(*sandbox.SpaceError) bool
	}{
		"bytes":     {"size=256k", "", func(e *sandbox.SpaceError) bool { return e.Need > e.Free && e.Free >= 0 }},
		"inodes":    {"size=4m,nr_inodes=30", "", func(e *sandbox.SpaceError) bool { return e.Files > e.Nodes && e.Nodes >= 0 }},
		"meanwhile": {"size=1m", `head -c 900000 /dev/zero >"$root/filler" 2>/dev/null`, func(e *sandbox.SpaceError) bool { return true }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := bareWorld(t)
			dockertest.Tmpfs(t, "disk", w.layout.Root, c.options)
			w.write("hermes-homes/default/config.yaml", "")
			for i := range 20 {
				w.write(fmt.Sprintf("hermes-homes/default/%d", i), strings.Repeat("x", 8000))
			}
			n := shNode{}
			if c.fill != "" {
				n = shNode{dieAt: "before-copy", insert: c.fill}
			}
			_, err := sandbox.SeedHome(t.Context(), n, w.layout, "h")
			var space *sandbox.SpaceError
			if !errors.As(err, &space) || !c.want(space) {
				t.Errorf("got %v", err)
			}
			if _, err := os.Lstat(w.layout.Home("h")); !errors.Is(err, os.ErrNotExist) || len(w.staged()) > 0 {
				t.Errorf("the home: %v; still staged: %q", err, w.staged())
			}
		})
	}
}

// TestSeedReadOnly: a read-only shared root is told as such.
func TestSeedReadOnly(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		dockertest.Missing(t, "root", "a file system has to be mounted")
	}
	w := bareWorld(t)
	dockertest.Tmpfs(t, "disk", w.layout.Root, "ro")
	if _, err := sandbox.SeedHome(t.Context(), shNode{}, w.layout, "h"); !errors.Is(err, sandbox.ErrReadOnly) {
		t.Errorf("got %v", err)
	}
	found, err := sandbox.Look(t.Context(), shNode{}, w.place("h"))
	w.do(err)
	if found.Root != sandbox.Unusable || found.RootProblem != "it cannot be written to" {
		t.Errorf("found %+v", found)
	}
}

func TestAdopt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.sh(`cd hermes-homes/default; mkdir -p linked deep/er; echo d >linked/x; echo d >deep/er/file; ln -s SOUL.md link; echo d >file-here; mkdir dir-here`)
	w.sh(`mkdir -p hermes-homes/h/skills/one outside; cd hermes-homes/h; echo mine >SOUL.md; echo mine >skills/one/SKILL.md; ln -s ../../outside linked
ln -s /nowhere deep; mkdir file-here; echo mine >dir-here; echo mine >other`)
	before := w.sh(`cd hermes-homes/h; find . -type f -exec sha256sum {} + | sort; find . -type l -printf '%p %l\n' | sort`)
	done, err := sandbox.AdoptHome(t.Context(), shNode{}, w.layout, "h")
	w.do(err)
	if done != sandbox.Added {
		t.Errorf("did %q", done)
	}
	got := w.sh(`cd hermes-homes/h; find . -mindepth 1 -printf '%y %p\n' | sort`)
	want := `d ./file-here
d ./skills
d ./skills/one
d ./skills/two
f ./SOUL.md
f ./config.yaml
f ./dir-here
f ./other
f ./skills/one/SKILL.md
f ./skills/two/SKILL.md
l ./deep
l ./link
l ./linked
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	after := w.sh(`cd hermes-homes/h; rm config.yaml link; rm -r skills/two; find . -type f -exec sha256sum {} + | sort; find . -type l -printf '%p %l\n' | sort`)
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("what was there changed:\n%s", diff)
	}
	if w.sh("ls -A outside") != "" || len(w.staged()) > 0 {
		t.Error("a link was followed, or something stays staged")
	}
}

// TestAdoptKilled: until the end there is no config.yaml, and the next run goes on.
func TestAdoptKilled(t *testing.T) {
	t.Parallel()
	for _, point := range []string{"added", "before-config"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.write("hermes-homes/h/note", "mine")
			if _, err := sandbox.AdoptHome(t.Context(), shNode{dieAt: point}, w.layout, "h"); err == nil {
				t.Fatal("the script was not killed")
			}
			if _, err := os.Lstat(w.path("hermes-homes/h/config.yaml")); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("config.yaml is there too early: %v", err)
			}
			_, err := sandbox.AdoptHome(t.Context(), shNode{}, w.layout, "h")
			w.do(err)
			w.do(os.Remove(w.path("hermes-homes/h/note")))
			w.sh("touch -r hermes-homes/default hermes-homes/h; chmod --reference=hermes-homes/default hermes-homes/h")
			w.same(w.tree("hermes-homes/default"), "h")
		})
	}
}

// TestAdoptElse: what needs no adopting is seeded, kept or refused.
func TestAdoptElse(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write("hermes-homes/kept/config.yaml", "mine: true\n")
	w.sh("mkdir -p hermes-homes/empty; ln -s default hermes-homes/link")
	for home, want := range map[string]string{"kept": sandbox.Kept, "empty": sandbox.Seeded, "absent": sandbox.Seeded} {
		done, err := sandbox.AdoptHome(t.Context(), shNode{}, w.layout, home)
		if err != nil || done != want {
			t.Errorf("%s: %q, %v", home, done, err)
		}
	}
	_, err := sandbox.AdoptHome(t.Context(), shNode{}, w.layout, "link")
	if !sameError(err, &sandbox.PathError{Node: "here", Path: w.layout.Home("link"), Problem: "it is a link"}) {
		t.Errorf("got %v", err)
	}
}

// TestAdoptSwapped: a directory that becomes a link on the way is not followed.
func TestAdoptSwapped(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.sh("mkdir -p hermes-homes/h/skills outside")
	n := shNode{dieAt: "before-enter", insert: `rmdir "$home/skills"; ln -s "$root/outside" "$home/skills"`}
	if _, err := sandbox.AdoptHome(t.Context(), n, w.layout, "h"); !errors.Is(err, sandbox.ErrTaken) {
		t.Error(err)
	}
	if got := w.sh("ls -A outside; [ ! -e hermes-homes/h/config.yaml ]"); got != "" {
		t.Errorf("outside the home there is now %s", got)
	}
}
