package sandbox

import (
	"strings"
	"time"

	"github.com/hermesbox/hermesbox/internal/answer"
)

// takeState reads "STATE\nPROBLEM".
func takeState(a answer.Pair, state *State, problem *string) error {
	word, why, err := a.Split()
	if err != nil {
		return err
	}
	switch s := State(word); s {
	case Absent, Empty, Initialised, Uninitialised, Unusable, Usable:
		*state, *problem = s, why
		return nil
	}
	return a.Odd()
}

// takeHome reads an answer about a home: "home state", "home entry" and so on.
func takeHome(a answer.Pair, homes map[string]*Home) error {
	which, what, _ := strings.Cut(a.Key, " ")
	home, ok := homes[which]
	if !ok {
		return a.Odd()
	}
	return home.take(answer.Pair{Key: what, Value: a.Value})
}

func (h *Home) take(a answer.Pair) error {
	switch a.Key {
	case "state":
		return takeState(a, &h.State, &h.Problem)
	case "entry":
		h.Entries = append(h.Entries, a.Value)
		return nil
	case "count":
		n := int64(-1)
		err := a.Number(&n, 1)
		h.Count = int(n)
		return err
	case "modified":
		n := int64(-1)
		err := a.Number(&n, 1)
		if n >= 0 {
			h.Modified = time.Unix(n, 0).UTC()
		}
		return err
	}
	return a.Odd()
}

// takeWord reads the one answer of a script that says what it did.
func takeWord(key string, to *string) func(answer.Pair) error {
	return func(a answer.Pair) error {
		if a.Key != key || *to != "" {
			return a.Odd()
		}
		switch a.Value {
		case Kept, Seeded, Added:
			*to = a.Value
			return nil
		}
		return a.Odd()
	}
}
