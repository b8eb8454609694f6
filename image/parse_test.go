package image

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hermesbox/hermesbox"
)

// errNotStarted stands for a container that did not start.
var errNotStarted = errors.New("not started")

func TestParseDockerfile(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		text                  string
		hasBase, hasManifest  bool
		declares, notDeclares string
	}{
		"no argument":            {"FROM scratch\n", false, false, "", "BASE"},
		"base with default":      {"ARG BASE=debian\nFROM ${BASE}\n", true, false, "BASE", ""},
		"base without default":   {"arg BASE\nFROM $BASE\n", true, false, "BASE", ""},
		"base only in a stage":   {"FROM scratch\nARG BASE=x\n", false, false, "BASE", ""},
		"copies the manifest":    {"FROM scratch\nCOPY .hermesbox/manifest /usr/share/hermesbox/manifest\n", false, true, "", ""},
		"manifest in a comment":  {"FROM scratch\n# COPY .hermesbox/manifest /\n", false, false, "", ""},
		"several in one line":    {"ARG A=1 BASE=2\nFROM $BASE\n", true, false, "BASE", "B"},
		"with a syntax comment":  {"# syntax=x\nARG BASE\nFROM $BASE\nARG SOURCE_DATE_EPOCH\n", true, false, "SOURCE_DATE_EPOCH", ""},
		"manifest in a RUN":      {"FROM scratch\nRUN rm -rf /x/.hermesbox\n", false, false, "", ""},
		"manifest from a stage":  {"FROM scratch AS a\nFROM scratch\nCOPY --from=a .hermesbox/manifest /\n", false, false, "", ""},
		"copies everything":      {"FROM scratch\nCOPY . /src\n", false, true, "", ""},
		"copies the directory":   {"FROM scratch\nCOPY .hermesbox /x\n", false, true, "", ""},
		"continued instructions": {"FROM scratch\nCOPY \\\n  .hermesbox/manifest \\\n  /m\n", false, true, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, err := parseDockerfile("Dockerfile", []byte(test.text))
			if err != nil {
				t.Fatal(err)
			}
			if d.HasBase != test.hasBase || d.HasManifest != test.hasManifest {
				t.Errorf("HasBase %v, HasManifest %v; want %v, %v", d.HasBase, d.HasManifest, test.hasBase, test.hasManifest)
			}
			if test.declares != "" && !d.Declares(test.declares) || test.notDeclares != "" && d.Declares(test.notDeclares) {
				t.Errorf("declared are %q", d.declared)
			}
		})
	}
}

func TestNewerSyntax(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"FROM scratch\nCOPY a /\n":                                "",
		"FROM scratch\nCOPY --chown=1 a /\n":                      "",
		"FROM scratch\nCOPY --link a /\n":                         "--link in line 2",
		"FROM scratch\nRUN <<E\nhi\nE\n":                          "a heredoc in line 2",
		"# syntax=some/frontend\nFROM scratch\nCOPY --link a /\n": "",
	} {
		d, err := parseDockerfile("Dockerfile", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if d.Newer != want {
			t.Errorf("%q needs %q, want %q", text, d.Newer, want)
		}
		old, today := &Engine{Info: EngineInfo{APIVersion: "1.41"}}, &Engine{Info: EngineInfo{APIVersion: "1.51"}}
		if err := old.checkSyntax(d); errors.Is(err, ErrTooNew) != (want != "") {
			t.Errorf("%q on API 1.41: %v", text, err)
		}
		if err := today.checkSyntax(d); err != nil {
			t.Errorf("%q on API 1.51: %v", text, err)
		}
	}
}

func TestEmbeddedDockerfile(t *testing.T) {
	t.Parallel()
	d, err := LoadDockerfile("")
	if err != nil {
		t.Fatal(err)
	}
	if !d.HasBase || !d.HasManifest || !d.Declares("HERMES_EXTRAS") || !d.Declares("WEB_UI_VERSION") {
		t.Errorf("base %v, manifest %v, arguments %q", d.HasBase, d.HasManifest, d.declared)
	}
	if bytes.HasPrefix(hermesbox.Dockerfile, []byte("# syntax")) {
		t.Error("the recipe asks for a remote frontend")
	}
}

func TestLoadDockerfileErrors(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{"empty": "", "blank": " \n\n", "no-from": "RUN true\n", "nonsense": "FROM scratch\nNONSENSE x\n", "comment": "# FROM scratch\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"empty", "blank", "no-from", "nonsense", "comment", "missing", "."} {
		path := filepath.Join(dir, name)
		if _, err := LoadDockerfile(path); !errors.Is(err, ErrDockerfile) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v, want ErrDockerfile with the path", name, err)
		}
	}
}

func TestLock(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), LockName)
	lock, err := ReadLock(path)
	if err != nil {
		t.Fatal(err)
	}
	entry := LockedBase{Digest: "sha256:" + strings.Repeat("ab", 32)}
	if err := lock.copy().Set("copied linux/amd64", entry); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("a copy wrote the file")
	}
	if err := lock.Set("base linux/amd64", entry); err != nil {
		t.Fatal(err)
	}
	again, err := ReadLock(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]LockedBase{"base linux/amd64": entry}, again.Bases); diff != "" {
		t.Errorf("read again (-want +got):\n%s", diff)
	}
	for name, text := range map[string]string{"version": "version: 9\n", "key": "version: 1\nbase: {}\n", "yaml": "{", "type": "version: 1\nbases: [1]\n", "digest": "version: 1\nbases: {x: {digest: garbage}}\n", "empty entry": "version: 1\nbases: {x: {}}\n"} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadLock(path); !errors.Is(err, ErrLock) {
			t.Errorf("%s: %v, want ErrLock", name, err)
		}
	}
}

func TestRecipeDigest(t *testing.T) {
	t.Parallel()
	spec := func() Spec {
		return Spec{
			Dockerfile: &Dockerfile{Content: []byte("FROM scratch\n")}, Base: Base{Digest: "sha256:1"}, Platform: "linux/amd64",
			BuildArgs: map[string]string{"A": "1", "B": "2"}, Secrets: []Secret{{ID: "y", Value: []byte("v")}, {ID: "x"}},
		}
	}
	digest := func(spec Spec, extras ...extra) string {
		d, err := recipeOf(spec, extras).digest()
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	first := digest(spec())
	same := map[string]func(*Spec){
		"secret order": func(s *Spec) { s.Secrets[0], s.Secrets[1] = s.Secrets[1], s.Secrets[0] },
		"secret value": func(s *Spec) { s.Secrets[0].Value = []byte("other") },
		"tag":          func(s *Spec) { s.Tags = []string{"x"} },
		"epoch":        func(s *Spec) { s.Epoch = "5" },
	}
	for name, change := range same {
		s := spec()
		if change(&s); digest(s) != first {
			t.Errorf("%s changes the digest", name)
		}
	}
	if digest(spec(), newExtra(manifestPath, 0o644, []byte("m"))) != first {
		t.Error("the manifest changes the digest")
	}
	seen := map[string]string{first: "none"}
	for name, change := range map[string]func(*Spec){
		"dockerfile": func(s *Spec) { s.Dockerfile = &Dockerfile{Content: []byte("FROM scratch\n\n")} },
		"base":       func(s *Spec) { s.Base.Digest = "sha256:2" },
		"platform":   func(s *Spec) { s.Platform = "linux/arm64" },
		"target":     func(s *Spec) { s.Target = "t" },
		"argument":   func(s *Spec) { s.BuildArgs["A"] = "2" },
		"secret id":  func(s *Spec) { s.Secrets[0].ID = "z" },
		"ca bundle":  func(s *Spec) { s.CABundle = "x" },
	} {
		s := spec()
		change(&s)
		d := digest(s)
		if seen[d] != "" {
			t.Errorf("%s gives the digest of %s", name, seen[d])
		}
		seen[d] = name
	}
	if d := digest(spec(), newExtra(webUIPath, 0o644, []byte("p"))); seen[d] != "" {
		t.Error("a package does not change the digest")
	}
}

// npmPackage makes a gzipped tar of the given members.
func npmPackage(t *testing.T, members map[string]string) []byte {
	t.Helper()
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	archive := tar.NewWriter(zipped)
	for name, content := range members {
		header := &tar.Header{Name: name, Typeflag: tar.TypeReg, Size: int64(len(content)), Mode: 0o644}
		if err := archive.WriteHeader(header); err != nil {
			t.Fatal(err)
		}
		if _, err := archive.Write([]byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(archive.Close(), zipped.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestCheckPackage(t *testing.T) {
	t.Parallel()
	right := npmPackage(t, map[string]string{"package/package.json": `{"name":"hermes-web-ui","version":"0.5.16"}`})
	if err := checkPackage(right); err != nil {
		t.Errorf("a right package: %v", err)
	}
	for name, content := range map[string][]byte{
		"text":      []byte("no archive"),
		"empty":     {},
		"truncated": right[:len(right)/2],
		"no json":   npmPackage(t, map[string]string{"package/index.js": "x"}),
		"bad json":  npmPackage(t, map[string]string{"package/package.json": "{"}),
		"no name":   npmPackage(t, map[string]string{"package/package.json": "{}"}),
		"other":     npmPackage(t, map[string]string{"package/package.json": `{"name":"left-pad"}`}),
		"unpacked":  npmPackage(t, map[string]string{"package.json": `{"name":"hermes-web-ui"}`}),
	} {
		if err := checkPackage(content); err == nil {
			t.Errorf("%s: taken for a package", name)
		}
	}
}

func TestParsePlatform(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"linux/amd64": "linux/amd64", "linux/x86_64": "linux/amd64", "linux/arm64/v8": "linux/arm64", "linux/amd64/v2": "linux/amd64/v2", "linux/arm/v7": "linux/arm/v7"} {
		if got, err := ParsePlatform(in); err != nil || got != want {
			t.Errorf("ParsePlatform(%q) = %q, %v; want %q", in, got, err, want)
		}
	}
	for _, in := range []string{"", "amd64", "windows/amd64", "linux/", "linux/amd64,linux/arm64", "a b/c"} {
		if _, err := ParsePlatform(in); !errors.Is(err, ErrSpec) {
			t.Errorf("ParsePlatform(%q): %v, want ErrSpec", in, err)
		}
	}
}

func TestCheckTags(t *testing.T) {
	t.Parallel()
	if err := checkTags([]string{"a", "registry.example:5000/team/a:1.2"}); err != nil {
		t.Error(err)
	}
	for _, tags := range [][]string{nil, {"UPPER"}, {"a b"}, {"a@sha256:" + strings.Repeat("a", 64)}, {"ok", ""}} {
		if err := checkTags(tags); !errors.Is(err, ErrSpec) {
			t.Errorf("checkTags(%q): %v, want ErrSpec", tags, err)
		}
	}
}
