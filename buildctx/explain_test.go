package buildctx_test

import (
	"bytes"
	"errors"
	"path/filepath"
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
		{"d/keep/f", buildctx.Decision{Kind: "file", Included: true, Detail: "is in the context: no rule leaves it out"}},
		{"d/other/f", buildctx.Decision{Kind: "file", Rule: "d", File: ".dockerignore", Line: 3, Detail: "is left out by .dockerignore, line 3: d"}},
		{"w", buildctx.Decision{Kind: "dir", Rule: "w", File: ".dockerignore", Line: 5, Detail: "is left out by .dockerignore, line 5: w; a later line may bring back what it holds"}},
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

func TestExplainAgreesWithLoad(t *testing.T) {
	t.Parallel()
	root := hermes(t)
	tree := load(t, root, buildctx.Options{})
	for e := range tree.Entries() {
		if d, err := buildctx.Explain(t.Context(), root, e.Path, buildctx.Options{}); err != nil || !d.Included {
			t.Errorf("%q: %+v, %v", e.Path, d, err)
		}
	}
	for _, e := range tree.Receipt().Excluded {
		if d, err := buildctx.Explain(t.Context(), root, e.Path, buildctx.Options{}); err != nil || d.Included || d.Rule != e.Rule {
			t.Errorf("%q: %+v, %v", e.Path, d, err)
		}
	}
}

func TestExplainErrors(t *testing.T) {
	t.Parallel()
	root := plant(t, map[string]string{"f": "", "d/g": ""})
	data := forge(t, file("f", ""), file("d/g", ""))
	for path, reason := range map[string]buildctx.Reason{
		"nothing": buildctx.Missing, "d/nothing": buildctx.Missing, "f/below": buildctx.Missing,
		"..": buildctx.BadName, "../x": buildctx.BadName, ".": buildctx.BadName, "/elsewhere": buildctx.BadName,
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
