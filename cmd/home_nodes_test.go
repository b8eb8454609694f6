package cmd_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hermesbox/hermesbox/cmd"
	"github.com/hermesbox/hermesbox/internal/dockertest"
	"github.com/hermesbox/hermesbox/internal/sshtest"
)

// nodesTest is a cluster with two nodes over real SSH servers, which share one
// root, and a third that nobody answers on.
type nodesTest struct {
	*testing.T
	server *sshtest.Server
	config string
	root   string
	api    string
}

func newNodesTest(t *testing.T, nodes string) *nodesTest {
	t.Helper()
	n := &nodesTest{T: t, server: sshtest.Start(t, sshtest.Options{}), root: t.TempDir(), config: filepath.Join(t.TempDir(), "hermesbox.yaml")}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v2/sandboxes", func(w http.ResponseWriter, _ *http.Request) {
		say(w, http.StatusOK, []map[string]any{
			{"sandboxID": "sb-1", "templateID": "tpl-1", "state": "paused", "metadata": map[string]string{"hermesbox.name": "ann", "hermesbox.home": "alice", "hermesbox.generation": "2"}},
			{"sandboxID": "sb-0", "templateID": "tpl-1", "state": "running", "metadata": map[string]string{"hermesbox.name": "ann", "hermesbox.home": "bob", "hermesbox.generation": "1"}},
		})
	})
	mux.HandleFunc("GET /templates", func(w http.ResponseWriter, _ *http.Request) { say(w, http.StatusOK, []any{}) })
	api := httptest.NewServer(mux)
	t.Cleanup(api.Close)
	n.api = api.URL
	text := "shared_root: " + n.root + "\nnodes:\n" + strings.ReplaceAll(nodes, "SERVER", n.server.Target())
	if err := os.WriteFile(n.config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return n
}

func (n *nodesTest) run(args ...string) ran {
	n.Helper()
	var out, errs bytes.Buffer
	getenv := func(name string) string {
		if name == "CUBE_API_URL" {
			return n.api
		}
		return n.server.Getenv(name)
	}
	code := cmd.Run(n.Context(), cmd.System{In: strings.NewReader(""), Out: &out, Err: &errs, Getenv: getenv}, append([]string{"--config", n.config}, args...))
	return ran{code, out.String(), errs.String()}
}

// want runs a command and wants a code, and words in what it prints.
func (n *nodesTest) want(code int, stdout, stderr string, args ...string) {
	n.Helper()
	if got := n.run(args...); got.code != code || !strings.Contains(got.stdout, stdout) || !strings.Contains(got.stderr, stderr) {
		n.Errorf("%q: exit code %d, want %d, %q and %q\n%s%s", args, got.code, code, stdout, stderr, got.stdout, got.stderr)
	}
}

func (n *nodesTest) write(name, text string) {
	n.Helper()
	path := filepath.Join(n.root, "hermes-homes", name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		n.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		n.Fatal(err)
	}
}

// TestHomesOnNodes: all nodes are listed, one that fails keeps no other, and a home is not guessed to be on one of many.
func TestHomesOnNodes(t *testing.T) {
	t.Parallel()
	n := newNodesTest(t, "- {name: one, ssh: SERVER}\n- {name: two, ssh: SERVER}\n- {name: off, ssh: \"root@127.0.0.1:1\"}\n")
	n.write("default/config.yaml", "a: b\n")
	n.write("alice/config.yaml", "a: b\n")
	n.write("ben/\x1b[31mred", "")
	n.want(5, "alice    initialised    one   ", "node off", "home", "ls")
	n.want(5, "ann\n", "", "home", "ls")
	n.want(0, `"entries": [`, "", "--output", "json", "home", "ls", "--node", "two")
	n.want(5, `"node": "two"`, `{"error":`, "--output", "json", "home", "show", "alice")
	n.want(0, `entries   "\x1b[31mred"`, "", "home", "show", "ben", "--node", "one")
	n.want(1, "", "there is no home carl", "home", "show", "carl", "--node", "one")
	n.want(1, "", "node off", "home", "ls", "--node", "off")
	n.want(2, "", `--node "three" is not configured`, "home", "seed", "carl", "--node", "three")
	n.want(1, "", "node off", "home", "seed", "carl")
	n.want(0, "carl\n", "home carl on node two: seeded", "home", "seed", "carl", "--node", "two")
	n.want(0, "alice\n", "home alice on node one: kept", "home", "seed", "alice", "--node", "one")
	n.want(1, "", `hint: hermesbox home seed --adopt ben`, "home", "seed", "ben", "--node", "one")
	n.want(0, "ben\n", "added", "home", "seed", "ben", "--adopt", "--node", "one")
	n.want(1, "", "no READY template", "home", "seed", "--from-template", "--node", "one")
}

func TestHomeOfManyNodes(t *testing.T) {
	t.Parallel()
	n := newNodesTest(t, "- {name: one, ssh: SERVER}\n- {name: two, ssh: SERVER}\n")
	n.write("default/config.yaml", "a: b\n")
	n.write("alice/config.yaml", "a: b\n")
	n.want(2, "", "home carl is on 0 of the nodes one, two", "home", "seed", "carl")
	n.want(2, "", "hint: name the node with --node", "home", "seed", "alice")
	n.want(0, "default\n", "node one has a default home", "home", "seed", "--from-template", "--template", "snap-1")
}

// TestHomeElsewhere: a node that is named does not get a second home beside that
// of another. What root sees on the second is another directory.
func TestHomeElsewhere(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		dockertest.Missing(t, "root", "a mount namespace needs it")
	}
	other, become := t.TempDir(), filepath.Join(t.TempDir(), "become")
	n := newNodesTest(t, "- {name: one, ssh: SERVER}\n- {name: two, ssh: SERVER, become: unshare -m "+become+"}\n")
	if err := os.WriteFile(become, []byte("#!/bin/sh\nmount --bind "+other+" "+n.root+" && exec \"$@\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	n.write("default/config.yaml", "a: b\n")
	n.write("alice/config.yaml", "a: b\n")
	n.want(1, "", "home alice is not on node two, but on one\nhermesbox: hint: leave --node away", "home", "seed", "alice", "--node", "two")
	n.want(1, "", "no READY template", "home", "seed", "carl", "--node", "two") // its own default home is missing
	n.want(0, "alice\n", "on node one: kept", "home", "seed", "alice", "--node", "one")
	n.want(0, "alice\n", "on node one: kept", "home", "seed", "alice")
	if made, err := os.ReadDir(filepath.Join(other, "hermes-homes")); err != nil || len(made) != 1 {
		t.Errorf("on node two: %v, %v", made, err)
	}
}

// TestHomeHeld: a home that is not initialised does not change while a paused sandbox has it.
func TestHomeHeld(t *testing.T) {
	t.Parallel()
	n := newNodesTest(t, "- {name: one, ssh: SERVER}\n")
	n.write("default/config.yaml", "a: b\n")
	n.write("alice/note", "mine")
	n.want(1, "", "home alice is held by sandbox ann (sb-1, paused)", "home", "seed", "alice", "--adopt")
	n.want(1, "", "hint: hermesbox sandbox stop ann frees it", "home", "seed", "alice")
	n.write("alice/config.yaml", "a: b\n")
	n.want(0, "alice\n", "kept", "home", "seed", "alice")
	n.want(0, "bob\n", "seeded", "home", "seed", "bob") // its sandbox is superseded, and has another directory
	if err := os.Rename(filepath.Join(n.root, "hermes-homes/bob/config.yaml"), filepath.Join(n.root, "hermes-homes/bob/other")); err != nil {
		t.Fatal(err)
	}
	n.want(1, "", "hint: hermesbox sandbox stop sb-0 frees it", "home", "seed", "bob", "--adopt")
}

// TestHomeWaits: who waits for another run says so.
func TestHomeWaits(t *testing.T) {
	t.Parallel()
	n := newNodesTest(t, "- {name: one, ssh: SERVER}\n")
	n.write("default/config.yaml", "a: b\n")
	n.want(0, "carl\n", "", "home", "seed", "carl")
	lock := filepath.Join(n.root, "hermes-homes", ".hermesbox", "lock")
	other := exec.CommandContext(t.Context(), "flock", lock, "sh", "-c", "echo held; sleep 2")
	said, err := other.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := said.Read(make([]byte, 5)); err != nil {
		t.Fatal(err)
	}
	n.want(0, "dora\n", "hermesbox: waiting for "+lock, "home", "seed", "dora")
	if err := other.Wait(); err != nil {
		t.Error(err)
	}
}

// TestHomeErrors: what is wrong on a node comes with the next step.
func TestHomeErrors(t *testing.T) {
	t.Parallel()
	n := newNodesTest(t, "- {name: one, ssh: SERVER}\n")
	n.want(1, "", "hint: hermesbox up makes one; --template names one by its id", "home", "seed", "carl")
	n.write("default/config.yaml", "a: b\n")
	if err := os.Symlink("default", filepath.Join(n.root, "hermes-homes", "link")); err != nil {
		t.Fatal(err)
	}
	n.want(1, "", "hint: put it right on the node", "home", "seed", "link")
	n.want(0, "it is a link", "", "home", "show", "link")
	n.want(2, "", "replacing the default home needs --yes", "home", "seed", "--from-template", "--refresh")
}
