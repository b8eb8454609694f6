package buildctx_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hermesbox/hermesbox/buildctx"
)

// TestWhatIsKeptIsReported has a warning for each entry that is in the context against a rule, and for each pattern
// that brings nothing back.
func TestWhatIsKeptIsReported(t *testing.T) {
	t.Parallel()
	files := map[string]string{"a/._S": "s", "a/._d/x": "", "._real": appleDouble(163), ".git/config": "", ".venv": "->f", "f": ""}
	tests := []struct {
		name string
		opts buildctx.Options
		want []string
	}{
		{"nothing", buildctx.Options{Keep: []string{}}, []string{"look-alike a/._S", "look-alike a/._d"}},
		{"all", buildctx.Options{Keep: []string{"**/._*", ".git", ".venv"}}, []string{"kept .git", "kept .venv", "kept a/._S", "kept a/._d"}},
		{"twice", buildctx.Options{Keep: []string{"a/._S", "**/._S", "a"}}, []string{"kept a/._S", "kept a/._d"}},
		{"by a directory above", buildctx.Options{Keep: []string{"a"}}, []string{"kept a/._S", "kept a/._d"}},
		{"all but one", buildctx.Options{Keep: []string{"a", "!a/._S"}}, []string{"kept a/._d", "look-alike a/._S"}},
		{
			"patterns for nothing",
			buildctx.Options{Keep: []string{"f", "._real", "nothing"}},
			[]string{"look-alike a/._S", "look-alike a/._d", "ignore-file context.keep", "ignore-file context.keep", "ignore-file context.keep"},
		},
		{"excluded after all", buildctx.Options{Keep: []string{".git", "a"}, Exclude: []string{"a", ".git"}}, []string{"ignore-file context.keep"}},
		{"excluded but for a part", buildctx.Options{Keep: []string{".git"}, Exclude: []string{".git", "!.git/config", "a"}}, []string{"kept .git"}},
	}
	var members []member
	for name, content := range files {
		if name != ".venv" {
			members = append(members, file(name, content))
		}
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			slices.Sort(tt.want)
			got := warnings(load(t, plant(t, files), tt.opts).Receipt())
			slices.Sort(got)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
			inTar := warnings(loadTar(t, forge(t, members...), tt.opts).Receipt())
			for _, w := range inTar {
				if strings.HasPrefix(w, "kept") && !slices.Contains(tt.want, w) {
					t.Errorf("in a tar: %q", w)
				}
			}
		})
	}
}

// TestDetailsAreQuoted has names, targets and lines that would steer a terminal.
func TestDetailsAreQuoted(t *testing.T) {
	t.Parallel()
	esc := "\x1bc"
	root := plant(t, map[string]string{
		"out": "->/" + esc, "nowhere": "->" + esc, "._" + esc: "no", "a" + esc + "/x": "", "a" + esc + "/y": "", "LOGO" + esc: "", "logo" + esc: "",
		".dockerignore": "a" + esc + "\n!a?c/y\n" + esc + " # x\n",
	})
	mac := forge(t, member{paxHeader("f", "SCHILY.xattr.com.apple."+esc, "x"), ""}, file("g", ""), hard("h", "f"))
	all := load(t, root, buildctx.Options{Keep: []string{esc}}).Receipt().Warnings
	all = append(all, loadTar(t, mac, buildctx.Options{}).Receipt().Warnings...)
	kinds := map[string]bool{}
	for _, w := range all {
		kinds[w.Kind] = true
		if strings.Contains(w.Detail, "\x1b") {
			t.Errorf("%s: %q", w.Kind, w.Detail)
		}
	}
	for _, kind := range []string{"link-outside", "link-dangling", "look-alike", "classic-builder", "fold", "ignore-file", "xattr"} {
		if !kinds[kind] {
			t.Errorf("no warning of kind %s", kind)
		}
	}
}
