// Package answer reads what the scripts of this program say, on nodes and in
// sandboxes: keys and values, each ended by a NUL byte, which no name of a file
// can hold, so that none can forge another. The last key is end, so that a part
// is not taken for the whole.
//
// It runs nothing and knows no script.
package answer

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Err is output that no script writes, or more of it than was expected.
var Err = errors.New("the answer is not understood")

// Pair is a key and a value.
type Pair struct{ Key, Value string }

// Parse takes a script's output apart. The end is not among the pairs.
func Parse(out []byte) ([]Pair, error) {
	var all []Pair
	for {
		p, size := First(out)
		out = out[size:]
		switch {
		case size == 0:
			return nil, fmt.Errorf("%w: it has no end", Err)
		case p.Key != "end" || p.Value != "":
			all = append(all, p)
		case len(out) > 0:
			return nil, fmt.Errorf("%w: %d bytes after its end", Err, len(out))
		default:
			return all, nil
		}
	}
}

// First is the first pair of a script's output and how many bytes it takes; 0
// where it is not there to its end.
func First(out []byte) (p Pair, size int) {
	key, rest, ok := bytes.Cut(out, []byte{0})
	value, _, also := bytes.Cut(rest, []byte{0})
	if !ok || !also {
		return Pair{}, 0
	}
	return Pair{string(key), string(value)}, len(key) + len(value) + 2
}

// Odd is an error about a pair that no script writes.
func (p Pair) Odd() error {
	return fmt.Errorf("%w: %.40q is %.40q", Err, p.Key, p.Value)
}

// Number reads a count of units; an empty value leaves to as it is.
func (p Pair) Number(to *int64, unit int64) error {
	if p.Value == "" {
		return nil
	}
	n, err := strconv.ParseInt(p.Value, 10, 64)
	if err != nil || n < 0 || n > (1<<62)/unit {
		return p.Odd()
	}
	*to = n * unit
	return nil
}

// Split is a value of a first line and the rest.
func (p Pair) Split() (first, rest string, err error) {
	first, rest, ok := strings.Cut(p.Value, "\n")
	if !ok {
		return "", "", p.Odd()
	}
	return first, rest, nil
}

// Buffer keeps what it is given as long as it has bytes Left, and then fails.
type Buffer struct {
	bytes.Buffer
	Left int
}

// Write keeps p, or fails with Err.
func (b *Buffer) Write(p []byte) (int, error) {
	if len(p) > b.Left {
		return 0, fmt.Errorf("%w: it is too long", Err)
	}
	b.Left -= len(p)
	return b.Buffer.Write(p)
}
