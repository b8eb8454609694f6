package skills_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/hermesbox/hermesbox/internal/check"
	"github.com/hermesbox/hermesbox/skills"
)

// TestPublic: the skills of this repository pass, and their script says what is
// wrong on a machine that is no sandbox.
func TestPublic(t *testing.T) {
	t.Parallel()
	set, err := skills.Load("public")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range skills.Lint(set, skills.BuiltIn()) {
		if c.Status != check.Pass {
			t.Errorf("%+v", c)
		}
	}
	for _, shell := range []string{"dash", "bash"} {
		cmd := exec.CommandContext(t.Context(), shell, "public/hermes-sandbox/scripts/look", "127.0.0.1:1", "x.invalid:80", "127.0.0.1:x")
		out, err := cmd.CombinedOutput()
		if cmd.ProcessState == nil {
			t.Logf("%s: %v", shell, err)
			continue
		}
		for _, words := range []string{
			"! /workspace (workspace) is no mount", "! no public skills", "127.0.0.1:1: 127.0.0.1 refused port 1: nothing listens there",
			"! x.invalid:80: the name or port cannot be resolved", "! 127.0.0.1:x: the name or port cannot be resolved",
		} {
			if cmd.ProcessState.ExitCode() != 1 || !strings.Contains(string(out), words) {
				t.Errorf("%s: exit code %d, %q not in\n%s", shell, cmd.ProcessState.ExitCode(), words, out)
			}
		}
	}
}
