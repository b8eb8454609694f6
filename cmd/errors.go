package cmd

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
)

// failure is an error with the exit code it ends in and, where there is one,
// the next step for the person at the terminal.
type failure struct {
	err  error
	code int
	hint string
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

// usagef is wrong usage or bad configuration: exit code 2.
func usagef(format string, args ...any) *failure {
	return &failure{err: fmt.Errorf(format, args...), code: exitUsage}
}

// withHint adds the next step.
func (f *failure) withHint(format string, args ...any) *failure {
	f.hint = fmt.Sprintf(format, args...)
	return f
}

// failed wraps an error of a stage, with the code and hint that explain finds for it.
func failed(err error) *failure {
	var f *failure
	if errors.As(err, &f) {
		return f
	}
	code, hint := explain(err)
	return &failure{err: err, code: code, hint: hint}
}

// errChecks ends a command whose checks ran and did not all pass. The checks
// were already reported, so it prints nothing.
var errChecks = &failure{err: errors.New("checks failed"), code: exitChecks}

// report prints an error once, as text or as JSON, and returns its exit code.
func (a *app) report(err error) int {
	switch {
	case err == nil:
		return exitDone
	case errors.Is(err, errInterrupted):
		a.printError("interrupted", "")
		return exitInterrupted
	case errors.Is(err, errChecks):
		return exitChecks
	}
	if status := exitStatus(0); errors.As(err, &status) {
		return int(status)
	}
	f := failed(err)
	a.printError(f.Error(), a.repeatable(f.hint))
	return f.code
}

// asksCube begins a command line that asks the Cube that --cube chose.
var asksCube = regexp.MustCompile(`\bhermesbox (home|node|plan|sandbox|skills|template|up|verify)\b`)

// repeatable puts --cube, where this run has it, into the commands of a hint:
// without it they would ask another Cube, or none.
func (a *app) repeatable(hint string) string {
	return asksCube.ReplaceAllString(hint, a.again()+" $1")
}

func (a *app) printError(message, hint string) {
	if a.output == "json" {
		out := struct {
			Error string `json:"error"`
			Hint  string `json:"hint,omitempty"`
		}{message, hint}
		if err := json.NewEncoder(a.err).Encode(out); err == nil {
			return
		}
	}
	fmt.Fprintf(a.err, "hermesbox: error: %s\n", visible(message))
	if hint != "" {
		fmt.Fprintf(a.err, "hermesbox: hint: %s\n", visible(hint))
	}
}
