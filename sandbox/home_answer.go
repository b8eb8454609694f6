package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// errAnswer means that a node's answer is not what the script writes.
var errAnswer = errors.New("the node's answer cannot be read")

// answer is a key and a value that a script on a node gave. Both end in a NUL
// byte there, which no name of a file can hold, so none can forge another.
type answer struct{ key, value string }

// parseAnswers takes a script's output apart. The last answer is "end", so that
// a part is not taken for the whole.
func parseAnswers(out []byte) ([]answer, error) {
	var all []answer
	for {
		a, size := firstAnswer(out)
		out = out[size:]
		switch {
		case size == 0:
			return nil, fmt.Errorf("%w: it has no end", errAnswer)
		case a.key != "end":
			all = append(all, a)
		case len(out) > 0:
			return nil, fmt.Errorf("%w: %d bytes after its end", errAnswer, len(out))
		default:
			return all, nil
		}
	}
}

// firstAnswer is the first answer of a script's output and how long it is; 0
// where it is not there to its end.
func firstAnswer(out []byte) (a answer, size int) {
	key, rest, ok := bytes.Cut(out, []byte{0})
	value, _, also := bytes.Cut(rest, []byte{0})
	if !ok || !also {
		return answer{}, 0
	}
	return answer{string(key), string(value)}, len(key) + len(value) + 2
}

func (a answer) odd() error {
	return fmt.Errorf("%w: %.40q is %.40q", errAnswer, a.key, a.value)
}

// number reads a count of units; nothing stands for unknown.
func (a answer) number(to *int64, unit int64) error {
	if a.value == "" {
		return nil
	}
	n, err := strconv.ParseInt(a.value, 10, 64)
	if err != nil || n < 0 || n > (1<<62)/unit {
		return a.odd()
	}
	*to = n * unit
	return nil
}

// pair is a value of a first line and the rest.
func (a answer) pair() (first, rest string, err error) {
	first, rest, ok := strings.Cut(a.value, "\n")
	if !ok {
		return "", "", a.odd()
	}
	return first, rest, nil
}

// takeState reads "STATE\nPROBLEM".
func takeState(a answer, state *State, problem *string) error {
	word, why, err := a.pair()
	if err != nil {
		return err
	}
	switch s := State(word); s {
	case Absent, Empty, Initialised, Uninitialised, Unusable, Usable:
		*state, *problem = s, why
		return nil
	}
	return a.odd()
}

// takeHome reads an answer about a home: "home state", "home entry" and so on.
func takeHome(a answer, homes map[string]*Home) error {
	which, what, _ := strings.Cut(a.key, " ")
	home, ok := homes[which]
	if !ok {
		return a.odd()
	}
	return home.take(answer{what, a.value})
}

func (h *Home) take(a answer) error {
	switch a.key {
	case "state":
		return takeState(a, &h.State, &h.Problem)
	case "entry":
		h.Entries = append(h.Entries, a.value)
		return nil
	case "count":
		n := int64(-1)
		err := a.number(&n, 1)
		h.Count = int(n)
		return err
	case "modified":
		n := int64(-1)
		err := a.number(&n, 1)
		if n >= 0 {
			h.Modified = time.Unix(n, 0).UTC()
		}
		return err
	}
	return a.odd()
}

// takeWord reads the one answer of a script that says what it did.
func takeWord(key string, to *string) func(answer) error {
	return func(a answer) error {
		if a.key != key || *to != "" {
			return a.odd()
		}
		switch a.value {
		case Kept, Seeded, Added:
			*to = a.value
			return nil
		}
		return a.odd()
	}
}
