package config_test

import (
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hermesbox/hermesbox/internal/config"
)

// wrong loads options that must fail as a wrong configuration.
func wrong(t *testing.T, opts config.Options) *config.Error {
	t.Helper()
	l, err := config.Load(opts)
	if err == nil {
		t.Fatalf("loaded %+v", l.Config)
	}
	var e *config.Error
	if !errors.As(err, &e) {
		t.Fatalf("%v is no *config.Error", err)
	}
	if e.Hint == "" {
		t.Errorf("%v has no next step", err)
	}
	return e
}

func TestBadFiles(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, file, want string }{
		{"unknown key", "image:\n  platfrm: linux/amd64\n", `hermesbox.yaml:2: image: unknown key "platfrm", did you mean "image.platform"?`},
		{"unknown key at the root", "sauce: .\n", `hermesbox.yaml:1: unknown key "sauce", did you mean "source"?`},
		{"key of another section", "base: x\n", `hermesbox.yaml:1: unknown key "base", did you mean "image.base"?`},
		{"dotted key", "image.base: x\n", `hermesbox.yaml:1: unknown key "image.base", did you mean "image.base"?`},
		{"unknown key in a list", "nodes: [{name: a, shh: b}]\n", `hermesbox.yaml:1: nodes[0]: unknown key "shh", did you mean "nodes[0].ssh"?`},
		{"empty key", "'': x\n", `hermesbox.yaml:1: unknown key "", did you mean "cube"?`},
		{"number for a string", "image: {name: 5}\n", `hermesbox.yaml:1: image.name: wanted a string, got the number "5"`},
		{"version as a number", "cube: {version: 0.7}\n", `hermesbox.yaml:1: cube.version: wanted a string, got the number "0.7"`},
		{"string for a number", "template:\n  cpu: lots\n", `hermesbox.yaml:2: template.cpu: wanted a whole number, got the string "lots"`},
		{"quoted number", "template: {cpu: '2000'}\n", `hermesbox.yaml:1: template.cpu: wanted a whole number, got the string "2000"`},
		{"fraction", "template: {cpu: 2.5}\n", `hermesbox.yaml:1: template.cpu: wanted a whole number, got the number "2.5"`},
		{"octal", "template: {cpu: 010}\n", `hermesbox.yaml:1: template.cpu: wanted a whole number, got the number "010"`},
		{"number too large", "template: {cpu: 99999999999999999999}\n", `hermesbox.yaml:1: template.cpu: wanted a whole number, got the number "99999999999999999999"`},
		{"yes", "image: {push: yes}\n", `hermesbox.yaml:1: image.push: wanted true or false, got the string "yes"`},
		{"True", "image: {push: True}\n", `hermesbox.yaml:1: image.push: wanted true or false, got the boolean "True"`},
		{"scalar for a list", "context: {keep: a}\n", `hermesbox.yaml:1: context.keep: wanted a list, got the string "a"`},
		{"mapping for a list", "context: {keep: {a: b}}\n", `hermesbox.yaml:1: context.keep: wanted a list, got a mapping`},
		{"list for a string", "source: [a]\n", `hermesbox.yaml:1: source: wanted a string, got a list`},
		{"nothing in a list", "context: {keep: [a, ]}\ntemplate: {dns: [~]}\n", `hermesbox.yaml:2: template.dns[0]: wanted a value, got nothing`},
		{"number in a list", "context:\n  keep:\n  - a\n  - 1\n", `hermesbox.yaml:4: context.keep[1]: wanted a string, got the number "1"`},
		{"scalar for a section", "image: x\n", `hermesbox.yaml:1: image: wanted a mapping of keys to values, got the string "x"`},
		{"list for the file", "- a\n", `hermesbox.yaml:1: wanted a mapping of keys to values, got a list`},
		{"text for the file", "hello\n", `hermesbox.yaml:1: wanted a mapping of keys to values, got the string "hello"`},
		{"list as a key", "[a]: b\n", `hermesbox.yaml:1: wanted a key, got a list`},
		{"own tag", "source: !path .\n", `hermesbox.yaml:1: source: wanted a string, got a value with the tag !path`},
		{"nested map value", "sandbox: {env: {A: [1]}}\n", `hermesbox.yaml:1: sandbox.env.A: wanted a string, got a list`},
		{"map value left out", "sandbox: {env: {A: }}\n", `hermesbox.yaml:1: sandbox.env.A: wanted a string, got nothing`},
		{"secret of a wrong type", "sandbox: {env: {API_KEY: !x abc}}\n", `hermesbox.yaml:1: sandbox.env.API_KEY: wanted a string, got a value with the tag !x`},
		{"duration without unit", "sandbox: {timeout: 900}\n", `hermesbox.yaml:1: sandbox.timeout: wanted a duration such as 15m or 90s, got the number "900"`},
		{"garbled duration", "sandbox: {timeout: soon}\n", `hermesbox.yaml:1: sandbox.timeout: wanted a duration such as 15m or 90s, got the string "soon"`},
		{"two documents", "source: a\n---\nsource: b\n", `hermesbox.yaml:2: a second YAML document begins here`},
		{"empty second document", "source: a\n---\n", `hermesbox.yaml:2: a second YAML document begins here`},
		{"broken second document", "source: a\n---\n{\n", `hermesbox.yaml:3: not YAML: did not find expected node content`},
		{"key twice", "source: a\nimage: {}\nsource: b\n", `hermesbox.yaml:3: source: the key is given twice, first in line 1`},
		{"name twice", "image: {build_args: {A: 1, A: 2}}\n", `hermesbox.yaml:1: image.build_args.A: the key is given twice, first in line 1`},
		{"no YAML", "a: b: c\n", `hermesbox.yaml: not YAML: mapping values are not allowed in this context`},
		{"tab", "image:\n\tbase: x\n", `hermesbox.yaml:2: not YAML: found character that cannot start any token`},
		{"unknown anchor", "source: *x\n", `hermesbox.yaml: not YAML: unknown anchor 'x' referenced`},
		{"binary", "\x00\x01", `hermesbox.yaml: not YAML: control characters are not allowed`},
		{"not UTF-8", "source: \xff\n", `hermesbox.yaml: not YAML: invalid leading UTF-8 octet`},
		{"escape sequence in a name", `sandbox: {env: {"A\e[1m": [1]}}`, `hermesbox.yaml:1: "sandbox.env.A\x1b[1m": wanted a string, got a list`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			write(t, dir, "hermesbox.yaml", tt.file)
			e := wrong(t, config.Options{WorkDir: dir})
			if diff := cmp.Diff(tt.want, e.Error()); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		})
	}
}

func TestGoodFiles(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, file, source string }{
		{"empty", "", "."},
		{"comment", "# nothing yet\n", "."},
		{"document marker", "---\nsource: a\n", "a"},
		{"document end", "source: a\n...\n", "a"},
		{"byte order mark", "\ufeffsource: a\n", "a"},
		{"carriage returns", "source: a\r\nimage:\r\n  push: true\r\n", "a"},
		{"section left empty", "source: a\nimage:\ntemplate: ~\n", "a"},
		{"value left empty", "source:\n", "."},
		{"alias", "image: {name: &n a}\nsource: *n\n", "a"},
		{"merge key", "nodes:\n- &n {name: a, ssh: h, become: sudo}\n- {<<: *n, name: b}\nsource: a\n", "a"},
		{"date as a string", "source: 2026-01-01\n", "2026-01-01"},
		{"json", `{"source": "a", "image": {"push": true}}`, "a"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			write(t, dir, "hermesbox.yaml", tt.file)
			l, err := config.Load(config.Options{WorkDir: dir})
			if err != nil {
				t.Fatal(err)
			}
			if l.Config.Source != tt.source {
				t.Errorf("source %q, want %q", l.Config.Source, tt.source)
			}
		})
	}
}

func TestMergeKeyFillsWhatIsMissing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "hermesbox.yaml", "nodes:\n- &n {name: a, ssh: h, become: sudo}\n- &m {<<: *n, name: b}\n- {name: c, <<: [*m, *n]}\n")
	l, err := config.Load(config.Options{WorkDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	want := []config.Node{{Name: "a", SSH: "h", Become: "sudo"}, {Name: "b", SSH: "h", Become: "sudo"}, {Name: "c", SSH: "h", Become: "sudo"}}
	if diff := cmp.Diff(want, l.Config.Nodes); diff != "" {
		t.Errorf("nodes (-want +got):\n%s", diff)
	}
}

func TestBombs(t *testing.T) {
	t.Parallel()
	var billion strings.Builder
	billion.WriteString("nodes:\n- &a0 {name: a}\n")
	for i := range 40 {
		ref := "*a" + strconv.Itoa(i)
		billion.WriteString("- &a" + strconv.Itoa(i+1) + " {<<: [" + strings.Repeat(ref+", ", 9) + ref + "]}\n")
	}
	tests := []struct{ name, file, want string }{
		{"aliases of aliases", billion.String(), "too many values"},
		{"merge of itself", "nodes: [&a {<<: *a}]\n", "too many values"},
		{"huge file", "# " + strings.Repeat("x", 1<<20), "more than 1 MiB"},
		{"deep nesting", strings.Repeat("[", 20_000), "exceeded max depth"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			write(t, dir, "hermesbox.yaml", tt.file)
			if e := wrong(t, config.Options{WorkDir: dir}); !strings.Contains(e.Problem, tt.want) {
				t.Errorf("problem %q, want %q in it", e.Problem, tt.want)
			}
		})
	}
}

func TestUnreadableFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tests := []struct{ name, path, want string }{
		{"missing", "nowhere.yaml", "nowhere.yaml: no such file or directory"},
		{"directory", ".", ".: is a directory"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e := wrong(t, config.Options{WorkDir: dir, Path: tt.path})
			if e.Error() != tt.want || e.Hint == "" {
				t.Errorf("error %q, hint %q, want %q and a hint", e, e.Hint, tt.want)
			}
		})
	}
}

func TestHints(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "hermesbox.yaml", "cube: {engine: remote}\n")
	tests := []struct {
		name string
		opts config.Options
		want string
	}{
		{"file", config.Options{}, "correct that line; docs/configuration.md describes every key"},
		{"variable", config.Options{Getenv: env(map[string]string{"CUBE_TIMEOUT": "x"})}, "correct or unset CUBE_TIMEOUT"},
		{
			"flag",
			config.Options{Set: []config.Override{{Key: "cube.engine", Value: "x", Flag: "--cube"}}},
			"give --cube another value; --help describes it",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.opts.WorkDir = dir
			if e := wrong(t, tt.opts); e.Hint != tt.want {
				t.Errorf("hint %q, want %q", e.Hint, tt.want)
			}
		})
	}
}
