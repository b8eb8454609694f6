package skills

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hermesbox/hermesbox/internal/answer"
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

// TestRefusalUnknown: a reason that no script of ours gives is an error.
func TestRefusalUnknown(t *testing.T) {
	t.Parallel()
	if err := refusal(map[string]string{"refused": "new word"}); !errors.Is(err, answer.Err) {
		t.Errorf("an unknown refusal: %v", err)
	}
}
