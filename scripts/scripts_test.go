// Package scripts tests the scripts that make the machine ready for tests.
package scripts

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/docker/docker/client"
	"github.com/hermesbox/hermesbox/internal/dockertest"
)

// run runs a script with more environment and returns its output and exit code.
func run(t *testing.T, env []string, name string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	path, err := filepath.Abs(name)
	if err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	ctx := context.WithoutCancel(t.Context()) // cleanups run scripts too
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

func TestBadUse(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		env    []string
		argv   []string
		code   int
		stderr string
	}{
		{name: "test-env without a verb", argv: []string{"test-env.sh"}, code: 2, stderr: "usage: test-env.sh up|down|status"},
		{name: "test-env with another verb", argv: []string{"test-env.sh", "sideways"}, code: 2, stderr: "usage:"},
		{name: "today without a verb", argv: []string{"today.sh"}, code: 1, stderr: "usage: today.sh build|start"},
		{name: "today with a long name", env: []string{"HERMESBOX_TODAY_NAME=abcdefghijkl"}, argv: []string{"today.sh", "status"}, code: 1, stderr: `"abcdefghijkl" is not 1 to 11`},
		{name: "today with a path for a name", env: []string{"HERMESBOX_TODAY_NAME=../x"}, argv: []string{"today.sh", "clean"}, code: 1, stderr: `"../x" is not`},
		{name: "standin without an envd", env: []string{"HERMESBOX_STANDIN_ENVD=/nonexistent"}, argv: []string{"standin/base/build.sh"}, code: 1, stderr: "/nonexistent"},
		{name: "demo with another verb", argv: []string{"demo.sh", "up"}, code: 2, stderr: "usage: demo.sh [down]"},
		{name: "model without a verb", argv: []string{"demo/model.sh"}, code: 2, stderr: "usage: model.sh start IMAGE"},
		{name: "model of no image", argv: []string{"demo/model.sh", "start"}, code: 2, stderr: "usage: model.sh start IMAGE"},
		{name: "breakages of no sandbox", argv: []string{"demo/breakages.sh", "run", "hermesbox.yaml"}, code: 2, stderr: "usage: breakages.sh run|mend CONFIG SANDBOX"},
		{name: "rootfs without an archive", argv: []string{"standin/base/rootfs.sh"}, code: 2, stderr: "usage: rootfs.sh OUT.tar"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, stderr, code := run(t, test.env, test.argv[0], test.argv[1:]...)
			if code != test.code || !strings.Contains(stderr, test.stderr) {
				t.Errorf("exit code %d, want %d; stderr %q, want %q in it", code, test.code, stderr, test.stderr)
			}
		})
	}
}

func TestRootfsWithoutMirror(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("debootstrap"); err != nil {
		dockertest.Missing(t, "standin-base", err)
	}
	empty := filepath.Join(t.TempDir(), "apt.conf")
	settings := "Dir::Etc::sourcelist \"/dev/null\";\nDir::Etc::sourceparts \"/dev/null\";\n"
	if err := os.WriteFile(empty, []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "out.tar")
	_, stderr, code := run(t, []string{"APT_CONFIG=" + empty}, "standin/base/rootfs.sh", out)
	if code != 1 || !strings.Contains(stderr, "apt knows no mirror of bookworm") {
		t.Errorf("exit code %d, stderr %q", code, stderr)
	}
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(out), "*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v (%v)", left, err)
	}
}

// TestStandinIsMadeOnce holds for both: no new archive and no new image without a change.
func TestStandinIsMadeOnce(t *testing.T) {
	t.Parallel()
	e := dockertest.Default(t)
	e.NeedBase(t)
	build := func() (string, string) {
		stdout, stderr, code := run(t, nil, "standin/base/build.sh", e.Host)
		if code != 0 {
			t.Fatalf("exit code %d: %s", code, stderr)
		}
		return strings.TrimSpace(stdout), stderr
	}
	first, _ := build()
	before, err := os.Stat(first)
	if err != nil {
		t.Fatal(err)
	}
	second, said := build()
	after, err := os.Stat(second)
	if err != nil {
		t.Fatal(err)
	}
	if first != second || !after.ModTime().Equal(before.ModTime()) {
		t.Errorf("made again: %s at %s, %s at %s", first, before.ModTime(), second, after.ModTime())
	}
	if strings.Contains(said, "Loaded image") {
		t.Errorf("loaded again: %s", said)
	}
}

// TestTodayBesideAnother starts an Engine beside today's, and ends only that.
func TestTodayBesideAnother(t *testing.T) {
	t.Parallel()
	others := dockertest.Engines(t)
	if !dockertest.Required("docker-today") {
		t.Skip("docker-today is not required: building it takes minutes")
	}
	name := "beside"
	env := []string{"HERMESBOX_TODAY_NAME=" + name}
	t.Cleanup(func() { run(t, env, "today.sh", "clean") })
	start := func() string {
		if _, stderr, code := run(t, env, "today.sh", "start"); code != 0 {
			t.Fatalf("start: exit code %d: %s", code, stderr)
		}
		pid, err := os.ReadFile("/run/hermesbox-" + name + "/pid")
		if err != nil {
			t.Fatal(err)
		}
		return string(pid)
	}
	if first, second := start(), start(); first != second {
		t.Errorf("a second start replaced the Engine: process %s, then %s", first, second)
	}
	stdout, _, _ := run(t, env, "today.sh", "status")
	host := strings.TrimPrefix(strings.TrimSpace(stdout), "running ")
	store(t, host)
	if _, stderr, code := run(t, env, "today.sh", "stop"); code != 0 {
		t.Errorf("stop: exit code %d: %s", code, stderr)
	}
	if stdout, _, code := run(t, env, "today.sh", "status"); code != 1 || stdout != "stopped\n" {
		t.Errorf("status after stop: exit code %d, %q", code, stdout)
	}
	nothingOf(t, name)
	for _, e := range others {
		if _, err := e.Client.Ping(t.Context()); err != nil {
			t.Errorf("Engine %s, after another was stopped: %v", e.Name, err)
		}
	}
}

// store fails unless the Engine keeps images in containerd, as is today's default.
func store(t *testing.T, host string) {
	t.Helper()
	c, err := client.NewClientWithOpts(client.WithHost(host), client.WithAPIVersionNegotiation())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	info, err := c.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if want := "io.containerd.snapshotter.v1"; len(info.DriverStatus) == 0 || info.DriverStatus[0][1] != want {
		t.Errorf("image store: %v, want %s", info.DriverStatus, want)
	}
}

// nothingOf fails if the Engine of that name left anything on the machine.
func nothingOf(t *testing.T, name string) {
	t.Helper()
	for _, trace := range []struct{ what, line string }{
		{"a link", "ip link show | grep hb" + name},
		{"an iptables rule", "{ iptables -w 10 -S; iptables -w 10 -t nat -S; } | grep -w hermesbox-" + name},
		{"a cgroup", "find /sys/fs/cgroup -type d -path '*/hermesbox-" + name + "*'"},
		{"a mount", "grep hermesbox-" + name + " /proc/mounts"},
		{"its directory in /run", "ls -d /run/hermesbox-" + name},
	} {
		found, _ := exec.CommandContext(t.Context(), "sh", "-c", trace.line+" 2>/dev/null").Output()
		if len(found) > 0 {
			t.Errorf("%s is left: %s", trace.what, found)
		}
	}
}
