package cmd_test

import (
	"context"
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/hermesbox/hermesbox/cmd"
)

// TestMain lets the test scripts run hermesbox as a process of its own.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"hermesbox": func() {
		sys := cmd.System{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Getenv: os.Getenv}
		os.Exit(cmd.Run(context.Background(), sys, os.Args[1:]))
	}})
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
