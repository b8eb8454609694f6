package cmd_test

import (
	"strings"
	"testing"
)

// TestDetachTwice: the second run finds the job of the first, and prints the same template.
func TestDetachTwice(t *testing.T) {
	t.Parallel()
	m := newCubeMaster(t)
	m.endless = true
	env := append(m.env(), "XDG_STATE_HOME="+t.TempDir())
	create := []string{"template", "create", "--detach", "--image", "registry.example/team/app@sha256:" + strings.Repeat("a", 64)}
	first := hermesbox(t, env, create...)
	if first.code != 0 || first.stdout != "tpl-1\n" {
		t.Fatalf("exit code %d, %q\n%s", first.code, first.stdout, first.stderr)
	}
	again := hermesbox(t, env, create...)
	if again.code != 0 || again.stdout != first.stdout || len(m.bodies) != 1 || !strings.Contains(again.stderr, "template tpl-1 is being made already, with the same image and settings: PULLING 5%") {
		t.Errorf("again: exit code %d, %q, %d submitted\n%s", again.code, again.stdout, len(m.bodies), again.stderr)
	}
	if got := hermesbox(t, env, append([]string{"--output", "json"}, create...)...); !strings.Contains(got.stdout, `"made": false`) || !strings.Contains(got.stdout, `"job": "job-1"`) {
		t.Errorf("as JSON: exit code %d\n%s", got.code, got.stdout)
	}
	other := hermesbox(t, env, append(create, "--memory", "1024")...)
	if other.code != 0 || other.stdout != "tpl-2\n" || len(m.bodies) != 2 {
		t.Errorf("other settings: exit code %d, %q, %d submitted\n%s", other.code, other.stdout, len(m.bodies), other.stderr)
	}
	elsewhere := hermesbox(t, append(newCubeMaster(t).env(), env[1]), create...)
	if elsewhere.code != 0 || elsewhere.stdout != "tpl-1\n" || strings.Contains(elsewhere.stderr, "already") {
		t.Errorf("another cluster: exit code %d, %q\n%s", elsewhere.code, elsewhere.stdout, elsewhere.stderr)
	}
}
