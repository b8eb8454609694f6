package config

import (
	"errors"
	"strconv"
	"strings"
)

// Error is a wrong configuration: the user has to change something.
type Error struct {
	// Origin is where the value stands: "hermesbox.yaml:12", the name of an
	// environment variable, or a flag. Without a line it is the file.
	Origin string
	// Key is the dotted key, empty where the file as a whole is wrong.
	Key string
	// Problem says what is wrong, with the value that would be right where
	// that is known.
	Problem string
	// Hint is the next step.
	Hint string
}

func (e *Error) Error() string {
	var parts []string
	for _, part := range []string{e.Origin, printable(e.Key), e.Problem} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, ": ")
}

// withHint gives an Error without a next step the one that its origin implies.
func withHint(err error) error {
	var e *Error
	if !errors.As(err, &e) || e.Hint != "" {
		return err
	}
	switch {
	case strings.HasPrefix(e.Origin, "-"):
		e.Hint = "give " + e.Origin + " another value; --help describes it"
	case isVariable(e.Origin):
		e.Hint = "correct or unset " + e.Origin
	default:
		e.Hint = "correct that line; docs/configuration.md describes every key"
	}
	return err
}

// printable quotes a key that would upset a terminal; the names below env and
// build_args can hold anything.
func printable(key string) string {
	if quoted := strconv.Quote(key); quoted != `"`+key+`"` {
		return quoted
	}
	return key
}
