package egress

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"
	dockernet "github.com/docker/docker/api/types/network"
	"github.com/docker/go-connections/nat"

	"github.com/hermesbox/hermesbox/internal/dockertest"
	"github.com/hermesbox/hermesbox/internal/nettest"
)

// TestDocker enforces rules on a container of a real Engine, root and every
// network capability inside, with a port published on loopback.
func TestDocker(t *testing.T) {
	t.Parallel()
	newSpace(t)
	dockertest.Each(t, func(t *testing.T, e dockertest.Engine) {
		e.NeedBase(t)
		bridge := dockerNetwork(t, e)
		host, err := EngineNetNS(t.Context(), strings.TrimPrefix(e.Host, "unix://"))
		if err != nil {
			t.Fatal(err)
		}
		release, err := Guard(t.Context(), host, bridge)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { must(t, release) })
		c, target, published := dockerSandbox(t, e, bridge)
		target.Host = host
		file, err := openNetNS(host)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		engine := nettest.Space{File: file}
		gate := target.Network.Addr().String()
		echo(t, engine, gate)
		contacts(t, c, gate, false) // the guard
		for _, test := range []struct {
			rules Rules
			want  bool
		}{
			{Rules{}, false},
			{Rules{Internet: true}, false},
			{Rules{Allow: []netip.Prefix{netip.PrefixFrom(target.Network.Addr(), 32)}}, true},
			{Rules{}, false},
		} {
			remove, err := Apply(t.Context(), target, test.rules)
			if err != nil {
				t.Fatal(err)
			}
			defer must(t, remove)
			contacts(t, c, gate, test.want)
			fetch(t, engine, published)
		}
	})
}

// dockerNetwork makes a network as the local Cube does and returns its bridge.
func dockerNetwork(t *testing.T, e dockertest.Engine) string {
	t.Helper()
	name := fmt.Sprintf("hbxtest%06x", rand.IntN(1<<24))
	_, err := e.Client.NetworkCreate(t.Context(), name, dockernet.CreateOptions{
		Driver: "bridge", Options: map[string]string{"com.docker.network.bridge.name": name},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		must(t, func(ctx context.Context) error { return e.Client.NetworkRemove(ctx, name) })
	})
	return name
}

// must runs a cleanup: the test's own context has ended by then.
func must(t *testing.T, f func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
	defer cancel()
	if err := f(ctx); err != nil {
		t.Errorf("cleaning up: %v", err)
	}
}

// dockerSandbox runs a web server and returns the address that it is published at.
func dockerSandbox(t *testing.T, e dockertest.Engine, bridge string) (*dockertest.Container, Target, string) {
	t.Helper()
	c := e.Start(t, container.Config{
		Image: dockertest.BaseImage, User: "root", ExposedPorts: nat.PortSet{"80/tcp": {}},
		Entrypoint: []string{"python3", "-m", "http.server", "80"},
	}, container.HostConfig{
		NetworkMode: container.NetworkMode(bridge), CapAdd: []string{"NET_ADMIN", "NET_RAW"},
		PortBindings: nat.PortMap{"80/tcp": {{HostIP: "127.0.0.1"}}},
	})
	found, err := e.Client.ContainerInspect(t.Context(), c.ID)
	if err != nil {
		t.Fatal(err)
	}
	link := found.NetworkSettings.Networks[bridge]
	mac, err := net.ParseMAC(link.MacAddress)
	if err != nil {
		t.Fatal(err)
	}
	return c, Target{
		ID: bridge, NetNS: fmt.Sprintf("/proc/%d/ns/net", found.State.Pid),
		Address: netip.MustParseAddr(link.IPAddress), MAC: mac,
		Network: netip.PrefixFrom(netip.MustParseAddr(link.Gateway), link.IPPrefixLen),
	}, "127.0.0.1:" + found.NetworkSettings.Ports["80/tcp"][0].HostPort
}

// contacts has the container connect to the echo server on addr.
func contacts(t *testing.T, c *dockertest.Container, addr string, want bool) {
	t.Helper()
	got := c.Exec(t, "timeout", "2", "bash", "-c", "exec 3<>/dev/tcp/"+addr+"/7 && echo hello >&3 && read -r line <&3 && test \"$line\" = hello")
	if passed := got.Code == 0; passed != want {
		t.Errorf("tcp to %s passed: %t, want %t (%+v)", addr, passed, want, got)
	}
}

// fetch wants an answer over the published port, with the time that a server needs to start.
func fetch(t *testing.T, engine nettest.Space, published string) {
	t.Helper()
	deadline := time.Now().Add(enough)
	for {
		err := engine.Try(func() error {
			connection, err := net.DialTimeout("tcp", published, enough)
			if err != nil {
				return err
			}
			defer connection.Close()
			return exchange(connection, []byte("GET / HTTP/1.0\r\n\r\n"), enough)
		})
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Errorf("over the published port: %v", err)
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
}
