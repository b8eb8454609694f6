package node

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

// FuzzBetween cuts a stream anywhere; what lies between the marks must come out
// whole, and nothing else.
func FuzzBetween(f *testing.F) {
	f.Add("welcome\n", "out\n", "bye\n", uint8(1))
	f.Add("", "mark-en mark-mark-end", "", uint8(3))
	f.Add("mark-begi", "", "mark-end\n", uint8(7))
	f.Add(strings.Repeat("x", 9000), "\x00\xff", "mark-begin\n", uint8(200))
	f.Fuzz(func(t *testing.T, before, inside, after string, size uint8) {
		const begin, end = "mark-begin\n", "mark-end\n"
		if strings.Contains(before+begin, begin[1:]+begin) || strings.Index(before+begin, begin) < len(before) || strings.Index(inside+end, end) < len(inside) {
			t.Skip("marks are random, nobody else prints them")
		}
		var got bytes.Buffer
		b := between{to: &got, begin: begin, end: end}
		rest := []byte(before + begin + inside + end + after)
		for len(rest) > 0 {
			n := min(len(rest), int(size)+1)
			if wrote, err := b.Write(rest[:n]); wrote != n || err != nil {
				t.Fatalf("Write: %d, %v", wrote, err)
			}
			rest = rest[n:]
		}
		if err := b.flush(); err != nil || got.String() != inside || !b.begun || !b.ended {
			t.Errorf("%q came out of %q, begun %v, ended %v, %v", got.String(), inside, b.begun, b.ended, err)
		}
	})
}

// TestBetweenCutShort has the stream end early.
func TestBetweenCutShort(t *testing.T) {
	t.Parallel()
	var got bytes.Buffer
	b := between{to: &got, begin: "B\n", end: "END\n"}
	for _, part := range []string{"head", "\nB", "\nout EN"} {
		if _, err := b.Write([]byte(part)); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.flush(); err != nil || got.String() != "out EN" || b.ended || string(b.head) != "head\n" {
		t.Errorf("%q, ended %v, head %q, %v", got.String(), b.ended, b.head, err)
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }

var errFull = errors.New("full")

func TestBetweenFails(t *testing.T) {
	t.Parallel()
	b := between{to: full{}, begin: "B\n", end: "END\n"}
	if _, err := b.Write([]byte("B\nout")); !errors.Is(err, errFull) {
		t.Errorf("Write: %v", err)
	}
	if err := b.flush(); !errors.Is(err, errFull) {
		t.Errorf("flush: %v", err)
	}
}
