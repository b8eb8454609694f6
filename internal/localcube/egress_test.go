package localcube_test

import (
	"net"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"

	"github.com/hermesbox/hermesbox/internal/dockertest"
	"github.com/hermesbox/hermesbox/internal/localcube"
)

// TestOutbound wants a sandbox's policy in force: the gateway stands for the
// private network, which internet access does not open.
func TestOutbound(t *testing.T) {
	t.Parallel()
	engine := dockertest.Default(t)
	engine.NeedBase(t)
	opts := localcube.Options{Docker: engine.Client, StateDir: tempDir(t)}
	c := &cube{t: t, opts: opts, st: serve(t, opts)}
	if !c.st.EgressEnforced {
		dockertest.Missing(t, "root", c.st.EgressReason)
	}
	c.tpl = template(t, c.st)
	id, _ := c.make("")
	box := sandboxContainer(t, engine, id)
	gateway := ""
	for _, n := range box.NetworkSettings.Networks {
		gateway = n.Gateway
	}
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", net.JoinHostPort(gateway, "0"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	script := `import socket; socket.create_connection(("` + gateway + `", ` + strconv.Itoa(l.Addr().(*net.TCPAddr).Port) + `), 2)`
	reaches := func() bool { return inside(t, engine, box.ID, "python3", "-c", script) == 0 }
	for _, step := range []struct {
		name, policy string
		want         bool
	}{
		{"the default", ``, false},
		{"allowed", `{"allowOut":["` + gateway + `/32"]}`, true},
		{"allow beats deny", `{"allowOut":["` + gateway + `/32"],"denyOut":["0.0.0.0/0"]}`, true},
		{"taken back", `{}`, false},
		{"all open", `{"allowOut":["0.0.0.0/0"]}`, true},
		{"internet off", `{"allowInternetAccess":false}`, false},
	} {
		if step.policy != "" {
			if got := c.api(http.MethodPut, "/sandboxes/"+id+"/network", step.policy); got.status != http.StatusNoContent {
				t.Fatalf("%s: %d %s", step.name, got.status, got.body)
			}
		}
		if got := reaches(); got != step.want {
			t.Errorf("%s: reaches the private network: %v, want %v", step.name, got, step.want)
		}
	}
}

func sandboxContainer(t *testing.T, engine dockertest.Engine, id string) container.InspectResponse {
	t.Helper()
	found, err := engine.Client.ContainerInspect(t.Context(), "hermesbox-"+id)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// inside runs a command in a container and gives its exit code.
func inside(t *testing.T, engine dockertest.Engine, id string, argv ...string) int {
	t.Helper()
	made, err := engine.Client.ContainerExecCreate(t.Context(), id, container.ExecOptions{Cmd: argv})
	if err == nil {
		err = engine.Client.ContainerExecStart(t.Context(), made.ID, container.ExecStartOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		now, err := engine.Client.ContainerExecInspect(t.Context(), made.ID)
		if err != nil {
			t.Fatal(err)
		}
		if !now.Running {
			return now.ExitCode
		}
	}
	t.Fatal("the command does not end")
	return -1
}
