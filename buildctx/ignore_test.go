package buildctx_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/hermesbox/hermesbox/buildctx"
)

// in says which of the files are in the context under an ignore file. The ignore file itself is left out of the answer.
func in(t *testing.T, ignore string, files ...string) map[string]bool {
	t.Helper()
	tree := map[string]string{".dockerignore": ignore, "always": "here"}
	for _, f := range files {
		tree[f] = f
	}
	got := map[string]bool{}
	for e := range load(t, plant(t, tree), buildctx.Options{}).Entries() {
		got[e.Path] = true
	}
	return got
}

// TestIgnoreSemantics has a case for every measured behaviour of BuildKit's ignore files.
func TestIgnoreSemantics(t *testing.T) {
	t.Parallel()
	keepAlways := "\n!always"
	tests := []struct {
		name   string
		ignore string
		in     []string
		out    []string
	}{
		{"anchored at the root", "foo", []string{"a/foo"}, []string{"foo"}},
		{"leading slash", "/foo", []string{"a/foo"}, []string{"foo"}},
		{"leading dot", "./foo", nil, []string{"foo"}},
		{"trailing slash is not for directories only", "foo/", nil, []string{"foo"}},
		{"spaces around", "  foo  ", nil, []string{"foo"}},
		{"cleaned", "x/../foo", nil, []string{"foo"}},
		{"below a match", "foo", nil, []string{"foo/x", "foo/y/z"}},
		{"double star leaves the directory", "abc/**", []string{"abc"}, []string{"abc/x"}},
		{"double star slash is everything", "**/" + keepAlways, []string{"always"}, []string{"a", "b/c"}},
		{"double star inside", "foo/**/baz", []string{"foobaz"}, []string{"foo/baz", "foo/x/baz"}},
		{"double star and a dot", "**/.q*", []string{"a.q"}, []string{".qa", "sub/.qa"}},
		{"a plain star stays at the root", ".q*", []string{"sub/.qa"}, []string{".qa"}},
		{"double star without a slash", "**.qb", nil, []string{"a.qb"}},
		{"last match wins", "x\n!x\nx", nil, []string{"x"}},
		{"an exception before its rule", "!x\nx", nil, []string{"x"}},
		{"an exception below a parent", "**/c\n!a/b/c/include.txt", []string{"a/b/c/include.txt"}, []string{"a/b/c/exclude.txt"}},
		{"everything but a directory", "**\n!util/docker/web" + keepAlways, []string{"util/docker/web/x"}, []string{"util/docker/y"}},
		{"an exception with a wildcard inside", "*\n!foo/*/quux" + keepAlways, []string{"foo/a/quux"}, []string{"foo/a/other", "foo/b"}},
		{"an exception with a double star", "*\n!**/x" + keepAlways, []string{"d/e/x"}, []string{"d/e/y"}},
		{"lines that match nothing", "!!x\n.\n/\n./\n..", []string{"x", "y/z"}, nil},
		{"a comment behind a pattern", "*.crc # note", []string{"a.crc"}, nil},
		{"a comment with a space before is a pattern", " #a", nil, []string{"#a"}},
		{"a comment", "#a", []string{"#a"}, nil},
		{"an escaped number sign", `\#a`, nil, []string{"#a"}},
		{"braces are literal", "x{a,b}", []string{"xa"}, []string{"x{a,b}"}},
		{"case matters", "A.TXT", []string{"a.txt"}, []string{"A.TXT"}},
		{"no normalisation", "caf\u00e9", []string{"cafe\u0301"}, []string{"caf\u00e9"}},
		{"carriage returns", "foo\r\nbar\r\n", []string{"baz"}, []string{"foo", "bar"}},
		{"a trimmed carriage return", "name\r", []string{"name\r"}, []string{"name"}},
		{"a question mark for a carriage return", "name?", []string{"name"}, []string{"name\r"}},
		{"backslash is no separator", `dir\file`, []string{"dir/file"}, nil},
		{"backslash escapes", `a\*b`, []string{"axb"}, []string{"a*b"}},
		{"not UTF-8", "bad\xff", []string{"bad"}, []string{"bad\xff"}},
		{"not UTF-8, with a wildcard", "bad\xff*", []string{"bad"}, []string{"bad\xffx", "bad\xfex"}},
		{"not UTF-8, anywhere", "**/bad\xff", []string{"bad"}, []string{"bad\xff", "d/bad\xff"}},
		{"not UTF-8, below", "bad\xff/**", []string{"bad\xff"}, []string{"bad\xff/a"}},
		{"byte order mark", "\ufefffoo", nil, []string{"foo"}},
		{"byte order mark on a later line", "bar\n\ufefffoo", []string{"foo"}, []string{"bar"}},
		{"star stops at a slash and crosses a line break", "a*z", []string{"a/z"}, []string{"a\nz"}},
		{"an exception does not undo what its parent never excluded", "a/b\n!a", []string{"a/c"}, []string{"a/b"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var files []string
			for _, f := range append(slices.Clone(tt.in), tt.out...) {
				if !slices.ContainsFunc(append(tt.in, tt.out...), func(o string) bool { return strings.HasPrefix(o, f+"/") }) {
					files = append(files, f)
				}
			}
			got := in(t, tt.ignore, files...)
			for _, f := range tt.in {
				if !got[f] {
					t.Errorf("%q is left out", f)
				}
			}
			for _, f := range tt.out {
				if got[f] {
					t.Errorf("%q is in the context", f)
				}
			}
		})
	}
}

func TestIgnoreErrorsNameTheLine(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, ignore string
		line         int
		text         string
	}{
		{"open bracket", "ok\n[a\n", 2, `.dockerignore, line 2: pattern "[a"`},
		{"bare exception", "!\n", 1, `.dockerignore, line 1: pattern "!"`},
		{"exception of a space", "a\nb\n! \n", 3, `.dockerignore, line 3: pattern "!"`},
		{"exception of the root", "!/\n", 1, `pattern "!/"`},
		{"backward range", "x\n\n[z-a]\n", 3, `pattern "[z-a]"`},
		{"backward range in an exception", "**\n![z-a]\n", 2, `pattern "![z-a]"`},
		{"UTF-16", "a\x00\n\x00", 1, "NUL byte; write the file as UTF-8"},
		{"long line", "a\nb\n" + strings.Repeat("x", 64<<10) + "\nc\n", 3, "line 3: the line is longer than 64 KiB"},
		{"long file", strings.Repeat("#\n", 8<<20+1), 0, "larger than 16 MiB"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := buildctx.Load(t.Context(), plant(t, map[string]string{".dockerignore": tt.ignore, "a": ""}), buildctx.Options{})
			var ignoreErr *buildctx.IgnoreError
			if !errors.As(err, &ignoreErr) {
				t.Fatalf("got %v", err)
			}
			if ignoreErr.Line != tt.line || !strings.Contains(err.Error(), tt.text) {
				t.Errorf("got line %d, %q", ignoreErr.Line, err)
			}
		})
	}
}

func TestIgnoreLineOfTheLongestLength(t *testing.T) {
	t.Parallel()
	got := in(t, strings.Repeat("x", 64<<10-1)+"\nfoo\n", "foo", "bar")
	if got["foo"] || !got["bar"] {
		t.Errorf("the line after a long one is not read: %v", got)
	}
}

func TestOptionPatternErrorsNameTheKey(t *testing.T) {
	t.Parallel()
	root := plant(t, map[string]string{"a": ""})
	for key, opts := range map[string]buildctx.Options{
		"context.keep": {Keep: []string{"ok", "[a"}}, "context.exclude": {Exclude: []string{"!"}},
	} {
		_, err := buildctx.Load(t.Context(), root, opts)
		if err == nil || !strings.HasPrefix(err.Error(), key+": pattern ") {
			t.Errorf("%s: got %v", key, err)
		}
	}
}

func TestDockerfileIgnoreReplacesTheRoots(t *testing.T) {
	t.Parallel()
	root := plant(t, map[string]string{".dockerignore": "a", "a": "", "b": ""})
	other := plant(t, map[string]string{"My.dockerignore": "b", "Empty.dockerignore": "# nothing"})
	tests := []struct {
		dockerfile string
		want       []string
	}{
		{other + "/My", []string{"f .dockerignore", "f a"}},
		{other + "/Empty", []string{"f .dockerignore", "f a", "f b"}},
		{other + "/Missing", []string{"f .dockerignore", "f b"}},
	}
	for _, tt := range tests {
		got := paths(load(t, root, buildctx.Options{Dockerfile: tt.dockerfile}))
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %q, want %q", tt.dockerfile, got, tt.want)
		}
	}
}

func TestExcludeComesAfterTheIgnoreFile(t *testing.T) {
	t.Parallel()
	root := plant(t, map[string]string{".dockerignore": "*\n!a\n!b\n", "a": "", "b": "", "c": ""})
	got := paths(load(t, root, buildctx.Options{Exclude: []string{"b", "!c"}}))
	if want := []string{"f a", "f c"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
