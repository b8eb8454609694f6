package image

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
)

// dockerContext writes a Docker context of this name below a configuration directory.
func dockerContext(t *testing.T, dir, name, host string) {
	t.Helper()
	id := digest.FromString(name).Encoded()
	meta := `{"Name":"` + name + `","Metadata":{},"Endpoints":{"docker":{"Host":"` + host + `","SkipTLSVerify":false}}}`
	writeFiles(t, dir, map[string]string{filepath.Join("contexts", "meta", id, "meta.json"): meta})
}

func TestFindEndpoint(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	dockerContext(t, dir, "desktop", "unix:///home/u/.docker/run/docker.sock")
	dockerContext(t, dir, "remote", "tcp://10.1.2.3:2375")
	writeFiles(t, dir, map[string]string{"config.json": `{"currentContext":"desktop"}`})
	for name, test := range map[string]struct {
		host string
		env  map[string]string
		want string
	}{
		"a given host wins":           {"unix:///x.sock", map[string]string{"DOCKER_HOST": "unix:///y.sock"}, "unix:///x.sock"},
		"DOCKER_HOST before contexts": {"", map[string]string{"DOCKER_HOST": "unix:///y.sock", "DOCKER_CONTEXT": "remote"}, "unix:///y.sock"},
		"DOCKER_CONTEXT":              {"", map[string]string{"DOCKER_CONTEXT": "remote"}, "tcp://10.1.2.3:2375"},
		"default context":             {"", map[string]string{"DOCKER_CONTEXT": "default"}, "unix:///var/run/docker.sock"},
		"current context":             {"", nil, "unix:///home/u/.docker/run/docker.sock"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			getenv := func(key string) string {
				if key == "DOCKER_CONFIG" {
					return dir
				}
				return test.env[key]
			}
			cfg, err := loadDockerConfig(getenv)
			if err != nil {
				t.Fatal(err)
			}
			got, err := findEndpoint(test.host, cfg, getenv)
			if err != nil || got.host != test.want {
				t.Errorf("found %q (%v), want %q", got.host, err, test.want)
			}
		})
	}
}

func TestFindEndpointErrors(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, env := range map[string]map[string]string{
		"no such context": {"DOCKER_CONTEXT": "nobody"},
		"no address":      {"DOCKER_HOST": "nonsense"},
		"no certificates": {"DOCKER_HOST": "tcp://10.1.2.3:2376", "DOCKER_CERT_PATH": filepath.Join(dir, "nobody")},
		"no ssh host":     {"DOCKER_HOST": "ssh://"},
	} {
		getenv := func(key string) string {
			if key == "DOCKER_CONFIG" {
				return dir
			}
			return env[key]
		}
		cfg, err := loadDockerConfig(getenv)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := findEndpoint("", cfg, getenv); !errors.Is(err, ErrDockerConfig) {
			t.Errorf("%s: %v, want ErrDockerConfig", name, err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "config.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := loadDockerConfig(func(key string) string { return map[string]string{"DOCKER_CONFIG": dir}[key] })
	if !errors.Is(err, ErrDockerConfig) || !strings.Contains(err.Error(), "config.json") {
		t.Errorf("broken config.json: %v", err)
	}
}

func TestConnectWithoutEngine(t *testing.T) {
	t.Parallel()
	socket := filepath.Join(t.TempDir(), "no.sock")
	if _, err := Connect(t.Context(), "unix://"+socket, func(string) string { return "" }); !errors.Is(err, ErrNoEngine) {
		t.Errorf("Connect: %v, want ErrNoEngine", err)
	}
	if _, err := Connect(t.Context(), "tcp://127.0.0.1:1", func(string) string { return "" }); !errors.Is(err, ErrNoEngine) {
		t.Errorf("Connect over TCP: %v, want ErrNoEngine", err)
	}
}
