package cmd_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hermesbox/hermesbox/internal/dockertest"
	"github.com/hermesbox/hermesbox/internal/sshtest"
)

// clusterTest is a local Cube that is used as a cluster is: by its addresses,
// with nodes over SSH and a registry. What a node has for /data/shared is bound
// there for each command.
type clusterTest struct {
	*wholeTest
	one, two *sshtest.Server
	registry *gate
	shared   string // the local Cube's
	api      string
	master   string
	proxy    string
}

// newCluster makes one with the nodes one and two, which share a file system.
func newCluster(t *testing.T, name, studio string) *clusterTest {
	t.Helper()
	if os.Getuid() != 0 {
		dockertest.Missing(t, "root", "a mount namespace needs it")
	}
	c := &clusterTest{registry: newGate(t, dockertest.Registry(t))}
	tag := c.registry.address + "/team/" + name + ":latest"
	t.Cleanup(func() {
		_ = os.Remove("/data/shared") // others may have something there
		_ = os.Remove("/data")
	})
	c.wholeTest = newWhole(t, tag, studio)
	c.cube = nil
	c.serve()
	c.one, c.two = sshtest.Start(t, sshtest.Options{}), sshtest.Start(t, sshtest.Options{})
	var known strings.Builder
	for _, s := range []*sshtest.Server{c.one, c.two} {
		for _, key := range s.HostKeys {
			fmt.Fprintf(&known, "%s %s\n", s.Name(), key.Line)
		}
	}
	c.one.SetKnownHosts(t, known.String())
	if err := os.Symlink(filepath.Join(c.one.Home, ".ssh"), filepath.Join(c.dir, ".ssh")); err != nil {
		t.Fatal(err)
	}
	for _, node := range []string{"one", "two"} {
		c.bind(node, c.shared)
		c.executable("become-"+node, "#!/bin/sh\nmkdir -p /data/shared && mount --bind \"$(cat "+filepath.Join(c.dir, node)+")\" /data/shared && exec \"$@\"\n")
	}
	c.configure(c.two.Target(), c.master, c.api)
	return c
}

// serve starts the local Cube.
func (c *clusterTest) serve() {
	c.Helper()
	serving := prepare(c.Context(), c.T, c.dir, c.engine, "local", "serve", "--api", "127.0.0.1:0", "--master", "127.0.0.1:0", "--proxy", "127.0.0.1:0")
	if err := serving.Start(); err != nil {
		c.Fatal(err)
	}
	c.Cleanup(func() { _ = serving.Wait() }) // local down ends it
	var status struct {
		Running    bool
		APIURL     string `json:"api_url"`
		MasterAddr string `json:"master_addr"`
		SharedRoot string `json:"shared_root"`
		Domain     string
		Proxy      struct {
			IP   string
			Port int
		}
	}
	for deadline := time.Now().Add(time.Minute); !status.Running; time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			c.Fatal("the local Cube does not answer")
		}
		got := run(c.T, prepare(c.Context(), c.T, c.dir, c.engine, "local", "status", "--output", "json"))
		if err := json.Unmarshal([]byte(got.stdout), &status); err != nil {
			c.Fatal(err)
		}
	}
	c.api, c.master, c.shared = status.APIURL, status.MasterAddr, status.SharedRoot
	c.proxy = fmt.Sprintf("domain: %s, proxy: {ip: %s, port: %d, scheme: http}", status.Domain, status.Proxy.IP, status.Proxy.Port)
}

// bind says what a node has for /data/shared.
func (c *clusterTest) bind(node, dir string) {
	c.Helper()
	c.write("../"+node, dir+"\n")
}

func (c *clusterTest) executable(name, text string) {
	c.Helper()
	c.write("../"+name, text)
	if err := os.Chmod(filepath.Join(c.dir, name), 0o755); err != nil {
		c.Fatal(err)
	}
}

// configure writes hermesbox.yaml: where node two and the Cube are.
func (c *clusterTest) configure(two, master, api string) {
	c.Helper()
	c.write("../hermesbox.yaml", fmt.Sprintf(`image: {push: true}
cube: {api_url: %q, master_addr: %q, version: 0.7.0, %s}
nodes:
- {name: one, ssh: %q, become: unshare -m %s}
- {name: two, ssh: %q, become: unshare -m %s}
`, api, master, c.proxy, c.one.Target(), filepath.Join(c.dir, "become-one"), two, filepath.Join(c.dir, "become-two")))
}

// says wants words in what a run said.
func (r ran) says(t *testing.T, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(r.stderr, w) {
			t.Errorf("nothing says %q:\n%s", w, tail(r.stderr))
		}
	}
}

// gate is a proxy before a registry, which can be closed.
type gate struct {
	address string
	server  *http.Server
	proxy   *httputil.ReverseProxy
}

func newGate(t *testing.T, registry string) *gate {
	t.Helper()
	g := &gate{proxy: httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: registry})}
	g.open(t)
	t.Cleanup(func() { g.close(t) })
	return g
}

// open listens, at the address of before.
func (g *gate) open(t *testing.T) {
	t.Helper()
	var config net.ListenConfig
	at := g.address
	if at == "" {
		at = "127.0.0.1:0"
	}
	listener, err := config.Listen(t.Context(), "tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	g.address = listener.Addr().String()
	g.server = &http.Server{Handler: g.proxy, ReadHeaderTimeout: time.Minute}
	go g.server.Serve(listener) //nolint:errcheck // close ends it
}

func (g *gate) close(t *testing.T) {
	t.Helper()
	if err := g.server.Close(); err != nil {
		t.Error(err)
	}
}

// TestUpStages has each stage fail, in its order, and the next run go on there.
func TestUpStages(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "up-stages", "verify/testdata/studio")
	const dead = "127.0.0.1:1"
	host := c.engine.Host

	c.engine.Host = "unix://" + filepath.Join(c.dir, "no.sock")
	_, said := c.do(1, "context read, image fail", "up")
	said.says(t, "no Docker Engine answers", `"hint":"start Docker`)
	c.engine.Host = host

	c.configure(c.two.Target(), dead, "http://"+dead)
	_, said = c.do(1, "context read, template fail", "up") // and nothing was built
	said.says(t, "check cube.api_url and cube.master_addr")

	c.configure("root@"+dead, c.master, c.api)
	_, said = c.do(1, "nodes fail", "up")
	said.says(t, "node two", "no SSH server listens there")
	if plan, got := c.start("plan"); got.code != 1 || plan.actions() != "nodes check, context read, image build, template register, home make, smoke run, verify run" {
		t.Errorf("plan with a node down: exit code %d, %s", got.code, plan.actions())
	}
	c.configure(c.two.Target(), c.master, c.api)
	_, said = c.do(4, "nodes fail", "up") // which does not know the key
	said.says(t, "two", "authorized_keys")
	key, err := os.ReadFile(c.one.AuthorizedKeys())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(c.two.AuthorizedKeys(), key, 0o600); err != nil {
		t.Fatal(err)
	}

	full := t.TempDir()
	dockertest.Tmpfs(t, "disk", full, "size=16m")
	c.bind("two", full)
	crowded, said := c.do(3, "nodes fail", "up")
	if len(crowded.FailedChecks) == 0 || !strings.HasPrefix(crowded.FailedChecks[0].ID, "node two ") {
		t.Errorf("failed checks: %+v", crowded.FailedChecks)
	}
	said.says(t, "two: fail", "fail  space", "it goes on here")
	if strings.Contains(said.stderr, "one: fail") {
		t.Errorf("node one failed:\n%s", said.stderr)
	}

	other := t.TempDir()
	c.bind("two", other)
	c.registry.close(t)
	_, said = c.do(1, "nodes prepare, context read, image fail", "up")
	said.says(t, "push failed", "what was built is still in the builder")
	c.registry.open(t)

	_, said = c.do(5, "nodes check, context read, image push, template register, home fail", "up")
	said.says(t, "node two", "another node", "node one has a new default home")
	_, said = c.do(5, "nodes check, context read, image none, template none, home fail", "up")
	said.says(t, "node one: its default home is of this image")
	c.bind("two", c.shared)
	first, _ := c.do(0, "nodes check, context read, image none, template none, home none, smoke run, verify run", "up")
	if !first.Verified || !strings.HasPrefix(first.Image, c.registry.address+"/team/up-stages@sha256:") {
		t.Errorf("%+v", first)
	}
	c.do(0, wholeIdle, "up")

	c.write("kind", "another\n")
	second, said := c.do(0, "nodes check, context read, image build, template register, home refresh, smoke run, verify run", "up")
	said.says(t, "node one has a new default home", "node two has a new default home")
	if second.Template == first.Template || second.Image == first.Image {
		t.Errorf("after an edit: %+v", second)
	}
	c.rebuilt()
	c.unproven(first, second)
}

// rebuilt: nodes that share a file system each have the home, so that one has
// to be named.
func (c *clusterTest) rebuilt() {
	c.Helper()
	ask := func(args ...string) ran { return run(c.T, prepare(c.Context(), c.T, c.dir, c.engine, args...)) }
	if got := ask("sandbox", "create", "--home", "alice", "--workspace", "alice", "--no-web-ui"); got.code != 0 {
		c.Fatalf("create: %s", tail(got.stderr))
	}
	got := ask("sandbox", "rebuild", "alice")
	got.says(c.T, "home alice is on several nodes: one, two", "name the node with --node")
	if got.code != 1 {
		c.Errorf("rebuild: exit code %d", got.code)
	}
	if got := ask("sandbox", "rebuild", "alice", "--node", "two"); got.code != 0 || !strings.Contains(got.stderr, "node two") {
		c.Errorf("rebuild on a node: exit code %d\n%s", got.code, tail(got.stderr))
	}
	if got := ask("sandbox", "stop", "alice"); got.code != 0 {
		c.Errorf("stop: %s", got.stderr)
	}
}

// unproven: nodes that are not in the configuration are not worked on, and all
// that is said says that nothing was verified.
func (c *clusterTest) unproven(first, second passage) {
	c.Helper()
	config, err := os.ReadFile(filepath.Join(c.dir, "hermesbox.yaml"))
	if err != nil {
		c.Fatal(err)
	}
	text, _, _ := bytes.Cut(config, []byte("nodes:"))
	c.write("../hermesbox.yaml", string(text))
	summary := filepath.Join(c.dir, "summary.md")
	c.env = []string{"GITHUB_STEP_SUMMARY=" + summary}
	out, said := c.do(0, "nodes skip, context read, image none, template none, home skip, smoke skip, verify skip", "up")
	said.says(c.T, "template "+second.Template+" is NOT verified", "--until template")
	if out.Verified || out.Template != second.Template || out.Status != "unchanged" {
		c.Errorf("without nodes: %+v", out)
	}
	if list := run(c.T, prepare(c.Context(), c.T, c.dir, c.engine, "template", "ls")); !strings.Contains(list.stdout, first.Template) {
		c.Errorf("the first template is gone:\n%s%s", list.stdout, list.stderr)
	}
	if text, err := os.ReadFile(summary); err != nil || !strings.Contains(string(text), "### hermesbox up: unchanged, NOT verified\n") {
		c.Errorf("the summary: %v\n%s", err, text)
	}
}
