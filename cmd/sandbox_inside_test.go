package cmd

import (
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hermesbox/hermesbox/internal/envd"
)

func TestReadInside(t *testing.T) {
	t.Parallel()
	told := strings.Join([]string{
		"dir /workspace",
		"override A=b = c", "override MY_KEY=override-key", "override PORT=1", "override 9x=1", "override # KEY=commented", "override nothing",
		"env export A_TOKEN='quoted token'", "env B_PASSWORD: colon-password", "env PLAIN=plain", "env EMPTY_KEY=", "env X_KEY_ENV=NAME",
		"token the-token", "",
		"doc1 model: {api_key: yaml-key, max_tokens: 40960000, key_env: VARIABLE, secret: 12345678, token: true}", "doc1 headers: {Authorization: Bearer header-token}",
		`doc2 {"tokens": {"access": "nested-token", "type": "bearer"}, "list": [{"password": "in a list"}]}`,
		"doc3 broken: [", "doc3   api_key: broken-key",
		"dirty /elsewhere", "unknown x",
	}, "\n")
	in, secrets := readInside(told)
	wantEnv := studioEnv()
	wantEnv["A"], wantEnv["MY_KEY"] = "b = c", "override-key"
	if diff := cmp.Diff(inside{env: wantEnv, dir: "/workspace"}, in, cmp.AllowUnexported(inside{})); diff != "" {
		t.Errorf("inside (-want +got):\n%s", diff)
	}
	want := map[string]bool{}
	for _, s := range []string{
		"override-key", "commented", "'quoted token'", "quoted token", "colon-password", "the-token", "yaml-key", "12345678",
		"Bearer header-token", "header-token", "nested-token", "in a list", "broken-key",
	} {
		want[s] = true
	}
	got := map[string]bool{}
	for _, s := range secrets {
		got[s] = true
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("secrets (-want +got):\n%s", diff)
	}
}

// FuzzReadInside: a sandbox may tell anything.
func FuzzReadInside(f *testing.F) {
	f.Add("token a\noverride A=b\ndoc1 a: &a [*a]\n")
	f.Add("doc1 {key: [1, {token: \"x\n")
	f.Add("env KEY='\nenv TOKEN=\"\n")
	f.Fuzz(func(t *testing.T, told string) {
		in, secrets := readInside(told)
		if len(secrets) > secretsLimit {
			t.Fatalf("%d secrets", len(secrets))
		}
		for name := range in.env {
			if !isVariable(name) {
				t.Fatalf("variable %q", name)
			}
		}
		if in.env["HERMES_HOME"] != "/root/.hermes" {
			t.Fatalf("HERMES_HOME is %q", in.env["HERMES_HOME"])
		}
	})
}

func TestStatusOf(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		exit envd.Exit
		code int
	}{
		{envd.Exit{}, 0},
		{envd.Exit{Code: 7}, 7},
		{envd.Exit{Code: 255}, 255},
		{envd.Exit{Code: -1, Signal: "hangup"}, 129},
		{envd.Exit{Code: -1, Signal: "killed"}, 137},
		{envd.Exit{Code: -1, Signal: "segmentation fault (core dumped)"}, 139},
		{envd.Exit{Code: -1, Signal: "terminated"}, 143},
		{envd.Exit{Code: -1, Signal: "bad system call"}, 159},
		{envd.Exit{Code: -1, Signal: "signal 34"}, 162},
		{envd.Exit{Code: -1, Signal: "signal 999"}, 1},
		{envd.Exit{Code: -1, Signal: "unknown"}, 1},
	} {
		a := newApp(System{Out: io.Discard, Err: io.Discard, Getenv: func(string) string { return "" }})
		if got := a.report(statusOf(test.exit)); got != test.code {
			t.Errorf("%v: exit code %d, want %d", test.exit, got, test.code)
		}
	}
}

func TestLogsHide(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"Auth enabled — token: 0123456789abcdef":              "Auth enabled — token: ***",
		"GET /?token=abcdefgh&x=1":                            "GET /?token=***&x=1",
		`{"access_token": "abcdefgh.ijk", "n": 1}`:            `{"access_token": "***", "n": 1}`,
		"MY_API_KEY=abc%20defgh next":                         "MY_API_KEY=*** next",
		"authorization: Bearer abcdefghij":                    "authorization: Bearer ***",
		"tokens used: 17, total_tokens: 1234":                 "tokens used: 17, total_tokens: 1234",
		"nothing of the kind, key concepts and token budgets": "nothing of the kind, key concepts and token budgets",
	} {
		a := newApp(System{Out: io.Discard, Err: io.Discard, Getenv: func(string) string { return "" }})
		if got := newLogPrinter(a, nil).hide(line); got != want {
			t.Errorf("%q became %q, want %q", line, got, want)
		}
	}
}

// TestLogsLines: lines are whole, however they come; one without end is cut.
func TestLogsLines(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	a := newApp(System{Out: &out, Err: io.Discard, Getenv: func(string) string { return "" }})
	f := newLogPrinter(a, []string{"/a", "/b"}).file("/a")
	for _, part := range []string{"on", "e\ntw", "o\n\nthree\r\n", "last"} {
		if _, err := f.Write([]byte(part)); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.finish(); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write([]byte(strings.Repeat("x", longestLine+1))); err != nil {
		t.Fatal(err)
	}
	if len(f.part) > longestLine {
		t.Errorf("%d bytes are waiting", len(f.part))
	}
	if err := a.close(); err != nil {
		t.Fatal(err)
	}
	if got, want := out.String(), "a: one\na: two\na: \na: three\na: last\na: xxx"; !strings.HasPrefix(got, want) {
		t.Errorf("got %.100q, want %q", got, want)
	}
}
