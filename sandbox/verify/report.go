package verify

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hermesbox/hermesbox/internal/check"
)

// Report is what became of a verification.
type Report struct {
	// Sandbox and Template are ids.
	Sandbox    string        `json:"sandbox"`
	Template   string        `json:"template"`
	Status     check.Status  `json:"status"`
	StartedAt  time.Time     `json:"started_at"`
	DurationMS int64         `json:"duration_ms"`
	Checks     []check.Check `json:"checks"`
}

// ErrCheck means that no check has an id that was asked for, or that none is left.
var ErrCheck = errors.New("no such check")

// Listed is a check that there is.
type Listed struct {
	ID    string `json:"id"`
	Title string `json:"title"`
	// Needs are the checks without which it cannot be judged.
	Needs []string `json:"needs"`
	// Own tells that it makes sandboxes, so that only Smoke judges it.
	Own bool `json:"own"`
}

// List is all checks, in the order of a report.
func List() []Listed {
	out := []Listed{}
	for _, q := range questions() {
		out = append(out, Listed{q.id, q.title, append([]string{}, q.needs...), q.own})
	}
	return out
}

// CheckIDs refuses ids of checks that there are none of, and a choice that
// leaves none. The error wraps [ErrCheck].
func CheckIDs(only, skip []string) error {
	_, err := selection(only, skip)
	return err
}

// selection are the ids of the checks that are asked for.
func selection(only, skip []string) (map[string]bool, error) {
	chosen := map[string]bool{}
	for _, q := range questions() {
		chosen[q.id] = len(only) == 0
	}
	for _, list := range [][]string{only, skip} {
		for _, id := range list {
			if _, known := chosen[id]; !known {
				return nil, fmt.Errorf("%w: %q; there are %s", ErrCheck, id, strings.Join(ids(), ", "))
			}
		}
	}
	for _, id := range only {
		chosen[id] = true
	}
	left := len(chosen)
	for id := range chosen {
		chosen[id] = chosen[id] && !slices.Contains(skip, id)
		if !chosen[id] {
			left--
		}
	}
	if left == 0 {
		return nil, fmt.Errorf("%w is left", ErrCheck)
	}
	return chosen, nil
}

func ids() []string {
	var out []string
	for _, q := range questions() {
		out = append(out, q.id)
	}
	return out
}
