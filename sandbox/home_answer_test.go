package sandbox

import (
	"errors"
	"testing"

	"github.com/hermesbox/hermesbox/internal/answer"
)

// TestTakeRefuses: answers that no script writes are errors that name them.
func TestTakeRefuses(t *testing.T) {
	t.Parallel()
	for _, a := range []answer.Pair{
		{Key: "home state", Value: "initialised"},
		{Key: "home state", Value: "splendid\n"},
		{Key: "home count", Value: "-1"},
		{Key: "home count", Value: "99999999999999999999"},
		{Key: "home modified", Value: "soon"},
		{Key: "home colour", Value: "red"},
		{Key: "free", Value: "1.5"},
		{Key: "free", Value: "9223372036854775807"},
		{Key: "record", Value: "no line end"},
		{Key: "workspace", Value: ""},
		{Key: "stranger", Value: "x"},
	} {
		f := Found{Records: map[string][]byte{}}
		if err := f.take(a); !errors.Is(err, answer.Err) {
			t.Errorf("%q: %v", a, err)
		}
	}
	var did string
	for _, a := range []answer.Pair{{Key: "home", Value: "destroyed"}, {Key: "house", Value: "kept"}} {
		if err := takeWord("home", &did)(a); !errors.Is(err, answer.Err) || did != "" {
			t.Errorf("%q: %v, %q", a, err, did)
		}
	}
}

func TestRefusal(t *testing.T) {
	t.Parallel()
	s := nodeScript{}
	for kind, want := range map[string]error{
		"no-default\n": ErrNoDefaultHome, "locked\nx": ErrLocked, "taken\nx": ErrTaken, "read-only\nx": ErrReadOnly,
		"whim\n": answer.Err, "none": answer.Err,
	} {
		if err := s.refusal("n", []answer.Pair{{Key: "refused", Value: kind}}); !errors.Is(err, want) {
			t.Errorf("%q: %v", kind, err)
		}
	}
	err := s.refusal("n", []answer.Pair{{Key: "need", Value: "many"}, {Key: "refused", Value: "full\n"}})
	if !errors.Is(err, answer.Err) {
		t.Errorf("odd number: %v", err)
	}
}

// FuzzAnswers: whatever a node writes, reading it ends, and reads what was written.
func FuzzAnswers(f *testing.F) {
	f.Add([]byte("home state\x00initialised\n\x00free\x0012\x00record\x00a.json\n{}\n\x00end\x00\x00"))
	f.Add([]byte("home entry\x00a\nb\x00home count\x001\x00refused\x00uninitialised\n\x00end\x00\x00"))
	f.Add([]byte("config\x00 66 6f\x00end\x00\x00"))
	f.Fuzz(func(t *testing.T, out []byte) {
		all, err := answer.Parse(out)
		if err != nil {
			return
		}
		var again []byte
		for _, a := range append(all, answer.Pair{Key: "end", Value: ""}) {
			again = append(again, a.Key+"\x00"+a.Value+"\x00"...)
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
