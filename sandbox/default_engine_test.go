package sandbox_test

import (
	"context"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/google/go-cmp/cmp"

	"github.com/hermesbox/hermesbox/internal/cube"
	"github.com/hermesbox/hermesbox/internal/dockertest"
	"github.com/hermesbox/hermesbox/internal/envd"
	"github.com/hermesbox/hermesbox/internal/localcube"
	"github.com/hermesbox/hermesbox/internal/node"
	"github.com/hermesbox/hermesbox/sandbox"
	"github.com/hermesbox/hermesbox/template"
)

// imageHome is run in the base image to give it a home, with all that a default
// home must not get.
const imageHome = `set -eu
mkdir -p /root/.hermes/skills/one/references /root/.hermes/skills/.hub /root/.hermes/hooks; cd /root/.hermes
echo 'model: {default: x}' >config.yaml; echo kind >SOUL.md; echo one >skills/one/SKILL.md; echo KEY= >skills/one/.env.example
echo t >skills/one/references/tokens.md; echo s >skills/one/references/sessions.md; ln -s SOUL.md link; ln -s /opt/hermes-common-skills/x skills/x
touch -d @1000000000 SOUL.md
canary=canary-0123456789
mkdir -p sessions logs memories web-ui mcp-tokens auth pairing state platforms profiles/p image_cache .hermesbox
mkdir -p google_chat_user_tokens whatsapp/session .ssh chrome-debug session-exports
for f in auth.json auth.lock .env .env.local .op.env .token my.token .anthropic_oauth.json google_oauth.json webhook_subscriptions.json \
	state.db state.db-wal state.db-shm state.db-journal kanban.db x.sqlite x.SQLITE3 sessions/s.json logs/agent.log memories/MEMORY.md \
	web-ui/.token web-ui/hermes-web-ui.db mcp-tokens/x auth/google_oauth.json pairing/x state/x platforms/x profiles/p/.env image_cache/x .hermesbox/env \
	gateway.pid gateway.lock gateway_state.json gateway-starts.log .update_check .skills_prompt_snapshot.json channel_directory.json \
	config.yaml.bak config.yaml.corrupt.1.bak server.pem id_ed25519 skills/one/.env skills/one/deep.db skills/.hub/lock.json skills/.usage.json ._SOUL.md .DS_Store \
	google_token.json google_client_secret.json slack_tokens.json google_chat_user_tokens/x honcho.json mem0.json whatsapp/session/creds.json \
	.ssh/config .npmrc .bash_history hooks/store.jks chrome-debug/Cookies session-exports/s.json; do
	echo "$canary" >"$f"
done
mkfifo fifo`

// seedCube is a local Cube with a template of an image that has a home.
type seedCube struct {
	seed  sandbox.Seed
	nodes func() node.Node
	w     world // the shared root as it is here; its layout is the node's
}

func newSeedCube(t *testing.T) seedCube {
	t.Helper()
	engine := dockertest.Default(t)
	engine.NeedBase(t)
	w := world{t, sandbox.Layout{Root: t.TempDir()}}
	st := serveCube(t, engine, w.layout.Root)
	client, err := cube.New(cube.Options{APIURL: st.APIURL, MasterAddr: st.MasterAddr})
	w.do(err)
	t.Cleanup(client.Close)
	made, err := (&template.Client{Cube: client, Interval: 100 * time.Millisecond}).Register(t.Context(), template.Spec{
		Name: "seed-test", Image: imageWithHome(t, engine), WritableLayerSize: "1Gi", Ports: []int{49983}, Probe: &cube.Probe{Port: 49983, Path: "/health"},
	}, false)
	w.do(err)
	route := sandbox.Route{Proxy: envd.Proxy{Host: st.Proxy.IP, Port: st.Proxy.Port, Scheme: st.Proxy.Scheme}, Domain: st.Domain}
	return seedCube{
		seed: sandbox.Seed{Cube: client, Route: route, Template: made.ID, Note: t.Logf}, w: w,
		nodes: func() node.Node {
			return node.NewLocal(localcube.Helper{Docker: engine.Client, Image: dockertest.BaseImage, SharedRoot: w.layout.Root})
		},
	}
}

// serveCube runs a local Cube that ends with the test.
func serveCube(t *testing.T, engine dockertest.Engine, root string) localcube.Status {
	t.Helper()
	dir, err := os.MkdirTemp("", "sd") //nolint:usetesting // t.TempDir names it too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	opts := localcube.Options{Docker: engine.Client, StateDir: dir, SharedRoot: root, API: "127.0.0.1:0", Master: "127.0.0.1:0", Proxy: "127.0.0.1:0"}
	ready, ended := make(chan localcube.Status, 1), make(chan error, 1)
	go func() {
		ended <- localcube.Serve(context.WithoutCancel(t.Context()), opts, func(st localcube.Status) { ready <- st })
	}()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 2*time.Minute)
		defer cancel()
		if err := localcube.Down(ctx, opts); err != nil {
			t.Errorf("taking the local Cube down: %v", err)
		}
		if err := <-ended; err != nil {
			t.Errorf("serving: %v", err)
		}
		_ = os.RemoveAll(dir) // in the temporary directory
	})
	select {
	case st := <-ready:
		return st
	case err := <-ended:
		ended <- nil
		t.Fatalf("serving: %v", err)
	case <-time.After(time.Minute):
		t.Fatal("the local Cube does not answer after a minute")
	}
	return localcube.Status{}
}

// imageWithHome is the base image and imageHome.
func imageWithHome(t *testing.T, engine dockertest.Engine) string {
	t.Helper()
	const ref = "hermesbox-test/with-home:latest"
	c := engine.Start(t, container.Config{Image: dockertest.BaseImage}, container.HostConfig{})
	if got := c.Exec(t, "sh", "-c", imageHome); got.Code != 0 {
		t.Fatalf("making a home: %s", got.Stderr)
	}
	made, err := engine.Client.ContainerCommit(t.Context(), c.ID, container.CommitOptions{Reference: ref})
	if err != nil {
		t.Fatal(err)
	}
	engine.RemoveImage(t, ref)
	return made.ID
}

// running are the seed sandboxes that are there.
func (c seedCube) running() int {
	c.w.Helper()
	all, err := c.seed.Cube.ListSandboxes(c.w.Context(), nil)
	c.w.do(err)
	return len(all)
}

var onNode = sandbox.Layout{Root: "/data/shared"}

// TestSeedDefault makes the default home of a real image over the local Cube, by twenty at once.
func TestSeedDefault(t *testing.T) {
	t.Parallel()
	c := newSeedCube(t)
	var made, seeded atomic.Int32
	all(20, func(int) {
		n := c.nodes()
		got, err := sandbox.SeedDefault(t.Context(), n, onNode, c.seed)
		if err != nil {
			t.Error(err)
			return
		}
		if got.Made {
			made.Add(1)
			c.judgeLeft(got.Left)
		}
		did, err := sandbox.SeedHome(t.Context(), n, onNode, "h")
		if err != nil {
			t.Error(err)
		}
		if did == sandbox.Seeded {
			seeded.Add(1)
		}
	})
	if made.Load() != 1 || seeded.Load() != 1 || c.running() != 0 {
		t.Errorf("%d made, %d seeded, %d sandboxes still there", made.Load(), seeded.Load(), c.running())
	}
	c.judgeDefault()
	c.w.same(c.w.tree("hermes-homes/default"), "h")
	c.refresh()
}

func (c seedCube) judgeLeft(left []string) {
	text := "\n" + strings.Join(left, "\n") + "\n"
	for _, name := range []string{"auth.json", ".env", "state.db-wal", "sessions", "skills/one/deep.db", "skills/.hub", "fifo", "web-ui"} {
		if !strings.Contains(text, "\n"+name+"\n") {
			c.w.Errorf("nothing says that %s was left out: %q", name, left)
		}
	}
}

func (c seedCube) judgeDefault() {
	c.w.Helper()
	got := c.w.sh(`cd hermes-homes/default; find . -mindepth 1 -printf '%y %m %p %l\n' | sort -k3`)
	want := `f 600 ./SOUL.md 
f 600 ./config.yaml 
d 755 ./hooks 
l 777 ./link SOUL.md
d 755 ./skills 
d 755 ./skills/one 
f 644 ./skills/one/.env.example 
f 644 ./skills/one/SKILL.md 
d 755 ./skills/one/references 
f 644 ./skills/one/references/sessions.md 
f 644 ./skills/one/references/tokens.md 
l 777 ./skills/x /opt/hermes-common-skills/x
`
	if diff := cmp.Diff(strings.Replace(want, "f 600 ./SOUL", "f 644 ./SOUL", 1), got); diff != "" {
		c.w.Errorf("default home:\n%s", diff)
	}
	if config := c.w.read("hermes-homes/default/config.yaml"); config != "model: {default: x}\nskills:\n  external_dirs:\n    - /opt/hermes-common-skills\n" {
		c.w.Errorf("config.yaml: %q", config)
	}
	if c.w.sh("stat -c '%a %Y' hermes-homes/default/SOUL.md hermes-homes/default | head -n 1") != "644 1000000000\n" {
		c.w.Error("the time of a file changed")
	}
	if found := c.w.sh("grep -r canary hermes-homes || true"); found != "" {
		c.w.Errorf("a secret reached the node: %s", found)
	}
}

// refresh replaces the default home; a seeded home stays.
func (c seedCube) refresh() {
	c.w.Helper()
	c.w.write("hermes-homes/default/mark", "old")
	before := c.w.tree("hermes-homes/h")
	seed := c.seed
	seed.Refresh = true
	got, err := sandbox.SeedDefault(c.w.Context(), c.nodes(), onNode, seed)
	c.w.do(err)
	if _, err := os.Stat(c.w.path("hermes-homes/default/mark")); !os.IsNotExist(err) || !got.Made {
		c.w.Errorf("not replaced: %+v, %v", got, err)
	}
	if diff := cmp.Diff(before, c.w.tree("hermes-homes/h")); diff != "" {
		c.w.Errorf("a seeded home changed:\n%s", diff)
	}
	c.judgeDefault()
}
