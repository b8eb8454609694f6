package sandbox

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseAnswers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		out  string
		want []answer
		bad  bool
	}{
		"none":           {"end\x00\x00", nil, false},
		"some":           {"a\x00b\nc\x00\x00\x00end\x00\x00", []answer{{"a", "b\nc"}, {"", ""}}, false},
		"end as a value": {"a\x00end\x00end\x00\x00", []answer{{"a", "end"}}, false},
		"nothing":        {"", nil, true},
		"no end":         {"a\x00b\x00", nil, true},
		"cut":            {"a\x00b\x00end\x00", nil, true},
		"more":           {"end\x00\x00x", nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := parseAnswers([]byte(c.out))
			if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(answer{})); c.bad != errors.Is(err, errAnswer) || !c.bad && diff != "" {
				t.Errorf("%v\n%s", err, diff)
			}
		})
	}
}

// TestTakeRefuses: answers that no script writes are errors that name them.
func TestTakeRefuses(t *testing.T) {
	t.Parallel()
	for _, a := range []answer{
		{"home state", "initialised"},
		{"home state", "splendid\n"},
		{"home count", "-1"},
		{"home count", "99999999999999999999"},
		{"home modified", "soon"},
		{"home colour", "red"},
		{"free", "1.5"},
		{"free", "9223372036854775807"},
		{"record", "no line end"},
		{"workspace", ""},
		{"stranger", "x"},
	} {
		f := Found{Records: map[string][]byte{}}
		if err := f.take(a); !errors.Is(err, errAnswer) {
			t.Errorf("%q: %v", a, err)
		}
	}
	var did string
	for _, a := range []answer{{"home", "destroyed"}, {"house", "kept"}} {
		if err := takeWord("home", &did)(a); !errors.Is(err, errAnswer) || did != "" {
			t.Errorf("%q: %v, %q", a, err, did)
		}
	}
}

func TestRefusal(t *testing.T) {
	t.Parallel()
	s := nodeScript{}
	for kind, want := range map[string]error{
		"no-default\n": ErrNoDefaultHome, "locked\nx": ErrLocked, "taken\nx": ErrTaken, "read-only\nx": ErrReadOnly,
		"whim\n": errAnswer, "none": errAnswer,
	} {
		if err := s.refusal("n", []answer{{"refused", kind}}); !errors.Is(err, want) {
			t.Errorf("%q: %v", kind, err)
		}
	}
	err := s.refusal("n", []answer{{"need", "many"}, {"refused", "full\n"}})
	if !errors.Is(err, errAnswer) {
		t.Errorf("odd number: %v", err)
	}
}

// FuzzAnswers: whatever a node writes, reading it ends, and reads what was written.
func FuzzAnswers(f *testing.F) {
	f.Add([]byte("home state\x00initialised\n\x00free\x0012\x00record\x00a.json\n{}\n\x00end\x00\x00"))
	f.Add([]byte("home entry\x00a\nb\x00home count\x001\x00refused\x00uninitialised\n\x00end\x00\x00"))
	f.Add([]byte("config\x00 66 6f\x00end\x00\x00"))
	f.Fuzz(func(t *testing.T, out []byte) {
		all, err := parseAnswers(out)
		if err != nil {
			return
		}
		var again []byte
		for _, a := range append(all, answer{"end", ""}) {
			again = append(again, a.key+"\x00"+a.value+"\x00"...)
		}
		if n := len(out) - len(again); n < 0 || string(out[:len(again)-1]) != string(again[:len(again)-1]) {
			t.Errorf("read %q of %q", again, out)
		}
		found := Found{Records: map[string][]byte{}}
		_ = nodeScript{}.read("n", out, found.take)
		for _, a := range all {
			_, _ = judgeConfig(a)
		}
	})
}
