// Package base tests the stand-in base image that build.sh makes.
package base

import (
	"strings"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/google/go-cmp/cmp"
	"github.com/hermesbox/hermesbox/internal/dockertest"
)

const (
	health      = `curl -s -o /dev/null -w '%{http_code}' http://127.0.0.1:49983/health`
	interpreter = `curl -s -o /dev/null -w '%{http_code}' http://127.0.0.1:49999/health`
)

func start(t *testing.T, e dockertest.Engine) *dockertest.Container {
	t.Helper()
	e.NeedBase(t)
	return e.Start(t, container.Config{Image: dockertest.BaseImage}, container.HostConfig{})
}

// eventually runs a shell line until it prints want.
func eventually(t *testing.T, c *dockertest.Container, line, want string) {
	t.Helper()
	var got string
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		if got = strings.TrimSpace(c.Exec(t, "sh", "-c", line).Stdout); got == want {
			return
		}
	}
	t.Fatalf("%s: %q, want %q", line, got, want)
}

func TestConfig(t *testing.T) {
	t.Parallel()
	dockertest.Each(t, func(t *testing.T, e dockertest.Engine) {
		e.NeedBase(t)
		image, err := e.Client.ImageInspect(t.Context(), dockertest.BaseImage)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]any{
			"user": image.Config.User, "dir": image.Config.WorkingDir,
			"entrypoint": image.Config.Entrypoint, "label": image.Config.Labels["org.hermesbox.standin"],
		}
		want := map[string]any{"user": "root", "dir": "/", "entrypoint": []string{"/init"}, "label": "sandbox-code"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("configuration (-want +got):\n%s", diff)
		}
		for _, port := range []string{"49983/tcp", "49999/tcp"} {
			if _, ok := image.Config.ExposedPorts[port]; !ok {
				t.Errorf("port %s is not exposed", port)
			}
		}
	})
}

func TestInside(t *testing.T) {
	t.Parallel()
	dockertest.Each(t, func(t *testing.T, e dockertest.Engine) {
		c := start(t, e)
		for _, test := range []struct{ name, line, want string }{
			{"init", "cat /proc/1/comm; test -e /run/s6/basedir && echo basedir", "s6-svscan\nbasedir"},
			{"system", ". /etc/os-release; echo $ID $VERSION_ID", "debian 12"},
			{"python", `python3 -c 'import sys, venv; print(sys.version_info >= (3, 11))'`, "True"},
			{"venv", "python3 -m venv /tmp/v && /tmp/v/bin/pip --version >/dev/null && echo ok", "ok"},
			{"an older node", `node -p 'parseInt(process.versions.node) < 24'`, "true"},
			{"npm", "npm --version >/dev/null && echo ok", "ok"},
			{"user", "id -u user; id -Gn user", "1000\nuser sudo"},
			{"passwordless sudo", "su user -c 'sudo -n id -u'", "0"},
			{"tools", "for c in git curl ps ip bash; do command -v $c >/dev/null || echo no $c; done", ""},
			{"no compiler", "for c in cc gcc g++ make; do command -v $c; done", ""},
			{"no certificate of the machine", "find /usr/local/share/ca-certificates -type f", ""},
		} {
			t.Run(test.name, func(t *testing.T) {
				got := c.Exec(t, "sh", "-c", test.line)
				if strings.TrimSpace(got.Stdout) != test.want {
					t.Errorf("%s: %+v, want %q", test.line, got, test.want)
				}
			})
		}
	})
}

func TestServices(t *testing.T) {
	t.Parallel()
	dockertest.Each(t, func(t *testing.T, e dockertest.Engine) {
		c := start(t, e)
		eventually(t, c, health, "204")
		eventually(t, c, interpreter, "200")
		if got := c.Exec(t, "sh", "-c", `tr '\0' ' ' </proc/$(pgrep -x envd)/cmdline`).Stdout; got != "/usr/bin/envd -isnotfc " {
			t.Errorf("envd runs as %q", got)
		}
		before := c.Exec(t, "pgrep", "-x", "envd").Stdout
		if got := c.Exec(t, "pkill", "-KILL", "-x", "envd"); got.Code != 0 {
			t.Fatalf("killing envd: %+v", got)
		}
		eventually(t, c, health, "204")
		if after := c.Exec(t, "pgrep", "-x", "envd").Stdout; after == before {
			t.Error("envd was not killed")
		}
	})
}

func TestStop(t *testing.T) {
	t.Parallel()
	dockertest.Each(t, func(t *testing.T, e dockertest.Engine) {
		c := start(t, e)
		eventually(t, c, health, "204")
		patience := 20
		if err := e.Client.ContainerStop(t.Context(), c.ID, container.StopOptions{Timeout: &patience}); err != nil {
			t.Fatal(err)
		}
		if code := c.Wait(t); code != 0 {
			t.Errorf("exit code %d after a stop, want 0: 137 means it had to be killed", code)
		}
	})
}

func TestCommand(t *testing.T) {
	t.Parallel()
	dockertest.Each(t, func(t *testing.T, e dockertest.Engine) {
		e.NeedBase(t)
		c := e.Start(t, container.Config{
			Image: dockertest.BaseImage,
			Cmd:   []string{"sh", "-c", "cat /proc/1/comm; exit 7"},
		}, container.HostConfig{})
		if code := c.Wait(t); code != 7 {
			t.Errorf("exit code %d, want the command's 7", code)
		}
		if log := c.Log(t); !strings.Contains(log, "s6-svscan") {
			t.Errorf("the command ran without the init: %q", log)
		}
	})
}
