package buildctx_test

import (
	"bytes"
	"encoding/binary"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hermesbox/hermesbox/buildctx"
)

// appleDouble is a file as macOS writes it, of 163 or 4096 bytes: Finder info and a resource fork.
func appleDouble(size int) string {
	head := make([]byte, 26, size)
	binary.BigEndian.PutUint32(head, 0x00051607)
	binary.BigEndian.PutUint32(head[4:], 0x00020000)
	copy(head[8:], "Mac OS X        ")
	binary.BigEndian.PutUint16(head[24:], 2)
	for _, v := range []uint32{9, 50, uint32(size - 50), 2, uint32(size), 0} {
		head = binary.BigEndian.AppendUint32(head, v)
	}
	return string(append(head, make([]byte, size-len(head))...))
}

type left struct{ Path, Rule, Kind string }

func excluded(tree *buildctx.Tree) []left {
	all := []left{}
	for _, e := range tree.Receipt().Excluded {
		all = append(all, left{e.Path, e.Rule, e.Kind})
	}
	return all
}

func warnings(receipt *buildctx.Receipt) []string {
	all := []string{}
	for _, w := range receipt.Warnings {
		all = append(all, w.Kind+" "+w.Path)
	}
	return all
}

func TestLitterIsLeftOutAndChangesNothing(t *testing.T) {
	t.Parallel()
	clean := map[string]string{"tools/model.py": "m", "a/b/c": "c", "README": "r", "Icon": "no litter"}
	want := load(t, plant(t, clean), buildctx.Options{}).Digest()
	root := plant(t, clean)
	plantIn(t, root, map[string]string{
		"tools/._model.py": appleDouble(163), "._README": appleDouble(4096), "a/b/._orphan": appleDouble(163),
		".DS_Store": "x", "a/.DS_Store": "x", "a/b/.DS_Store": "x", "a/__MACOSX/b": "x", "Icon\r": "", "a/.AppleDouble/x": "",
		".LSOverride": "", ".Trashes/x": "", ".fseventsd": "", ".Spotlight-V100/": "", ".TemporaryItems/": "",
		".DocumentRevisions-V100/x": "", ".apdisk": "", "a/._SUCCESS.crc": "crc", "a/._dir/x": "x", "a/._link": "->b",
	})
	tree := load(t, root, buildctx.Options{})
	if tree.Digest() != want {
		t.Error("litter changes the digest")
	}
	wantLeft := []left{
		{".DS_Store", "litter", "file"},
		{".DocumentRevisions-V100", "litter", "dir"},
		{".LSOverride", "litter", "file"},
		{".Spotlight-V100", "litter", "dir"},
		{".TemporaryItems", "litter", "dir"},
		{".Trashes", "litter", "dir"},
		{"._README", "litter", "file"},
		{".apdisk", "litter", "file"},
		{".fseventsd", "litter", "file"},
		{"Icon\r", "litter", "file"},
		{"a/.AppleDouble", "litter", "dir"},
		{"a/.DS_Store", "litter", "file"},
		{"a/._SUCCESS.crc", "look-alike", "file"},
		{"a/._dir", "look-alike", "dir"},
		{"a/._link", "look-alike", "link"},
		{"a/__MACOSX", "litter", "dir"},
		{"a/b/.DS_Store", "litter", "file"},
		{"a/b/._orphan", "litter", "file"},
		{"tools/._model.py", "litter", "file"},
	}
	if diff := cmp.Diff(wantLeft, excluded(tree)); diff != "" {
		t.Error(diff)
	}
	if got := tree.Receipt().Excluded[6].Bytes; got != 4096 {
		t.Errorf("an excluded file of 4096 bytes has %d", got)
	}
	wantWarnings := []string{"look-alike a/._SUCCESS.crc", "look-alike a/._dir", "look-alike a/._link"}
	if diff := cmp.Diff(wantWarnings, warnings(tree.Receipt())); diff != "" {
		t.Error(diff)
	}
}

// TestDamagedAppleDoubleIsLitter has what begins as macOS's metadata does and goes on otherwise. Names that begin with
// ._ are told by the magic alone, so that neither is a look-alike, nor is there anything to warn of.
func TestDamagedAppleDoubleIsLitter(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"._cut": appleDouble(163)[:20], "._magic": appleDouble(163)[:4], "._table": appleDouble(163)[:26] + strings.Repeat("x", 100),
		"._v1": "\x00\x05\x16\x07\x00\x01\x00\x00" + appleDouble(163)[8:], "f": "",
	}
	var members []member
	for name, content := range files {
		members = append(members, file(name, content))
	}
	opts := buildctx.Options{Keep: []string{"._*"}, Exclude: []string{"!f"}}
	want := []left{{"._cut", "litter", "file"}, {"._magic", "litter", "file"}, {"._table", "litter", "file"}, {"._v1", "litter", "file"}}
	for name, tree := range map[string]*buildctx.Tree{
		"a directory": load(t, plant(t, files), opts), "a tar": loadTar(t, forge(t, members...), opts),
	} {
		if diff := cmp.Diff(want, excluded(tree)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	var out bytes.Buffer
	receipt, err := buildctx.CleanTar(t.Context(), bytes.NewReader(forge(t, members...)), &out)
	if err != nil || len(receipt.Excluded) != 4 || len(receipt.Warnings) > 0 {
		t.Errorf("cleaned: %+v, %v", receipt, err)
	}
}

func TestRootLitterIsNoLitterBelow(t *testing.T) {
	t.Parallel()
	root := plant(t, map[string]string{"d/.Trashes": "", "d/.apdisk": "", "d/.git/x": "", "d/.venv/x": "", "d/hermesbox.yaml": ""})
	if got := excluded(load(t, root, buildctx.Options{})); len(got) > 0 {
		t.Errorf("left out: %v", got)
	}
}

func TestKeepBringsBack(t *testing.T) {
	t.Parallel()
	root := plant(t, map[string]string{
		"a/._SUCCESS.crc": "crc", "a/._dir/x": "", "._real": appleDouble(163), ".git/config": "", ".venv": "->/opt/venv", "f": "",
	})
	tree := load(t, root, buildctx.Options{Keep: []string{"**/._*", ".git", ".venv", ".DS_Store"}})
	want := []string{"d .git", "f .git/config", "l .venv", "d a", "f a/._SUCCESS.crc", "d a/._dir", "f a/._dir/x", "f f"}
	if diff := cmp.Diff(want, paths(tree)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]left{{"._real", "litter", "file"}}, excluded(tree)); diff != "" {
		t.Error(diff)
	}
}

func TestLocalAndOutput(t *testing.T) {
	t.Parallel()
	root := plant(t, map[string]string{
		".git": "gitdir: elsewhere", ".venv/bin/python": "", "hermesbox.yaml": "", "hermesbox.lock": "", ".hermesbox/reports/x": "",
		"sub/meta.json": "old", "f": "",
	})
	tree := load(t, root, buildctx.Options{Outputs: []string{filepath.Join(root, "sub/meta.json"), "/elsewhere/x"}})
	want := []left{
		{".git", "local", "file"},
		{".hermesbox", "output", "dir"},
		{".venv", "local", "dir"},
		{"hermesbox.lock", "output", "file"},
		{"hermesbox.yaml", "output", "file"},
		{"sub/meta.json", "output", "file"},
	}
	if diff := cmp.Diff(want, excluded(tree)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"output sub/meta.json"}, warnings(tree.Receipt())); diff != "" {
		t.Error(diff)
	}
}

func TestExcludedIsReportedOnce(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"node_modules/a/x": "", "node_modules/b/y": "", "d/one.pyc": "", "d/.DS_Store": "", "d/deep/keep": "", "d/deep/two.pyc": "", "f": "",
	}
	tests := []struct {
		name, ignore string
		want         []left
	}{
		{"a pruned directory is one line", "node_modules\nd", []left{{"d", "d", "dir"}, {"node_modules", "node_modules", "dir"}}},
		{
			"so is one that was walked for nothing", "node_modules\nd\n!**/nothing",
			[]left{{"d", "d", "dir"}, {"node_modules", "node_modules", "dir"}},
		},
		{
			"one that is carried in part has a line for the rest", "node_modules\nd\n!**/keep",
			[]left{
				{"d/.DS_Store", "litter", "file"},
				{"d/deep/two.pyc", "d", "file"},
				{"d/one.pyc", "d", "file"},
				{"node_modules", "node_modules", "dir"},
			},
		},
		{
			"the line is the file's", "  **/*.pyc \r\n", []left{
				{"d/.DS_Store", "litter", "file"}, {"d/deep/two.pyc", "**/*.pyc", "file"}, {"d/one.pyc", "**/*.pyc", "file"},
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			root := plant(t, files)
			plantIn(t, root, map[string]string{".dockerignore": tt.ignore})
			if diff := cmp.Diff(tt.want, excluded(load(t, root, buildctx.Options{}))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWarnings(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		files map[string]string
		want  []string
	}{
		{"case", map[string]string{"Logo.png": "", "logo.png": "", "d/logo.png": ""}, []string{"fold Logo.png"}},
		{"full folding", map[string]string{"straße": "", "STRASSE": ""}, []string{"fold STRASSE"}},
		{"normalisation", map[string]string{"d/caf\u00e9": "", "d/cafe\u0301": ""}, []string{"fold d/cafe\u0301"}},
		{"of directories", map[string]string{"A/x": "", "a/x": ""}, []string{"fold A"}},
		{"not of what is left out", map[string]string{".ds_store": "", ".DS_Store": ""}, []string{}},
		{"encoding", map[string]string{"d/bad\xff": ""}, []string{"encoding d/bad\xff"}},
		{"line break and backslash", map[string]string{"a\nb": "", `c\d`: "", "e\r": ""}, []string{"name a\nb", `name c\d`, "name e\r"}},
		{"link upwards", map[string]string{"d/out": "->../../x", "d/in": "->../f", "f": ""}, []string{"link-outside d/out"}},
		{"absolute link", map[string]string{"abs": "->/usr/bin/python", "f": ""}, []string{"link-outside abs"}},
		{"dangling link", map[string]string{"l": "->nowhere", "m": "->f/x", "f": ""}, []string{"link-dangling l", "link-dangling m"}},
		{"link to litter", map[string]string{"l": "->.DS_Store", ".DS_Store": "", "f": ""}, []string{"link-dangling l"}},
		{"loop", map[string]string{"a": "->b", "b": "->a", "f": ""}, []string{"link-dangling a", "link-dangling b"}},
		{"link through a link", map[string]string{"d/f": "", "e": "->d", "l": "->e/f", "m": "->e/../../x"}, []string{"link-outside m"}},
		{"link to a directory", map[string]string{"d/f": "", "l": "->./d/", "m": "->d/.."}, []string{}},
		{"AppleDouble by another name", map[string]string{"resource": appleDouble(163)}, []string{"apple-double resource"}},
		{"comment in a pattern", map[string]string{".dockerignore": "a # b", "f": ""}, []string{"ignore-file .dockerignore"}},
		{"pattern for nothing", map[string]string{".dockerignore": "../x\n.", "f": ""}, []string{"ignore-file .dockerignore", "ignore-file .dockerignore"}},
		{"two marks", map[string]string{".dockerignore": "!!x", "f": ""}, []string{"ignore-file .dockerignore"}},
		{"a pattern not in UTF-8", map[string]string{".dockerignore": "\xff", "f": ""}, []string{"ignore-file .dockerignore"}},
		{
			"classic builder",
			map[string]string{".dockerignore": "*\n!foo/*/quux", "foo/a/quux": "", "foo/a/b": "", "f": ""},
			[]string{"classic-builder foo/a"},
		},
		{"no quarrel with the classic builder", map[string]string{".dockerignore": "foo\n!foo/a", "foo/a/quux": "", "f": ""}, []string{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, warnings(load(t, plant(t, tt.files), buildctx.Options{}).Receipt())); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestModeBitsAreClearedWithAWarning(t *testing.T) {
	t.Parallel()
	root := plant(t, map[string]string{"suid": "", "sgid": "", "d/x": "", "plain": ""})
	for name, mode := range map[string]os.FileMode{
		"suid": 0o755 | os.ModeSetuid, "sgid": 0o644 | os.ModeSetgid, "d": 0o755 | os.ModeSticky, "plain": 0o640,
	} {
		if err := os.Chmod(filepath.Join(root, name), mode); err != nil {
			t.Fatal(err)
		}
	}
	tree := load(t, root, buildctx.Options{})
	if diff := cmp.Diff([]string{"mode d", "mode sgid", "mode suid"}, warnings(tree.Receipt())); diff != "" {
		t.Error(diff)
	}
	for e := range tree.Entries() {
		if e.Mode&^os.ModePerm != 0 || e.Path == "plain" && e.Mode != 0o644 {
			t.Errorf("%s has mode %v", e.Path, e.Mode)
		}
	}
}

func TestDigestKnowsTheOwnersExecutableBitOnly(t *testing.T) {
	t.Parallel()
	root := plant(t, map[string]string{"f": "x", "g": "y"})
	digest := func(mode os.FileMode) string {
		if err := os.Chmod(filepath.Join(root, "f"), mode); err != nil {
			t.Fatal(err)
		}
		return load(t, root, buildctx.Options{}).Digest()
	}
	plain := digest(0o644)
	for _, same := range []os.FileMode{0o664, 0o600, 0o666, 0o655} {
		if digest(same) != plain {
			t.Errorf("mode %04o changes the digest", same)
		}
	}
	if digest(0o744) == plain || digest(0o744) != digest(0o775) {
		t.Error("the owner's executable bit does not decide")
	}
}

func TestALineThatReadsAsARule(t *testing.T) {
	t.Parallel()
	root := plant(t, map[string]string{".dockerignore": "litter\n", "litter": "", ".DS_Store": "", "f": ""})
	var litter []string
	for _, e := range load(t, root, buildctx.Options{}).Receipt().Excluded {
		if e.Litter {
			litter = append(litter, e.Path)
		}
	}
	if diff := cmp.Diff([]string{".DS_Store"}, litter); diff != "" {
		t.Error(diff)
	}
}

func TestSocketIsLeftOut(t *testing.T) {
	t.Parallel()
	dir := plant(t, map[string]string{"f": ""})
	l, err := net.Listen("unix", filepath.Join(dir, "agent.sock"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	tree := load(t, dir, buildctx.Options{})
	if diff := cmp.Diff([]left{{"agent.sock", "socket", "socket"}}, excluded(tree)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"socket agent.sock"}, warnings(tree.Receipt())); diff != "" {
		t.Error(diff)
	}
}

func TestReceiptIsStable(t *testing.T) {
	t.Parallel()
	files := map[string]string{"bad\xff/x": "12345", "bad\xff/.DS_Store": ""}
	for i := range 12 {
		files[strings.Repeat("d/", i%3)+"f"+string(rune('a'+i))] = strings.Repeat("x", i)
	}
	root := plant(t, files)
	first := load(t, root, buildctx.Options{}).Receipt()
	for range 3 {
		if diff := cmp.Diff(first, load(t, root, buildctx.Options{}).Receipt()); diff != "" {
			t.Error(diff)
		}
	}
	if first.Excluded[0].PathB64 != "YmFk/y8uRFNfU3RvcmU=" {
		t.Errorf("path_b64 is %q", first.Excluded[0].PathB64)
	}
	if first.Files != 13 || first.Dirs != 3 || first.Bytes != 71 || len(first.Largest) != 10 {
		t.Errorf("counts: %+v", first)
	}
	if !slices.IsSortedFunc(first.Largest, func(a, b buildctx.Large) int { return int(b.Bytes - a.Bytes) }) || first.Largest[0].Bytes != 11 {
		t.Errorf("largest: %+v", first.Largest)
	}
}
