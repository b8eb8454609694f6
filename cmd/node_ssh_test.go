package cmd_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hermesbox/hermesbox/cmd"
	"github.com/hermesbox/hermesbox/internal/dockertest"
	"github.com/hermesbox/hermesbox/internal/sshtest"
)

// nodeWorld is a client of servers, with a configuration that names nodes.
type nodeWorld struct {
	home, root string
	nodes      []string // as in hermesbox.yaml
}

// newNodeWorld makes the client of s, who knows the others' host keys too.
func newNodeWorld(t testing.TB, s *sshtest.Server, others ...*sshtest.Server) *nodeWorld {
	t.Helper()
	if os.Getuid() != 0 {
		dockertest.Missing(t, "root", "directories are root's")
	}
	var known strings.Builder
	for _, server := range append(others, s) {
		for _, key := range server.HostKeys {
			fmt.Fprintf(&known, "%s %s\n", server.Name(), key.Line)
		}
	}
	s.SetKnownHosts(t, known.String())
	return &nodeWorld{home: s.Home, root: filepath.Join(t.TempDir(), "shared")}
}

// another is one of the same client, with other nodes and directories.
func (w *nodeWorld) another(t testing.TB) *nodeWorld {
	t.Helper()
	return &nodeWorld{home: w.home, root: filepath.Join(t.TempDir(), "shared")}
}

func (w *nodeWorld) add(name, target, become string) {
	w.nodes = append(w.nodes, fmt.Sprintf("{name: %s, ssh: %q, become: %q}", name, target, become))
}

// run runs the program with the nodes that were added.
func (w *nodeWorld) run(t testing.TB, args ...string) ran {
	t.Helper()
	config := filepath.Join(t.TempDir(), "hermesbox.yaml")
	text := fmt.Sprintf("shared_root: %s\nnodes: [%s]\n", w.root, strings.Join(w.nodes, ", "))
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	getenv := func(name string) string { return map[string]string{"HOME": w.home}[name] }
	var stdout, stderr bytes.Buffer
	code := cmd.Run(t.Context(), cmd.System{In: strings.NewReader(""), Out: &stdout, Err: &stderr, Getenv: getenv}, append(args, "--config", config))
	return ran{code, stdout.String(), stderr.String()}
}

// expect wants an exit code and words on standard error.
func (r ran) expect(t *testing.T, code int, said ...string) {
	t.Helper()
	for _, words := range said {
		if !strings.Contains(r.stderr, words) {
			t.Errorf("standard error lacks %q:\n%s", words, r.stderr)
		}
	}
	if r.code != code {
		t.Errorf("exit code %d, want %d\n%s\n%s", r.code, code, r.stdout, r.stderr)
	}
}

func TestNodePrepareAndCheck(t *testing.T) {
	t.Parallel()
	s := sshtest.Start(t, sshtest.Options{})
	w := newNodeWorld(t, s)
	w.add("one", s.Target(), "")
	got := w.run(t, "node", "check")
	got.expect(t, 3)
	for _, line := range []string{"one: fail", "pass  reach        " + s.Target(), "fail  root         " + w.root + " is not there", "→ hermesbox node prepare one", "skip  probe"} {
		if !strings.Contains(got.stdout, line) {
			t.Errorf("check before prepare lacks %q:\n%s", line, got.stdout)
		}
	}
	for _, action := range []string{"made", "kept"} {
		var want strings.Builder
		for _, dir := range []string{"", "/hermes-homes", "/hermes-homes/.hermesbox", "/hermes-workspaces", "/hermes-common-skills"} {
			fmt.Fprintf(&want, "one  %s  %s\n", action, w.root+dir)
		}
		got := w.run(t, "node", "prepare", "one")
		got.expect(t, 0)
		if diff := cmp.Diff(want.String(), got.stdout); diff != "" {
			t.Errorf("prepare (-want +got):\n%s", diff)
		}
	}
	got = w.run(t, "node", "check", "--output", "json")
	got.expect(t, 0)
	var reports []struct {
		Node, Status string
		Checks       []struct{ ID, Status string }
	}
	if err := json.Unmarshal([]byte(got.stdout), &reports); err != nil || len(reports) != 1 || reports[0].Node != "one" || len(reports[0].Checks) != 9 {
		t.Errorf("JSON: %v, %+v", err, reports)
	}
	if reports[0].Status != "warn" { // tests are not under /data/shared
		t.Errorf("status %s\n%s", reports[0].Status, got.stdout)
	}
	skills := filepath.Join(w.root, "hermes-common-skills")
	if err := os.Remove(skills); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc", skills); err != nil {
		t.Fatal(err)
	}
	w.run(t, "node", "prepare").expect(t, 1, "making "+skills+" on node one: it is a link", "hint: ")
	got = w.run(t, "node", "check")
	got.expect(t, 3)
	if !strings.Contains(got.stdout, "fail  directories  "+skills+": a link") {
		t.Errorf("check of a link:\n%s", got.stdout)
	}
}

// TestNodeFailures has nodes fail each in its way, alone and beside one that works.
func TestNodeFailures(t *testing.T) {
	t.Parallel()
	s := sshtest.Start(t, sshtest.Options{})
	strict := sshtest.Start(t, sshtest.Options{}) // does not know our key
	plain := sshtest.Start(t, sshtest.Options{Users: []sshtest.User{{Name: "deploy"}}})
	unknown := sshtest.Start(t, sshtest.Options{})
	key, err := os.ReadFile(s.AuthorizedKeys())
	if err != nil {
		t.Fatal(err)
	}
	for _, server := range []*sshtest.Server{plain, unknown} {
		if err := os.WriteFile(server.AuthorizedKeys(), key, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	world := newNodeWorld(t, s, strict, plain)
	for _, test := range []struct {
		name           string
		target, become string
		code           int
		says, hint     string
	}{
		{"nothing listens", "root@127.0.0.1:1", "", 1, "port 1: connection refused", "check the port in nodes[].ssh"},
		{"no name", "root@no-such-host.invalid", "", 1, "could not resolve", "check the name in nodes[].ssh"},
		{"not let in", strict.Target(), "", 4, "permission denied", "authorized_keys"},
		{"unknown host key", unknown.Target(), "", 1, "host key verification failed", "compare the fingerprint"},
		{"not root", plain.Target(), "", 2, "user id 61000", `"sudo -n"`},
		{"sudo refuses", plain.Target(), "sudo -n", 1, "sudo: a password is required", "NOPASSWD"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := world.another(t)
			w.add("bad", test.target, test.become)
			w.run(t, "node", "prepare").expect(t, test.code, "node bad", test.says, test.hint)
			check := w.run(t, "node", "check")
			code := 3
			if test.code == 4 {
				code = 4
			}
			check.expect(t, code)
			if !strings.Contains(check.stdout, test.says) || !strings.Contains(check.stdout, test.hint) || !strings.Contains(check.stdout, "skip  tools        not judged because reach") {
				t.Errorf("check:\n%s", check.stdout)
			}
			w.add("good", s.Target(), "")
			got := w.run(t, "node", "prepare", "--output", "json")
			got.expect(t, 5, test.says)
			var done []struct {
				Node, Error string
				Dirs        []struct{ Path, Action string }
			}
			if err := json.Unmarshal([]byte(got.stdout), &done); err != nil || len(done) != 2 || done[0].Error == "" || done[1].Error != "" || len(done[1].Dirs) != 5 {
				t.Errorf("JSON: %v, %+v", err, done)
			}
			w.run(t, "node", "prepare", "good").expect(t, 0)
		})
	}
	t.Run("all fail alike", func(t *testing.T) {
		t.Parallel()
		w := world.another(t)
		w.add("a", strict.Target(), "")
		w.add("b", strict.Target(), "")
		w.run(t, "node", "prepare").expect(t, 4, "node a", "node b", "of the first")
		w.run(t, "node", "check").expect(t, 4)
		w.add("c", "root@127.0.0.1:1", "")
		w.run(t, "node", "prepare").expect(t, 1, "node c")
		w.run(t, "node", "check").expect(t, 3)
	})
}

// BenchmarkNodePrepare compares twenty nodes at once with one; each answers
// after the time of a long line. The servers are on this machine: where it has
// few cores they set the time, with about fifty times the client's work.
func BenchmarkNodePrepare(b *testing.B) {
	s := sshtest.Start(b, sshtest.Options{Delay: 300 * time.Millisecond})
	for _, count := range []int{1, 20} {
		w := newNodeWorld(b, s)
		for i := range count {
			w.add(fmt.Sprintf("node-%d", i), s.Target(), "")
		}
		b.Run(fmt.Sprintf("nodes=%d", count), func(b *testing.B) {
			for b.Loop() {
				if got := w.run(b, "node", "prepare"); got.code != 0 {
					b.Fatal(got.stderr)
				}
			}
		})
	}
}
