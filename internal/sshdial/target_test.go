package sshdial

import (
	"errors"
	"strings"
	"testing"
)

func TestParseTarget(t *testing.T) {
	t.Parallel()
	tests := []struct {
		in   string
		want Target
		out  string // as it is written again; "" is as in
	}{
		{"host", Target{Host: "host"}, ""},
		{"root@10.0.0.5", Target{User: "root", Host: "10.0.0.5"}, ""},
		{"root@host:22", Target{User: "root", Host: "host", Port: 22}, ""},
		{"a@b@host", Target{User: "a@b", Host: "host"}, ""},
		{"[fd00::1]:2222", Target{Host: "fd00::1", Port: 2222}, ""},
		{"me@[fe80::1%eth0]", Target{User: "me", Host: "fe80::1%eth0"}, ""},
		{"fd00::1", Target{Host: "fd00::1"}, "[fd00::1]"},
		{"[host]:1", Target{Host: "host", Port: 1}, "host:1"},
		{"ho-st_1", Target{Host: "ho-st_1"}, ""},
		{"bücher.example", Target{Host: "bücher.example"}, ""},
	}
	for _, test := range tests {
		got, err := ParseTarget(test.in)
		if err != nil || got != test.want {
			t.Errorf("ParseTarget(%q): %+v, %v; want %+v", test.in, got, err, test.want)
		}
		out := test.out
		if out == "" {
			out = test.in
		}
		if got.String() != out {
			t.Errorf("String of %q: %q, want %q", test.in, got.String(), out)
		}
	}
}

func TestParseTargetBad(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                 "the host is empty",
		"root@":            "the host is empty",
		"@host":            "the user before @ is empty",
		":22":              "the host is empty",
		"host:":            `port ""`,
		"host:0":           `port "0"`,
		"host:65536":       `port "65536"`,
		"host:+22":         `port "+22"`,
		"host:22:23":       "more than one colon",
		"[::1":             "the bracket is not closed",
		"[::1]22":          "only :port can follow the bracket",
		"-oProxyCommand=x": "begin with -",
		"-l@host":          "begin with -",
		"ho st":            "spaces or control characters",
		"us\x1ber@host":    "spaces or control characters",
		"ssh://host":       `port "//host"`,
		"host/x":           "a character that no host has",
		"host\u200b":       "spaces or control characters",
	} {
		_, err := ParseTarget(in)
		var bad *TargetError
		if !errors.As(err, &bad) || bad.Target != in || !strings.Contains(err.Error(), want) {
			t.Errorf("ParseTarget(%q): %v, want %q", in, err, want)
		}
	}
}

func FuzzParseTarget(f *testing.F) {
	for _, s := range []string{"root@host:22", "[::1]:22", "::1", "a@b@c", "[", "]:1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, err := ParseTarget(s)
		if err != nil {
			return
		}
		if again, err := ParseTarget(got.String()); err != nil || again != got {
			t.Errorf("%q is %+v, which is read again as %+v, %v", s, got, again, err)
		}
	})
}
