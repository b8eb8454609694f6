package skills_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/hermesbox/hermesbox/internal/check"
	"github.com/hermesbox/hermesbox/skills"
)

// spoilt is a source in which something is wrong.
type spoilt struct {
	spoil func(w *world)
	want  string // the rules that do not pass
	words string
}

func (test spoilt) lint(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.skill("good", "x")
	test.spoil(w)
	var rules []string
	evidence := ""
	for _, c := range skills.Lint(w.load(), skills.BuiltIn()) {
		evidence += c.Evidence + "\n"
		if c.Status != check.Pass {
			rules = append(rules, c.ID)
		}
		if c.Status == check.Fail && c.Remedy == "" || !utf8.ValidString(c.Evidence) || strings.ContainsAny(c.Evidence, "\n\x00") {
			t.Errorf("%+v", c)
		}
	}
	if diff := cmp.Diff(test.want, strings.Join(rules, " ")); diff != "" || !strings.Contains(evidence, test.words) {
		t.Errorf("%s\n%s", diff, evidence)
	}
}

// TestLint: each thing that can be wrong is found by one rule, and named.
func TestLint(t *testing.T) {
	t.Parallel()
	bomb := "a: &a [x,x,x,x,x,x,x,x,x]\n"
	for _, c := range "bcdefghi" {
		last := string(c - 1)
		bomb += string(c) + ": &" + string(c) + " [" + strings.Repeat("*"+last+",", 8) + "*" + last + "]\n"
	}
	for name, test := range map[string]spoilt{
		"good":                 {func(*world) {}, "", "1 skills"},
		"no skills":            {func(w *world) { must(w, os.RemoveAll(w.source+"/good")) }, "source", "holds no skill"},
		"name ..":              {func(w *world) { w.front("..x", "..x", "d") }, "name", "..x: no name for a skill"},
		"name .hub":            {func(w *world) { w.front(".hub", ".hub", "d") }, "name", ".hub"},
		"name _":               {func(w *world) { w.front("_", "_", "d") }, "name", "_: no name"},
		"name with line end":   {func(w *world) { w.put("a\nb/SKILL.md", head("x", "x"), 0o644) }, "name", `"a\nb": no name`},
		"name with blank":      {func(w *world) { w.front("a b", "a b", "d") }, "name", `"a b": no name`},
		"name no UTF-8":        {func(w *world) { w.front("a\xff", "x", "d") }, "name", `"a\xff"`},
		"long name":            {func(w *world) { w.front(strings.Repeat("x", 65), strings.Repeat("x", 65), "d") }, "name", "65 characters"},
		"skipped name":         {func(w *world) { w.front("node_modules", "node_modules", "d") }, "name", "does not look into"},
		"two cases":            {func(w *world) { w.front("Good", "Good", "d") }, "name unique", "good: is Good where case does not count"},
		"another name":         {func(w *world) { w.front("other", "else", "d") }, "name", `other/SKILL.md: its name is "else"`},
		"no name":              {func(w *world) { w.put("other/SKILL.md", "---\ndescription: d\n---\n", 0o644) }, "frontmatter", "name is missing"},
		"name is a number":     {func(w *world) { w.put("12/SKILL.md", "---\nname: 12\ndescription: d\n---\n", 0o644) }, "frontmatter", "name is no string"},
		"name is a switch":     {func(w *world) { w.front("on", "on", "d") }, "frontmatter", "name is no string"},
		"name in quotes":       {func(w *world) { w.front("on", `"on"`, "d") }, "", ""},
		"a switch described":   {func(w *world) { w.front("other", "other", "Yes") }, "description", "description is no string"},
		"name with an anchor":  {func(w *world) { w.front("other", "&n other", "*n") }, "description", "description is no string"},
		"of several lines":     {func(w *world) { w.front("other", "other", ">-\n  one\n\n  --- two") }, "", ""},
		"for other systems":    {func(w *world) { w.front("other", "other", "d\nplatforms: [macos, Windows]") }, "shown", `other/SKILL.md: is for "macos, windows" only`},
		"for one system":       {func(w *world) { w.front("other", "other", "d\nplatforms: macos") }, "shown", "is for macos only"},
		"for linux, too":       {func(w *world) { w.front("other", "other", "d\nplatforms:\n- macos\n- Linux\nenvironments: []") }, "", ""},
		"for some places":      {func(w *world) { w.front("other", "other", "d\nenvironments: [kanban, s6]") }, "shown", `is listed in the environments "kanban, s6" only`},
		"for unknown places":   {func(w *world) { w.front("other", "other", "d\nenvironments: [kanban, moon]\nplatforms: null") }, "", ""},
		"name twice":           {func(w *world) { w.put("x/SKILL.md", "---\nname: x\nname: y\ndescription: d\n---\n", 0o644) }, "frontmatter", ""},
		"no description":       {func(w *world) { w.put("other/SKILL.md", "---\nname: other\n---\n", 0o644) }, "description", "description is missing"},
		"blank description":    {func(w *world) { w.front("other", "other", `" "`) }, "description", "description is empty"},
		"long description":     {func(w *world) { w.front("other", "other", strings.Repeat("é", 1025)) }, "description", "more than 1024 characters"},
		"a description fits":   {func(w *world) { w.front("other", "other", strings.Repeat("é", 1024)) }, "", ""},
		"no frontmatter":       {func(w *world) { w.put("other/SKILL.md", "# other\n", 0o644) }, "frontmatter", "does not begin with ---"},
		"with a BOM":           {func(w *world) { w.put("other/SKILL.md", "\ufeff"+head("other", ""), 0o644) }, "frontmatter", "other/SKILL.md: begins with a byte order mark"},
		"no line end after it": {func(w *world) { w.put("other/SKILL.md", "---\nname: other\ndescription: d\n---", 0o644) }, "frontmatter", "no second ---"},
		"open frontmatter":     {func(w *world) { w.put("other/SKILL.md", "---\nname: other\n", 0o644) }, "frontmatter", "no second ---"},
		"broken frontmatter":   {func(w *world) { w.put("other/SKILL.md", "---\nname: [\n---\n", 0o644) }, "frontmatter", "cannot be read"},
		"a list":               {func(w *world) { w.put("other/SKILL.md", "---\n- a\n---\n", 0o644) }, "frontmatter", "is no mapping"},
		"a bomb":               {func(w *world) { w.put("other/SKILL.md", "---\n"+bomb+"---\n", 0o644) }, "frontmatter", "too many aliases"},
		"a deep one": {func(w *world) {
			w.put("other/SKILL.md", "---\na: "+strings.Repeat("[", 5000)+strings.Repeat("]", 5000)+"\n---\n", 0o644)
		}, "frontmatter", "nested too deep"},
		"a long one":            {func(w *world) { w.put("other/SKILL.md", "---\n"+strings.Repeat("# x\n", 20000)+"---\n", 0o644) }, "frontmatter", "longer than 64 KiB"},
		"CRLF":                  {func(w *world) { w.put("other/SKILL.md", strings.ReplaceAll(head("other", "x"), "\n", "\r\n"), 0o644) }, "", ""},
		"empty SKILL.md":        {func(w *world) { w.put("other/SKILL.md", "", 0o644) }, "skill", "is empty"},
		"binary SKILL.md":       {func(w *world) { w.put("other/SKILL.md", "\x7fELF\x02\x00\xff\xfe", 0o644) }, "text", "is no UTF-8 text"},
		"NUL in SKILL.md":       {func(w *world) { w.put("other/SKILL.md", head("other", "\x00"), 0o644) }, "text", "is no UTF-8 text"},
		"SKILL.md of 10 MB":     {func(w *world) { w.put("other/SKILL.md", head("other", strings.Repeat("x", 10<<20)), 0o644) }, "size", "more than 100000 characters"},
		"a SKILL.md fits":       {func(w *world) { w.put("other/SKILL.md", head("other", strings.Repeat("é", 99_900)), 0o644) }, "", ""},
		"SKILL.md is a link":    {func(w *world) { w.front("other", "other", "d"); w.becomeLink("other/SKILL.md", "real.md") }, "skill links", "SKILL.md: a link"},
		"SKILL.md is a dir":     {func(w *world) { w.put("other/SKILL.md/x", "", 0o644) }, "skill", "has no SKILL.md"},
		"no SKILL.md":           {func(w *world) { w.put("other/x", "", 0o644) }, "skill", "other: has no SKILL.md"},
		"a category":            {func(w *world) { w.put("other/one/SKILL.md", head("one", "x"), 0o644) }, "skill", "skills below it"},
		"a file beside":         {func(w *world) { w.put("README.md", "x", 0o644) }, "skill", "README.md: a file beside"},
		"a skill as source":     {func(w *world) { w.put("SKILL.md", head("x", "x"), 0o644) }, "skill", "no skill lies right here"},
		"a large file":          {func(w *world) { w.put("good/big", strings.Repeat("x", 1<<20+1), 0o644) }, "size", "good/big: more than 1048576 bytes"},
		"a file fits":           {func(w *world) { w.put("good/big", strings.Repeat("x", 1<<20), 0o644) }, "", ""},
		"a path with line end":  {func(w *world) { w.put("good/a\nb", "x", 0o644) }, "paths", `"good/a\nb"`},
		"a path with backslash": {func(w *world) { w.put("good/a\\b", "x", 0o644) }, "paths", ""},
		"a long path":           {func(w *world) { w.put("good/"+strings.Repeat("abcdefghi/", 20)+"x", "x", 0o644) }, "paths", ""},
		"a fifo":                {func(w *world) { must(w, syscall.Mkfifo(w.source+"/good/fifo", 0o600)) }, "special", "good/fifo"},
		"a fifo as a skill":     {func(w *world) { must(w, syscall.Mkfifo(w.source+"/fifo", 0o600)) }, "special", "fifo: neither"},
		"litter": {func(w *world) {
			w.put("good/._a", "x", 0o644)
			w.put(".DS_Store", "x", 0o644)
			w.put("good/__pycache__/a", "x", 0o644)
		}, "litter", ".DS_Store: left out; good/._a: left out; good/__pycache__: left out"},
		"a bundled name":          {func(w *world) { w.front("dogfood", "dogfood", "d") }, "bundled", "comes with Hermes 0.19.0"},
		"a directory of Hermes's": {func(w *world) { w.front("creative", "creative", "d") }, "bundled", "creative: a directory of skills of Hermes 0.19.0 has this name"},
		"an optional directory":   {func(w *world) { w.front("blockchain", "blockchain", "d") }, "bundled", "blockchain: a directory of skills"},
		"an optional name":        {func(w *world) { w.front("modal-serverless-gpu", "modal-serverless-gpu", "d") }, "bundled", "optional skill of Hermes 0.19.0"},
	} {
		t.Run(name, test.lint)
	}
}

// TestLintLinks: a link leads to what is deployed with it.
func TestLintLinks(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]spoilt{
		"a link out": {func(w *world) { must(w, os.Symlink("../../x", w.source+"/good/l")) }, "links", `good/l: a link out of the skill, to "../../x"`},
		"a link out by another": {func(w *world) {
			w.put("good/a/b/c/x", "x", 0o644)
			w.put("beside", "x", 0o644)
			must(w, os.Symlink("../../..", w.source+"/good/a/b/c/top"))
			must(w, os.Symlink("a/b/c/top/../beside", w.source+"/good/l"))
		}, "skill links", `good/l: a link out of the skill, to "a/b/c/top/../beside"`},
		"a link to litter": {func(w *world) {
			w.put("good/__pycache__/x", "x", 0o644)
			must(w, os.Symlink("__pycache__/x", w.source+"/good/l"))
		}, "links litter", `good/l: a link to "__pycache__/x", which is left out`},
		"a link to an empty directory": {func(w *world) {
			must(w, os.Mkdir(w.source+"/good/empty", 0o755))
			must(w, os.Symlink("empty", w.source+"/good/l"))
		}, "links", "which is left out"},
		"a link to a directory": {func(w *world) { must(w, os.Symlink("scripts", w.source+"/good/l")) }, "", ""},
		"an absolute link":      {func(w *world) { must(w, os.Symlink("/etc/passwd", w.source+"/good/l")) }, "links", "a link out"},
		"a dangling link":       {func(w *world) { must(w, os.Symlink("none", w.source+"/good/l")) }, "links", "is not there"},
		"an odd link":           {func(w *world) { w.put("good/a -> b", "x", 0o644); must(w, os.Symlink("a -> b", w.source+"/good/l")) }, "links", "odd name"},
		"a good link":           {func(w *world) { must(w, os.Symlink("../good/SKILL.md", w.source+"/good/l")) }, "", ""},
		"a skill is a link":     {func(w *world) { must(w, os.Symlink("good", w.source+"/other")) }, "links", "other: a link in place of a skill"},
	} {
		t.Run(name, test.lint)
	}
}

// front writes a skill with this frontmatter.
func (w *world) front(dir, name, description string) {
	w.Helper()
	w.put(dir+"/SKILL.md", "---\nname: "+name+"\ndescription: "+description+"\n---\n", 0o644)
}

func (w *world) becomeLink(path, real string) {
	w.Helper()
	full := filepath.Join(w.source, path)
	must(w, os.Rename(full, filepath.Join(filepath.Dir(full), real)))
	must(w, os.Symlink(real, full))
}

// TestLoadFails: what is no directory that can be read.
func TestLoadFails(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put("file", "x", 0o644)
	for _, dir := range []string{w.source + "/none", w.source + "/file"} {
		if _, err := skills.Load(dir); !errors.Is(err, skills.ErrNoDir) || !strings.Contains(err.Error(), dir) {
			t.Errorf("%s: %v", dir, err)
		}
	}
}

// TestBundledOf reads the names of a checkout.
func TestBundledOf(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put("skills/tools/one/SKILL.md", head("uno", "x"), 0o644)
	w.put("optional-skills/two/SKILL.md", "broken", 0o644)
	names, ok := skills.BundledOf(w.source)
	if !ok || !strings.Contains(names.String(), "3 names of "+w.source) {
		t.Errorf("%v, %v", names, ok)
	}
	other := newWorld(t)
	for _, name := range []string{"one", "uno", "two", "three", "tools"} {
		other.skill(name, "x")
	}
	checks := skills.Lint(other.load(), names)
	last := checks[len(checks)-1]
	if strings.Count(last.Evidence, "comes with") != 2 || strings.Count(last.Evidence, "optional") != 1 || strings.Count(last.Evidence, "tools: a directory") != 1 {
		t.Errorf("%+v", last)
	}
	if _, ok := skills.BundledOf(other.source); ok {
		t.Error("a directory without skills/ has names")
	}
}

// FuzzParseFrontmatter: a SKILL.md can hold anything.
func FuzzParseFrontmatter(f *testing.F) {
	for _, text := range []string{head("a", "b"), "---\n&a [*a]\n---\n", "---\r\nname: x\r\n---", "---\n? {a: b}\n---\n"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		front, err := skills.ParseFrontmatter(text)
		if err == nil && (front.Name == "" && front.Odd["name"] == "" && !strings.Contains(string(text), "name")) {
			t.Errorf("%q: %+v", text, front)
		}
		if err != nil && (front.Name != "" || front.Description != "") {
			t.Errorf("%q: %+v with %v", text, front, err)
		}
	})
}
