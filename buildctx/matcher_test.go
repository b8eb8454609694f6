package buildctx

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/moby/patternmatcher"
	"github.com/moby/patternmatcher/ignorefile"
	"github.com/tonistiigi/fsutil"
)

// ours asks the matcher about a path as the walk does: parents first.
func ours(m *matcher, path string) (bool, error) {
	var parent verdicts
	for i := range len(path) {
		if path[i] == '/' {
			own := make(verdicts, len(m.patterns))
			if _, err := m.decide(path[:i], parent, own); err != nil {
				return false, err
			}
			parent = own
		}
	}
	by, err := m.decideFile(path, parent)
	return by != nil, err
}

// theirs asks the library the same, as BuildKit does.
func theirs(pm *patternmatcher.PatternMatcher, path string) (bool, error) {
	var parent patternmatcher.MatchInfo
	for i := range len(path) {
		if path[i] == '/' {
			_, info, err := pm.MatchesUsingParentResults(path[:i], parent)
			if err != nil {
				return false, err
			}
			parent = info
		}
	}
	out, _, err := pm.MatchesUsingParentResults(path, parent)
	return out, err
}

// FuzzMatcher compares with the library. Where its two ways of asking differ, BuildKit's counts.
func FuzzMatcher(f *testing.F) {
	for _, ignore := range []string{
		"foo", "**/c\n!a/b/c/x", "*\n!foo/*/quux", "a/b\n!a", "!!x\n.\n/\n", "[a-c]*\n![b]", "\\#a\n#b", "bad\xff*\n!bad\xffx",
		"\xef\xbb\xbffoo\nbar\r\n", "**\n!**/keep", "x /.\n! ./ y", "***\n!a**", "**/", "a/**/b",
	} {
		f.Add(ignore, "a/b/c/x")
		f.Add(ignore, "foo/bar/quux")
	}
	f.Fuzz(func(t *testing.T, ignore, path string) {
		if !fs.ValidPath(strings.ToValidUTF8(path, "x")) || path == "." || strings.Contains(ignore+path, "\x00") {
			return // a NUL byte is in no name, and refused in patterns
		}
		lines, err := ignorefile.ReadAll(strings.NewReader(ignore))
		if err != nil {
			return
		}
		pm, theirErr := patternmatcher.New(lines)
		patterns, ourErr := readIgnore(strings.NewReader(ignore), "i")
		if theirErr != nil {
			if ourErr == nil {
				t.Fatalf("%q: the library refuses it: %v", ignore, theirErr)
			}
			return
		}
		want, err := theirs(pm, path)
		if ourErr != nil || err != nil {
			// A pattern that does not compile is refused at once here, by the library when it is first asked.
			if ourErr == nil {
				t.Fatalf("%q: the library refuses to match it: %v", ignore, err)
			}
			if !refused(lines) {
				t.Fatalf("%q: refused here only: %v", ignore, ourErr)
			}
			return
		}
		got, err := ours(newMatcher(patterns), path)
		if err != nil || got != want {
			t.Errorf("%q on %q: %v, %v; BuildKit says %v", ignore, path, got, err, want)
		}
	})
}

// refused says that some line alone makes the library fail.
func refused(lines []string) bool {
	for _, line := range lines {
		pm, err := patternmatcher.New([]string{"**", line})
		if err != nil {
			return true
		}
		lone, err := patternmatcher.New([]string{line})
		if err != nil {
			return true
		}
		_, err = pm.MatchesOrParentMatches("\x00")
		_, err2 := lone.MatchesOrParentMatches("\x00")
		if err != nil || err2 != nil {
			return true
		}
	}
	return false
}

// TestAgainstBuildKitsWalk lets BuildKit's own filter walk random trees with random ignore files.
func TestAgainstBuildKitsWalk(t *testing.T) {
	t.Parallel()
	for seed := range uint64(150) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(seed, 1))
			root := t.TempDir()
			for range 25 {
				randomFile(t, r, root)
			}
			ignore := randomPatterns(r)
			got, err := walked(t, root, ignore)
			if err != nil {
				t.Fatal(err)
			}
			if want := buildKitWalk(t, root, ignore); !slices.Equal(got, want) {
				t.Errorf("ignore file %q:\n got %q\nwant %q", ignore, got, want)
			}
		})
	}
}

var parts = []string{"a", "b", "c", "ab", "bc"}

func randomFile(t *testing.T, r *rand.Rand, root string) {
	t.Helper()
	path := root
	for range 1 + r.IntN(4) {
		path = filepath.Join(path, parts[r.IntN(len(parts))])
	}
	if os.MkdirAll(filepath.Dir(path), 0o755) != nil {
		return // a file is in the way
	}
	if err := os.WriteFile(path, []byte(path), 0o644); err != nil && !errors.Is(err, fs.ErrExist) {
		return // a directory is in the way
	}
}

func randomPatterns(r *rand.Rand) string {
	pieces := append([]string{"*", "**", "?", "[ab]", "a*", "*b"}, parts...)
	var lines []string
	for range 1 + r.IntN(5) {
		var line []string
		for range 1 + r.IntN(3) {
			line = append(line, pieces[r.IntN(len(pieces))])
		}
		bang := ""
		if r.IntN(2) == 0 {
			bang = "!"
		}
		lines = append(lines, bang+strings.Join(line, "/"))
	}
	return strings.Join(lines, "\n")
}

func walked(t *testing.T, root, ignore string) ([]string, error) {
	t.Helper()
	patterns, err := readIgnore(strings.NewReader(ignore), "i")
	if err != nil {
		return nil, err
	}
	tree, err := load(t.Context(), root, &rules{ignore: newMatcher(patterns), keep: newMatcher(nil)}, nil, nil)
	if errors.Is(err, ErrEmpty) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var got []string
	for e := range tree.Entries() {
		got = append(got, e.Path)
	}
	return got, nil
}

func buildKitWalk(t *testing.T, root, ignore string) []string {
	t.Helper()
	lines, err := ignorefile.ReadAll(strings.NewReader(ignore))
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	files := 0
	err = fsutil.Walk(t.Context(), root, &fsutil.FilterOpt{ExcludePatterns: lines}, func(path string, info fs.FileInfo, err error) error {
		want = append(want, path)
		if info.Mode().IsRegular() {
			files++
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if files == 0 {
		return nil
	}
	return want
}

// TestLibraryAnswersAreKept pins the one place where the library's two ways of asking differ, should it ever change.
func TestLibraryAnswersAreKept(t *testing.T) {
	t.Parallel()
	pm, err := patternmatcher.New([]string{"a/b", "!a"})
	if err != nil {
		t.Fatal(err)
	}
	alone, err := pm.MatchesOrParentMatches("a/b")
	if err != nil || alone {
		t.Errorf("MatchesOrParentMatches: %v, %v", alone, err)
	}
	if walked, err := theirs(pm, "a/b"); err != nil || !walked {
		t.Errorf("MatchesUsingParentResults: %v, %v", walked, err)
	}
}

func TestNoComplaintOnStderr(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	old := os.Stderr //nolint:forbidigo // what the library writes there is looked at
	os.Stderr = w    //nolint:forbidigo // as above
	for _, ignore := range []string{"bad\xff", "bad\xff*", "!bad\xff*", "**/\xff", "\xfe/**", "!\xff"} {
		patterns, err := readIgnore(strings.NewReader("**\n"+ignore), "i")
		if err == nil {
			_, err = ours(newMatcher(patterns), "bad\xffx/y")
		}
		if err != nil {
			t.Error(err)
		}
	}
	os.Stderr = old //nolint:forbidigo // as above
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	said := make([]byte, 100)
	if n, _ := r.Read(said); n > 0 {
		t.Errorf("stderr has %q", said[:n])
	}
}
