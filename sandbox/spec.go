package sandbox

import (
	"fmt"
	"regexp"
	"time"

	"github.com/hermesbox/hermesbox/internal/config"
)

// Spec is the sandbox that is wanted.
type Spec struct {
	// Name is what people call it; empty is the home-id.
	Name string
	// Home and Workspace are ids; both are required.
	Home, Workspace string
	// Template is an id; empty is the newest READY one.
	Template string
	// Node is the node to use, by its configured name; empty is the one that has
	// the home, or else any.
	Node string
	// Env are overrides of the Web UI's environment, added to those that the
	// home has from before.
	Env map[string]string
	// Timeout is the idle window, OnTimeout what then happens.
	Timeout    time.Duration
	OnTimeout  string
	AutoResume bool
	// ShareHome allows a home that another sandbox holds.
	ShareHome bool
	// NoWebUI leaves the Web UI to be started by somebody else.
	NoWebUI bool
	// Chosen says which of these were asked for this one sandbox.
	Chosen Chosen
}

var nameForm = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,62}$`)

// CheckName says what is wrong with a sandbox's name, "" for nothing.
func CheckName(s string) (problem string) {
	if !nameForm.MatchString(s) {
		return fmt.Sprintf("wanted a name of at most 63 lower-case letters, digits, . _ and -, beginning with a letter or digit, got %q", s)
	}
	return ""
}

// Check refuses what cannot be, and asks nobody. The error wraps [ErrSpec].
func (s Spec) Check() error {
	for _, id := range []struct{ what, problem string }{
		{"home", config.CheckID(s.Home)},
		{"workspace", config.CheckID(s.Workspace)},
		{"name", CheckName(s.name())},
	} {
		if id.problem != "" {
			return fmt.Errorf("%w: %s: %s", ErrSpec, id.what, id.problem)
		}
	}
	return CheckEnv(s.Env)
}

func (s Spec) name() string {
	if s.Name != "" {
		return s.Name
	}
	return s.Home
}
