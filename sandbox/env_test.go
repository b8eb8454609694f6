package sandbox_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hermesbox/hermesbox/sandbox"
)

func TestCheckEnv(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		name, value, want string
	}{
		"plain":           {"OPENAI_API_KEY", "sk-1", ""},
		"empty value":     {"A", "", ""},
		"forbidden":       {"LD_PRELOAD", "/x", "Cube forbids this name"},
		"forbidden lower": {"ld_preload", "/x", "Cube forbids this name"},
		"forbidden start": {"DYLD_ANYTHING", "/x", "Cube forbids this name"},
		"path":            {"PATH", "/x", "Cube forbids this name"},
		"fixed":           {"HERMES_HOME", "/x", "it is fixed in a sandbox"},
		"no name":         {"1A", "x", "its name must be"},
		"name with dash":  {"A-B", "x", "its name must be"},
		"long name":       {strings.Repeat("A", 257), "x", "its name must be"},
		"two lines":       {"A", "secret\nvalue", "its value has a line end"},
		"long value":      {"A", strings.Repeat("x", 4097), "its value is longer than 4096"},
	} {
		err := sandbox.CheckEnv(map[string]string{test.name: test.value})
		if (err == nil) != (test.want == "") || err != nil && (!strings.Contains(err.Error(), test.want) || !errors.Is(err, sandbox.ErrSpec)) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: the value is shown: %v", name, err)
		}
	}
}

func TestParseEnvFile(t *testing.T) {
	t.Parallel()
	getenv := func(name string) string { return map[string]string{"FROM_CALLER": "here"}[name] }
	for name, test := range map[string]struct {
		text  string
		want  map[string]string
		twice []string
		fails string
	}{
		"empty":            {"", map[string]string{}, nil, ""},
		"mark and CRLF":    {"\uFEFFA=1\r\nB=2\r\n", map[string]string{"A": "1", "B": "2"}, nil, ""},
		"comments":         {"# no\n\n  # no\nA=1 # yes\n", map[string]string{"A": "1 # yes"}, nil, ""},
		"quotes":           {"A=\"x y\"\nB='z'\nC=it's\nD=\"\"\n", map[string]string{"A": "x y", "B": "z", "C": "it's", "D": ""}, nil, ""},
		"export":           {"export A=1\nexport\tB=2\nexportC=3\n", map[string]string{"A": "1", "B": "2", "exportC": "3"}, nil, ""},
		"twice":            {"A=1\nA=2\n", map[string]string{"A": "2"}, []string{"A"}, ""},
		"value with =":     {"A=b=c\n", map[string]string{"A": "b=c"}, nil, ""},
		"nothing expanded": {"A=$HOME`id`\n", map[string]string{"A": "$HOME`id`"}, nil, ""},
		"name alone":       {"FROM_CALLER\nNOT_SET\n", map[string]string{"FROM_CALLER": "here"}, nil, ""},
		"no line end":      {"A=1", map[string]string{"A": "1"}, nil, ""},
		"no name":          {"A=1\n=secret\n", nil, nil, "line 2: no NAME=VALUE"},
		"space before =":   {"A = secret\n", nil, nil, "line 1: no NAME=VALUE"},
		"open quote":       {"\n\nA=\"secret\n", nil, nil, "line 3: the value begins with a quote"},
		"not UTF-8":        {"A=\xff\n", nil, nil, "not UTF-8"},
	} {
		got, twice, err := sandbox.ParseEnvFile([]byte(test.text), getenv)
		if (err == nil) != (test.fails == "") || err != nil && (!strings.Contains(err.Error(), test.fails) || !errors.Is(err, sandbox.ErrEnvFile)) {
			t.Errorf("%s: %v, want %q", name, err, test.fails)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: the value is shown: %v", name, err)
		}
		if diff := cmp.Diff([]any{test.want, test.twice}, []any{got, twice}); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func FuzzParseEnvFile(f *testing.F) {
	f.Add("\uFEFFexport A=\"x\"\r\n#\nB")
	f.Fuzz(func(t *testing.T, text string) {
		env, _, err := sandbox.ParseEnvFile([]byte(text), func(string) string { return "v" })
		if err != nil {
			return
		}
		for name, value := range env {
			if strings.ContainsAny(name+value, "\n") || strings.Contains(name, "=") {
				t.Errorf("%q is %q", name, value)
			}
		}
	})
}

func TestCheckSpec(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		spec sandbox.Spec
		want string
	}{
		"good":         {sandbox.Spec{Home: "a", Workspace: "a"}, ""},
		"no home":      {sandbox.Spec{Workspace: "w"}, "home: "},
		"no workspace": {sandbox.Spec{Home: "h"}, "workspace: "},
		"dots":         {sandbox.Spec{Home: "..", Workspace: "w"}, "home: "},
		"nested":       {sandbox.Spec{Home: "h", Workspace: "h/w"}, "workspace: "},
		"default":      {sandbox.Spec{Home: "default", Workspace: "w"}, "reserved"},
		"name":         {sandbox.Spec{Home: "h", Workspace: "w", Name: "Name"}, "name: "},
	} {
		err := test.spec.Check()
		if (err == nil) != (test.want == "") || err != nil && (!errors.Is(err, sandbox.ErrSpec) || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
}
