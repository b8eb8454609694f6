package dockertest

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/docker/docker/client"
)

// EnginesVar names the environment variable that lists the Engines.
const EnginesVar = "HERMESBOX_TEST_ENGINES"

// BaseImage is the stand-in for the closed sandbox-code base, as scripts/standin/base makes it.
const BaseImage = "hermesbox-standin/sandbox-code:bookworm"

// An Engine is a Docker Engine that answered.
type Engine struct {
	Name   string // "20.10", "today"; "default" where the environment names none
	Host   string // as in DOCKER_HOST
	Client *client.Client
}

// Engines returns every Engine that answers; clients are closed when the test
// ends. An Engine that does not is Missing: as backend "docker-today" if it is
// so named, as "docker" otherwise, and so is a machine with none.
func Engines(t testing.TB) []Engine {
	t.Helper()
	named, err := parse(os.Getenv(EnginesVar))
	if err != nil {
		t.Fatal(err)
	}
	if len(named) == 0 {
		named = []Engine{{Name: "default", Host: defaultHost()}}
	}
	var found []Engine
	var reason error
	for _, e := range named {
		if err := e.connect(t); err != nil {
			reason = err
			failIfRequired(t, e, err)
			continue
		}
		found = append(found, e)
	}
	if today := "docker-today"; Required(today) && !has(found, "today") {
		Missing(t, today, fmt.Sprintf("%s names no Engine %q", EnginesVar, "today"))
	}
	if len(found) == 0 {
		Missing(t, "docker", reason)
	}
	return found
}

// Default returns the first of Engines.
func Default(t testing.TB) Engine {
	t.Helper()
	return Engines(t)[0]
}

// Each runs test as one subtest per Engine.
func Each(t *testing.T, test func(*testing.T, Engine)) {
	t.Helper()
	for _, e := range Engines(t) {
		t.Run(e.Name, func(t *testing.T) { test(t, e) })
	}
}

// NeedBase ends the test as Missing "standin-base" where the Engine lacks BaseImage.
func (e Engine) NeedBase(t testing.TB) {
	t.Helper()
	if _, err := e.Client.ImageInspect(t.Context(), BaseImage); err != nil {
		Missing(t, "standin-base", err)
	}
}

// connect makes the client and asks the Engine for a sign of life.
func (e *Engine) connect(t testing.TB) error {
	c, err := client.NewClientWithOpts(client.WithHost(e.Host), client.WithAPIVersionNegotiation())
	if err != nil {
		return fmt.Errorf("connecting to Engine %s at %s: %w", e.Name, e.Host, err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("closing the client of Engine %s: %v", e.Name, err)
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if _, err := c.Ping(ctx); err != nil {
		return fmt.Errorf("pinging Engine %s at %s: %w", e.Name, e.Host, err)
	}
	e.Client = c
	return nil
}

// backend is the Engine's name in HERMESBOX_TEST_REQUIRE.
func (e Engine) backend() string {
	if e.Name == "today" {
		return "docker-today"
	}
	return "docker"
}

func failIfRequired(t testing.TB, e Engine, err error) {
	t.Helper()
	if Required(e.backend()) {
		Missing(t, e.backend(), err)
	}
}

func has(engines []Engine, name string) bool {
	for _, e := range engines {
		if e.Name == name {
			return true
		}
	}
	return false
}

// parse reads the list of EnginesVar.
func parse(list string) ([]Engine, error) {
	var engines []Engine
	for _, field := range strings.Fields(list) {
		name, host, ok := strings.Cut(field, "=")
		if !ok || name == "" || host == "" {
			return nil, fmt.Errorf("reading %s: %q is not name=docker-host", EnginesVar, field)
		}
		if has(engines, name) {
			return nil, fmt.Errorf("reading %s: two Engines named %q", EnginesVar, name)
		}
		engines = append(engines, Engine{Name: name, Host: host})
	}
	return engines, nil
}

func defaultHost() string {
	if host := os.Getenv("DOCKER_HOST"); host != "" {
		return host
	}
	return client.DefaultDockerHost
}
