package buildctx_test

import (
	"archive/tar"
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hermesbox/hermesbox/buildctx"
)

func TestExplain(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		".dockerignore": "# rules\n**/*.pyc\nd\n!d/keep\nw\n!w/*/x\n", "f": "", "a/x.pyc": "", "d/keep/f": "", "d/other/f": "",
		"._f": appleDouble(163), "._look": "no", "a/.DS_Store": "", "__MACOSX/a/b": "", ".git/config": "", "hermesbox.lock": "", "w/a/y": "",
	}
	root := plant(t, files)
	opts := buildctx.Options{Exclude: []string{"f"}}
	tests := []struct {
		path string
		want buildctx.Decision
	}{
		{".dockerignore", buildctx.Decision{Kind: "file", Included: true, Detail: "is in the context: no rule leaves it out"}},
		{"a", buildctx.Decision{Kind: "dir", Included: true, Detail: "is in the context: no rule leaves it out"}},
		{"./a//x.pyc", buildctx.Decision{Path: "a/x.pyc", Kind: "file", Rule: "**/*.pyc", File: ".dockerignore", Line: 2, Detail: "is left out by .dockerignore, line 2: **/*.pyc"}},
		{"f", buildctx.Decision{Kind: "file", Rule: "f", File: "context.exclude", Detail: "is left out by context.exclude: f"}},
		{"d", buildctx.Decision{Kind: "dir", Included: true, File: ".dockerignore", Line: 3, Detail: `is in the context for what it holds: .dockerignore, line 3: d leaves it out, and a later line brings back "d/keep"`}},
		{"d/keep/f", buildctx.Decision{Kind: "file", Included: true, Detail: "is in the context: no rule leaves it out"}},
		{"d/other/f", buildctx.Decision{Kind: "file", Rule: "d", File: ".dockerignore", Line: 3, Detail: "is left out by .dockerignore, line 3: d"}},
		{"w", buildctx.Decision{Kind: "dir", Rule: "w", File: ".dockerignore", Line: 5, Detail: "is left out by .dockerignore, line 5: w; no later line brings back anything that it holds"}},
		{"w/a/y", buildctx.Decision{Kind: "file", Rule: "w", File: ".dockerignore", Line: 5, Detail: "is left out by .dockerignore, line 5: w"}},
		{"._f", buildctx.Decision{Kind: "file", Rule: "litter", Detail: "is left out by the rule litter"}},
		{"._look", buildctx.Decision{Kind: "file", Rule: "look-alike", Detail: "is left out by the rule look-alike"}},
		{"a/.DS_Store", buildctx.Decision{Kind: "file", Rule: "litter", Detail: "is left out by the rule litter"}},
		{"__MACOSX/a/b", buildctx.Decision{Kind: "dir", Rule: "litter", At: "__MACOSX", Detail: `is below "__MACOSX", which is left out by the rule litter`}},
		{".git/config", buildctx.Decision{Kind: "dir", Rule: "local", At: ".git", Detail: `is below ".git", which is left out by the rule local`}},
		{"hermesbox.lock", buildctx.Decision{Kind: "file", Rule: "output", Detail: "is left out by the rule output"}},
		{filepath.Join(root, "a"), buildctx.Decision{Path: "a", Kind: "dir", Included: true, Detail: "is in the context: no rule leaves it out"}},
	}
	var members []member
	for name, content := range files {
		members = append(members, file(name, content))
	}
	data := forge(t, members...)
	for _, tt := range tests {
		t.Run(tt.path, func(t *testing.T) {
			t.Parallel()
			if tt.want.Path == "" {
				tt.want.Path = tt.path
			}
			got, err := buildctx.Explain(t.Context(), root, tt.path, opts)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
			got, err = buildctx.ExplainTar(t.Context(), bytes.NewReader(data), tt.want.Path, opts)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("in a tar: %s", diff)
			}
		})
	}
}

// TestExplainAgreesWithLoad asks about every path of a source, in the context or not.
func TestExplainAgreesWithLoad(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string]buildctx.Options{
		"its own rules":     {},
		"parts of parts":    {Exclude: []string{"a", "!a/b/c", "long"}},
		"no part":           {Exclude: []string{"a", "!a/nothing", "**/long", "!**/nothing"}},
		"a wildcard":        {Exclude: []string{"*", "!**/c", "!tools/model.py"}},
		"litter only":       {Exclude: []string{"tools", "!tools/._model.py", "a/x.pyc"}},
		"what is kept":      {Keep: []string{"**/._*", ".git", "!.venv"}},
		"kept and excluded": {Keep: []string{".git"}, Exclude: []string{".git", "!.git/config"}},
		"an empty one":      {Exclude: []string{"**", "!empty", "!f*", "!a-b"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := hermes(t)
			checkAgreement(t, root, load(t, root, opts), opts)
		})
	}
}

func checkAgreement(t *testing.T, root string, tree *buildctx.Tree, opts buildctx.Options) {
	t.Helper()
	err := fs.WalkDir(os.DirFS(root), ".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || path == "." {
			return err
		}
		d, err := buildctx.Explain(t.Context(), root, path, opts)
		if _, in := tree.Lookup(path); err != nil || d.Included != in || d.Included != (d.Rule == "") {
			t.Errorf("%q: in the context %v, %+v, %v", path, in, d, err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range tree.Receipt().Excluded {
		if d, err := buildctx.Explain(t.Context(), root, e.Path, opts); err != nil || d.Rule != e.Rule {
			t.Errorf("%q: %+v, %v", e.Path, d, err)
		}
	}
}

func TestExplainWhatCannotBeCarried(t *testing.T) {
	t.Parallel()
	root := plant(t, map[string]string{"f": "", "d/": ""})
	for _, name := range []string{"pipe", "out", "d/pipe"} {
		if err := mkfifo(filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	opts := buildctx.Options{Exclude: []string{"out", "d", "!d/pipe"}}
	data := forge(t, file("f", ""), of(tar.TypeFifo, "pipe"), of(tar.TypeFifo, "out"), of(tar.TypeFifo, "d/pipe"))
	fails := "is a fifo, which cannot be carried: the context fails on it until it is removed or excluded"
	for path, want := range map[string]buildctx.Decision{
		"pipe":   {Path: "pipe", Kind: "fifo", Detail: fails},
		"out":    {Path: "out", Kind: "fifo", Rule: "out", File: "context.exclude", Detail: "is left out by context.exclude: out"},
		"d/pipe": {Path: "d/pipe", Kind: "fifo", Detail: fails},
	} {
		got, err := buildctx.Explain(t.Context(), root, path, opts)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%v, %s", err, diff)
		}
		got, err = buildctx.ExplainTar(t.Context(), bytes.NewReader(data), path, opts)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("in a tar: %v, %s", err, diff)
		}
	}
	if _, err := buildctx.Load(t.Context(), root, opts); err == nil || !strings.Contains(err.Error(), `"d/pipe" is a named pipe`) {
		t.Errorf("got %v", err)
	}
}

func TestExplainKept(t *testing.T) {
	t.Parallel()
	root := plant(t, map[string]string{"._x": "", ".git/config": "", "bad\xff": ""})
	opts := buildctx.Options{Keep: []string{"._x", ".git"}}
	for path, want := range map[string]buildctx.Decision{
		"._x":         {Path: "._x", Kind: "file", Included: true, Detail: "is in the context: context.keep brings it back against the rule look-alike"},
		".git":        {Path: ".git", Kind: "dir", Included: true, Detail: "is in the context: context.keep brings it back against the rule local"},
		".git/config": {Path: ".git/config", Kind: "file", Included: true, Detail: "is in the context: no rule leaves it out"},
		"bad\xff":     {Path: "bad\xff", PathB64: "YmFk/w==", Kind: "file", Included: true, Detail: "is in the context: no rule leaves it out"},
	} {
		got, err := buildctx.Explain(t.Context(), root, path, opts)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%v, %s", err, diff)
		}
	}
}

func TestExplainErrors(t *testing.T) {
	t.Parallel()
	root := plant(t, map[string]string{"f": "", "d/g": ""})
	data := forge(t, file("f", ""), file("d/g", ""))
	for path, reason := range map[string]buildctx.Reason{
		"nothing": buildctx.NoEntry, "d/nothing": buildctx.NoEntry, "f/below": buildctx.NoEntry,
		"..": buildctx.NotBelow, "../x": buildctx.NotBelow, ".": buildctx.NotBelow, "/elsewhere": buildctx.NotBelow,
	} {
		var pathErr *buildctx.PathError
		if _, err := buildctx.Explain(t.Context(), root, path, buildctx.Options{}); !errors.As(err, &pathErr) || pathErr.Reason != reason {
			t.Errorf("%s: %v", path, err)
		}
		if _, err := buildctx.ExplainTar(t.Context(), bytes.NewReader(data), path, buildctx.Options{}); !errors.As(err, &pathErr) || pathErr.Reason != reason {
			t.Errorf("%s in a tar: %v", path, err)
		}
	}
	if _, err := buildctx.Explain(t.Context(), filepath.Join(root, "f"), "x", buildctx.Options{}); err == nil {
		t.Error("a file passes for a source")
	}
	if _, err := buildctx.Explain(t.Context(), root, "f", buildctx.Options{Exclude: []string{"[a"}}); err == nil {
		t.Error("a bad pattern passes")
	}
	if _, err := buildctx.ExplainTar(t.Context(), bytes.NewReader(data), "f", buildctx.Options{Exclude: []string{"[a"}}); err == nil {
		t.Error("a bad pattern passes for a tar")
	}
	if _, err := buildctx.ExplainTar(t.Context(), bytes.NewReader(nil), "f", buildctx.Options{}); !errors.Is(err, buildctx.ErrNotTar) {
		t.Errorf("no tar: %v", err)
	}
}
