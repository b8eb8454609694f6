package sshdial

import (
	"strings"
	"testing"
	"time"
)

func TestMatchPattern(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		s, pattern string
		want       bool
	}{
		{"", "", true},
		{"", "*", true},
		{"", "?", false},
		{"a", "", false},
		{"abc", "a*c", true},
		{"abc", "a?c", true},
		{"abc", "a??c", false},
		{"abcbc", "*bc", true},
		{"abcbd", "*bc", false},
		{"[1.2.3.4]:22", "[1.2.3.*]:22", true},
		{"a.b", "a.b", true},
		{"axb", "a.b", false},
		{"ab", "***a***b***", true},
	} {
		if got := matchPattern(test.s, test.pattern); got != test.want {
			t.Errorf("matchPattern(%q, %q) = %v", test.s, test.pattern, got)
		}
	}
}

// Many stars take no more than the product of both lengths.
func TestMatchPatternTime(t *testing.T) {
	t.Parallel()
	start := time.Now()
	if matchPattern(strings.Repeat("a", 10000), strings.Repeat("a*", 500)+"b") {
		t.Error("matched")
	}
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("it took %v", took)
	}
}

func TestParseSeconds(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]time.Duration{
		"0": 0, "90": 90 * time.Second, "1m30": 90 * time.Second, "1W2D3H4M5S": 788645 * time.Second, "none": 0, "None": 0,
	} {
		if got, ok := parseSeconds(s); !ok || got != want {
			t.Errorf("%q: %v, %v; want %v", s, got, ok, want)
		}
	}
	for _, s := range []string{"-1", "s", "1x", "1.5", "99999999999", "2147483647w", "1 m"} {
		if got, ok := parseSeconds(s); ok {
			t.Errorf("%q: %v", s, got)
		}
	}
}
