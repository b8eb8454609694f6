package cmd_test

import (
	"bufio"
	"encoding/json"
	"encoding/xml"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/hermesbox/hermesbox/internal/check"
)

// TestVerify verifies a sandbox and a template by commands, in each format.
func TestVerify(t *testing.T) {
	t.Parallel()
	b := newBoxes(t)
	b.image("hermesbox-test/verify-cmd:1", "")
	tpl := b.ask("template", "create", "--image", "hermesbox-test/verify-cmd:1")
	id := b.ask("sandbox", "create", "--home", "alice", "--workspace", "alice", "--no-web-ui")

	var report struct {
		Sandbox  string        `json:"sandbox"`
		Template string        `json:"template"`
		Status   check.Status  `json:"status"`
		Checks   []check.Check `json:"checks"`
	}
	got := b.run(0, "verify", "alice", "--only", "mounts,write-probe,node,egress-allowed", "--output", "json")
	if err := json.Unmarshal([]byte(got.stdout), &report); err != nil {
		t.Fatalf("%v: %s", err, got.stdout)
	}
	if report.Sandbox != id || report.Template != tpl || report.Status != check.Pass || len(report.Checks) != 4 {
		t.Errorf("%+v", report)
	}
	got = b.run(3, "verify", "alice", "--skip", "agent-turn,egress-denied")
	for _, line := range []string{"pass  mounts ", "fail  web-ui ", "skip  identity ", "not judged because web-ui failed", "→ hermesbox sandbox logs"} {
		if !strings.Contains(got.stdout, line) {
			t.Errorf("no %q in\n%s", line, got.stdout)
		}
	}
	if !strings.Contains(got.stderr, " failed, ") {
		t.Errorf("no tally: %s", got.stderr)
	}

	b.killVerify()
	got = b.run(0, "verify", "--only", "mounts,rebuild,isolation", "--output", "junit")
	if !strings.Contains(got.stderr, "which an earlier run left") {
		t.Errorf("what a killed run left was not told of: %s", got.stderr)
	}
	if err := xml.Unmarshal([]byte(got.stdout), new(any)); err != nil || strings.Count(got.stdout, "<testcase ") != 3 {
		t.Errorf("%v: %s", err, got.stdout)
	}
	if left := strings.Fields(b.run(0, "sandbox", "ls").stdout); !strings.Contains(strings.Join(left, " "), id) || strings.Contains(strings.Join(left, " "), "verify-") {
		t.Errorf("sandboxes after it: %q", left)
	}
	var status struct {
		SharedRoot string `json:"shared_root"`
	}
	if err := json.Unmarshal([]byte(b.run(0, "local", "status", "--output", "json").stdout), &status); err != nil {
		t.Fatal(err)
	}
	homes, err := os.ReadDir(filepath.Join(status.SharedRoot, "hermes-homes"))
	if err != nil {
		t.Fatal(err)
	}
	for _, home := range homes {
		if strings.HasPrefix(home.Name(), "verify-") {
			t.Errorf("home %s is left", home.Name())
		}
	}
}

// killVerify kills a verify, which cannot be caught, and makes another one's
// terminal go away, as soon as they have a sandbox.
func (b *boxTest) killVerify() {
	b.Helper()
	for _, signal := range []syscall.Signal{syscall.SIGHUP, syscall.SIGKILL} {
		cmd := prepare(b.Context(), b.T, b.dir, b.engine, "--cube", "local", "verify", "--only", "mounts,rebuild")
		said, err := cmd.StderrPipe()
		if err != nil {
			b.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			b.Fatal(err)
		}
		lines := bufio.NewScanner(said)
		for lines.Scan() && !strings.Contains(lines.Text(), "step 5/10") {
			continue
		}
		if err := cmd.Process.Signal(signal); err != nil {
			b.Fatal(err)
		}
		for lines.Scan() {
			continue // until it has ended
		}
		_ = cmd.Wait() // the code says it
		left := strings.Contains(b.run(0, "sandbox", "ls").stdout, "verify-")
		if code := cmd.ProcessState.ExitCode(); signal == syscall.SIGHUP && (code != 130 || left) || signal == syscall.SIGKILL && !left {
			b.Fatalf("%s: exit code %d, left something: %v", signal, code, left)
		}
	}
}
