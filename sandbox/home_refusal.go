package sandbox

import (
	"errors"
	"fmt"
	"strings"

	"github.com/hermesbox/hermesbox/internal/answer"
)

// refusal is the error of a script that refused. Its reason is the last answer,
// "KIND\nDETAIL"; what it knows about it comes before.
func (s nodeScript) refusal(node string, all []answer.Pair) error {
	kind, detail, err := all[len(all)-1].Split()
	if err != nil {
		return err
	}
	all = all[:len(all)-1]
	switch kind {
	case "no-default":
		return ErrNoDefaultHome
	case "locked":
		return fmt.Errorf("%w: %s", ErrLocked, detail)
	case "taken":
		return fmt.Errorf("%w: %s", ErrTaken, detail)
	case "read-only":
		return fmt.Errorf("%w: %s", ErrReadOnly, detail)
	case "failed":
		return errors.New(detail)
	case "full":
		return s.full(node, all)
	case "path":
		where, problem, _ := strings.Cut(detail, "\n")
		return &PathError{Node: node, Path: where, Problem: problem}
	case "uninitialised":
		return s.uninitialised(node, all)
	}
	return answer.Pair{Key: "refused", Value: kind}.Odd()
}

func (s nodeScript) uninitialised(node string, all []answer.Pair) error {
	var h Home
	for _, a := range all {
		if strings.HasPrefix(a.Key, "home ") {
			if err := takeHome(a, map[string]*Home{"home": &h}); err != nil {
				return err
			}
		}
	}
	id := s.place.Home
	if id == "" {
		id = DefaultHome
	}
	return &NotInitialisedError{Node: node, Home: id, Entries: h.Entries, Count: h.Count}
}

func (s nodeScript) full(node string, all []answer.Pair) error {
	e := &SpaceError{Node: node, Path: s.place.Layout.Homes(), Need: -1, Free: -1, Files: -1, Nodes: -1}
	for _, a := range all {
		var err error
		switch a.Key {
		case "need":
			err = a.Number(&e.Need, 1024)
		case "free":
			err = a.Number(&e.Free, 1024)
		case "need-files":
			err = a.Number(&e.Files, 1)
		case "files":
			err = a.Number(&e.Nodes, 1)
		}
		if err != nil {
			return err
		}
	}
	return e
}
