package cmd_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/hermesbox/hermesbox/cmd"
)

// TestMain lets the test scripts run hermesbox as a process of its own.
func TestMain(m *testing.M) {
	testscript.Main(tidy{m}, map[string]func(){"hermesbox": func() {
		sys := cmd.System{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Getenv: os.Getenv}
		os.Exit(cmd.Run(context.Background(), sys, os.Args[1:]))
	}})
}

// tidy removes what the tests of this package share.
type tidy struct{ *testing.M }

// Run runs the tests.
func (m tidy) Run() int {
	defer func() { _ = os.RemoveAll(programDir) }() // "" is nothing
	return m.M.Run()
}

// TestScripts runs testdata/script/*.txtar: the whole program, as a user runs it.
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:             "testdata/script",
		UpdateScripts:   os.Getenv("HERMESBOX_UPDATE") != "",
		ContinueOnError: true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("HOME", env.WorkDir)
			return nil
		},
		Condition: conditions,
		Cmds:      map[string]func(*testscript.TestScript, bool, []string){"rc": exitCode, "cube": serveCube},
	})
}

// conditions are what a script may ask of the machine, as in [root].
func conditions(cond string) (bool, error) {
	switch cond {
	case "root":
		return os.Getuid() == 0, nil
	}
	return false, nil
}

// exitCode is the script command "rc N PROGRAM ARGS…": it wants that exit code.
func exitCode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: rc N program args...")
	}
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("running %q: %v", args[1:], err)
		}
		got = exit.ExitCode()
	}
	if strconv.Itoa(got) != args[0] {
		ts.Fatalf("%q: exit code %d, want %s", args[1:], got, args[0])
	}
}
