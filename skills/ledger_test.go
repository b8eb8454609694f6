package skills

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestLedgerHeader: what is written is read.
func TestLedgerHeader(t *testing.T) {
	t.Parallel()
	want := Ledger{Version: 1, Hermesbox: "v1", Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Revision: Revision{"abc", true}, Run: "XYZ"}
	line, err := want.header()
	if err != nil {
		t.Fatal(err)
	}
	got, err := parseHeader(line)
	if diff := cmp.Diff(want, got); diff != "" || err != nil || !strings.HasPrefix(line, `{"version":1,`) {
		t.Errorf("%s: %v\n%s", line, err, diff)
	}
}

// FuzzParseHeader: a file on a node can hold anything.
func FuzzParseHeader(f *testing.F) {
	for _, line := range []string{`{"version":1,"run":"A","skills":{`, `{"version":2}`, `{`, ``, `{"version":1,"run":"A"}`, `{"version":1,"time":"x","run":"A","skills":{`} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		l, err := parseHeader(line)
		if err == nil && (l.Version != 1 || l.Run == "") {
			t.Errorf("%q: %+v", line, l)
		}
		if err != nil && !errors.Is(err, ErrLedger) && !errors.Is(err, ErrNewer) {
			t.Errorf("%q: %v", line, err)
		}
	})
}

// FuzzParseIndex: names are such that a script can take them.
func FuzzParseIndex(f *testing.F) {
	f.Add("0123456789abcdef one\n0123456789abcdef two\n")
	f.Add("broken!")
	f.Fuzz(func(t *testing.T, text string) {
		index, err := parseIndex(text)
		for name := range index {
			if !namePattern.MatchString(name) {
				t.Errorf("%q: %q", text, name)
			}
		}
		if err != nil && !errors.Is(err, ErrLedger) {
			t.Errorf("%q: %v", text, err)
		}
	})
}

// TestParseAnswers: what no script of ours says is an error.
func TestParseAnswers(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "end", "end\x00", "a\x00b\x00", "a\x00end\x00\x00", "end\x00\x00more"} {
		if got, err := parseAnswers(text); !errors.Is(err, errAnswer) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	if err := refusal(map[string]string{"refused": "new word"}); !errors.Is(err, errAnswer) {
		t.Errorf("an unknown refusal: %v", err)
	}
	if _, err := (&limited{left: 1}).Write([]byte("two")); !errors.Is(err, errAnswer) {
		t.Errorf("a long answer: %v", err)
	}
}
