package answer_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hermesbox/hermesbox/internal/answer"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		out  string
		want []answer.Pair
		bad  bool
	}{
		"none":           {"end\x00\x00", nil, false},
		"some":           {"a\x00b\nc\x00\x00\x00end\x00\x00", []answer.Pair{{Key: "a", Value: "b\nc"}, {}}, false},
		"odd names":      {"home\x00planted\x00skills\x00dir a\nb\x00end\x00\x00", []answer.Pair{{Key: "home", Value: "planted"}, {Key: "skills", Value: "dir a\nb"}}, false},
		"end as a value": {"a\x00end\x00end\x00\x00", []answer.Pair{{Key: "a", Value: "end"}}, false},
		"nothing":        {"", nil, true},
		"a NUL":          {"\x00", nil, true},
		"a word":         {"a", nil, true},
		"end alone":      {"end", nil, true},
		"end cut":        {"end\x00", nil, true},
		"no end":         {"a\x00b\x00", nil, true},
		"end in a value": {"a\x00end\x00\x00", nil, true},
		"cut":            {"a\x00b\x00end\x00", nil, true},
		"more":           {"end\x00\x00x", nil, true},
		"more, later":    {"a\x00b\x00end\x00\x00more", nil, true},
		"end twice":      {"end\x00\x00end", nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := answer.Parse([]byte(c.out))
			if diff := cmp.Diff(c.want, got); c.bad != errors.Is(err, answer.Err) || !c.bad && diff != "" {
				t.Errorf("%v\n%s", err, diff)
			}
		})
	}
}

// FuzzParse: whatever comes, reading it ends, and reads what was written.
func FuzzParse(f *testing.F) {
	f.Add("a\x00b\nc\x00\x00\x00end\x00\x00")
	f.Add("end\x00x\x00end\x00\x00")
	f.Fuzz(func(t *testing.T, out string) {
		all, err := answer.Parse([]byte(out))
		if err != nil {
			return
		}
		var again strings.Builder
		for _, p := range append(all, answer.Pair{Key: "end"}) {
			again.WriteString(p.Key + "\x00" + p.Value + "\x00")
		}
		if again.String() != out {
			t.Errorf("read %q of %q", again.String(), out)
		}
	})
}

func TestPair(t *testing.T) {
	t.Parallel()
	n := int64(7)
	if err := (answer.Pair{Value: ""}).Number(&n, 1024); err != nil || n != 7 {
		t.Errorf("unknown: %d, %v", n, err)
	}
	if err := (answer.Pair{Value: "3"}).Number(&n, 1024); err != nil || n != 3072 {
		t.Errorf("3 KiB: %d, %v", n, err)
	}
	for _, bad := range []string{"-1", "1.5", "x", "9223372036854775807", "99999999999999999999"} {
		if err := (answer.Pair{Key: "free", Value: bad}).Number(&n, 1024); !errors.Is(err, answer.Err) || n != 3072 {
			t.Errorf("%q: %d, %v", bad, n, err)
		}
	}
	if first, rest, err := (answer.Pair{Value: "a\nb\nc"}).Split(); err != nil || first != "a" || rest != "b\nc" {
		t.Errorf("%q, %q, %v", first, rest, err)
	}
	if _, _, err := (answer.Pair{Key: "k", Value: "no line end"}).Split(); !errors.Is(err, answer.Err) || !strings.Contains(err.Error(), `"k" is "no line end"`) {
		t.Errorf("got %v", err)
	}
}

func TestBuffer(t *testing.T) {
	t.Parallel()
	b := &answer.Buffer{Left: 3}
	if _, err := b.Write([]byte("two")); err != nil || b.String() != "two" {
		t.Errorf("%q, %v", b.String(), err)
	}
	if _, err := b.Write([]byte("x")); !errors.Is(err, answer.Err) || b.String() != "two" {
		t.Errorf("a long answer: %q, %v", b.String(), err)
	}
}
