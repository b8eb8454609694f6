package localcube_test

import (
	"bufio"
	"context"
	"net/netip"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/client"

	"github.com/hermesbox/hermesbox/internal/dockertest"
	"github.com/hermesbox/hermesbox/internal/localcube"
)

// relay is an Engine that can be ended and started anew, as another process.
type relay struct {
	socket, engine string
	process        *exec.Cmd
}

func (r *relay) start(t *testing.T) {
	t.Helper()
	r.process = exec.CommandContext(context.WithoutCancel(t.Context()), "python3", "testdata/relay.py", r.socket, r.engine)
	out, err := r.process.StdoutPipe()
	if err == nil {
		err = r.process.Start()
	}
	if err != nil {
		dockertest.Missing(t, "python", err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatalf("starting the relay: %q, %v", line, err)
	}
}

func (r *relay) kill(t *testing.T) {
	t.Helper()
	if err := r.process.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = r.process.Wait() // it was killed
}

// TestOutboundEngineGone has an Engine that goes, starts a sandbox anew meanwhile, and comes back.
func TestOutboundEngineGone(t *testing.T) {
	t.Parallel()
	engine := dockertest.Default(t)
	engine.NeedBase(t)
	r := &relay{socket: filepath.Join(tempDir(t), "engine"), engine: strings.TrimPrefix(engine.Host, "unix://")}
	r.start(t)
	t.Cleanup(func() { r.kill(t) })
	api, err := client.NewClientWithOpts(client.WithHost("unix://"+r.socket), client.WithAPIVersionNegotiation())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = api.Close() })
	opts := localcube.Options{Docker: api, StateDir: tempDir(t), DNS: []netip.Addr{netip.MustParseAddr(lanResolver)}}
	f := &fenced{cube: &cube{t: t, opts: opts, st: serve(t, opts)}, engine: engine}
	if !f.st.EgressEnforced {
		dockertest.Missing(t, "root", f.st.EgressReason)
	}
	f.out = newOutside(t, engine, instanceOf(t, opts.StateDir))
	f.tpl = f.template("")
	id, _ := f.make("")
	f.wants(id, "before", public)
	r.kill(t)
	if err := engine.Client.ContainerRestart(t.Context(), "hermesbox-"+id, container.StopOptions{}); err != nil {
		t.Fatal(err)
	}
	if got := f.inside(id, "reach.py", public); !strings.Contains(got, "tcp "+public+" silent") {
		t.Errorf("started anew without anybody to put rules in force: %q", got)
	}
	r.start(t)
	got := ""
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end) && !strings.Contains(got, "tcp "+public+" pass"); {
		got = f.inside(id, "reach.py", public)
	}
	f.wants(id, "after", public)
}
