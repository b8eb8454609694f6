package cmd_test

import (
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hermesbox/hermesbox/internal/dockertest"
)

// want is how a check is to come out.
type want struct{ status, says, remedy string }

func (w want) of(t *testing.T, c finding) {
	t.Helper()
	if c.Status != w.status || !strings.Contains(c.Evidence, w.says) || !strings.Contains(c.Remedy, w.remedy) {
		t.Errorf("%s: %s: %s\n→ %s\nwant %s, %q and %q", c.ID, c.Status, c.Evidence, c.Remedy, w.status, w.says, w.remedy)
	}
}

// TestDoctorNoEngine looks for an Engine where there is none.
func TestDoctorNoEngine(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		env, config string
		want        want
	}{
		"no socket":   {"DOCKER_HOST=unix:///no.sock", "", want{"fail", "no Docker Engine answers at unix:///no.sock", "start Docker"}},
		"refused":     {"DOCKER_HOST=tcp://127.0.0.1:1", "", want{"fail", "no Docker Engine answers at tcp://127.0.0.1:1", "start Docker"}},
		"no address":  {"DOCKER_HOST=foo", "", want{"fail", `DOCKER_HOST "foo"`, "write DOCKER_HOST as unix:///var/run/docker.sock"}},
		"no context":  {"DOCKER_CONTEXT=nope", "", want{"fail", `context "nope"`, "docker context ls names those there are"}},
		"over SSH":    {"", "image: {builder: ssh://127.0.0.1:1}\n", want{"fail", "ssh://127.0.0.1:1", "see whether ssh gets there by hand"}},
		"a buildkitd": {"", "image: {builder: \"tcp://127.0.0.1:1\"}\n", want{"fail", "no buildkitd answers at tcp://127.0.0.1:1", "start it, or name another in image.builder"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found := diagnose(t, tt.config, []string{tt.env})
			tt.want.of(t, found["docker"])
			for _, id := range []string{"buildkit", "platform", "base", "disk", "registry"} {
				want{"skip", "not judged because docker did not pass", ""}.of(t, found[id])
			}
		})
	}
}

// TestDoctorEngine looks at an Engine, at bases and at registries.
func TestDoctorEngine(t *testing.T) {
	t.Parallel()
	engine := dockertest.Default(t)
	address := dockertest.PrivateRegistry(t, "user", "right-password")
	open := dockertest.Registry(t)
	push := func(at string) string {
		return fmt.Sprintf("image: {base: \"%[1]s/base:1\", name: \"%[1]s/team/studio\", push: true}\n", at)
	}
	for name, tt := range map[string]struct {
		docker, config string
		id             string
		want           want
	}{
		"credentials":            {login(address, "right-password"), push(address), "registry", want{"pass", address + " takes the credentials of user", ""}},
		"another password":       {login(address, "wrong-password"), push(address), "registry", want{"fail", "does not take the credentials of user", "docker login " + address}},
		"no credentials":         {"{}", push(address), "registry", want{"warn", "no credentials for " + address, "docker login " + address}},
		"none wanted":            {"{}", push(open), "registry", want{"warn", "no credentials for " + open, "unless it takes pushes from everybody"}},
		"no such helper":         {`{"credHelpers": {"` + address + `": "nosuch"}}`, push(address), "registry", want{"fail", "docker-credential-nosuch", "install the credential helper"}},
		"no such helper, base":   {`{"credHelpers": {"` + address + `": "nosuch"}}`, push(address), "base", want{"fail", "docker-credential-nosuch", "install the credential helper"}},
		"a registry that is not": {"{}", push("127.0.0.1:1"), "registry", want{"fail", "asking 127.0.0.1:1", "check the registry of image.name"}},
		"the same, logged in":    {login("127.0.0.1:1", "x"), push("127.0.0.1:1"), "registry", want{"fail", "asking 127.0.0.1:1", "check the registry of image.name"}},
		"no registry":            {"{}", "image: {push: true}\n", "registry", want{"fail", "hermes-studio names no registry", "name a repository with its registry"}},
		"no push":                {"{}", "", "registry", want{"skip", "image.push is not set", ""}},
		"no way to Cube":         {"{}", "cube: {api_url: \"http://127.0.0.1:1\"}\n", "registry", want{"warn", "Cube cannot have what is only in the Engine", "image.push: true"}},
		"base of nowhere":        {"{}", "image: {base: \"127.0.0.1:1/no/base:1\"}\n", "base", want{"fail", "127.0.0.1:1/no/base:1", "name another base in image.base"}},
		"base behind a login":    {"{}", "image: {base: \"" + address + "/base:1\"}\n", "base", want{"fail", address + "/base:1", "docker login"}},
		"no emulation":           {"{}", "image: {platform: linux/mips64le}\n", "platform", want{"fail", "linux/mips64le", "tonistiigi/binfmt --install mips64le does"}},
		"BuildKit":               {"{}", "", "buildkit", want{"pass", "worker", ""}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "config.json"), []byte(tt.docker), 0o600); err != nil {
				t.Fatal(err)
			}
			found := diagnose(t, tt.config, []string{"DOCKER_HOST=" + engine.Host, "DOCKER_CONFIG=" + dir})
			tt.want.of(t, found[tt.id])
			for _, c := range found {
				if text := fmt.Sprint(c); strings.Contains(text, "-password") {
					t.Errorf("shows a password: %s", text)
				}
			}
		})
	}
}

// login is a Docker configuration with a password.
func login(address, password string) string {
	return fmt.Sprintf(`{"auths": {%q: {"auth": %q}}}`, address, base64.StdEncoding.EncodeToString([]byte("user:"+password)))
}

// TestDoctorModels asks model endpoints, and judges the outbound policy for them.
func TestDoctorModels(t *testing.T) {
	t.Parallel()
	own := elsewhere(t)
	listen := func(answer http.HandlerFunc) string {
		t.Helper()
		l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", own+":0")
		if err != nil {
			t.Fatal(err)
		}
		server := &httptest.Server{Listener: l, Config: &http.Server{Handler: answer, ReadHeaderTimeout: 10e9}}
		server.Start()
		t.Cleanup(server.Close)
		return server.URL
	}
	say := func(status int, kind string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/v1/models" {
				t.Errorf("asked for %s", r.URL.Path)
			}
			w.Header().Set("Content-Type", kind)
			w.WriteHeader(status)
		}
	}
	closed := listen(say(200, ""))[len("http://"):]
	for name, tt := range map[string]struct {
		endpoint, egress, engine string
		models, policy           want
	}{
		"well":         {listen(say(200, "application/json")), "0.0.0.0/1, 128.0.0.0/1", "", want{"pass", "1 endpoint answered", ""}, want{"warn", "", "allow"}},
		"wants a key":  {listen(say(401, "text/html")) + "/v1/", own + "/32", "", want{"pass", "", ""}, want{"pass", "", ""}},
		"HTML":         {listen(say(200, "text/html")), own + "/32", "", want{"warn", "text/html", "correct sandbox.model_endpoints"}, want{"pass", "", ""}},
		"another path": {listen(say(404, "application/json")), own + "/32", "", want{"warn", "HTTP 404", "correct sandbox.model_endpoints"}, want{"pass", "", ""}},
		"refused":      {"http://" + own + ":1", own + "/32", "", want{"warn", "connection refused", "sandboxes ask from their node"}, want{"pass", "", ""}},
		"refused here": {"http://" + own + ":1", own + "/32", "engine: local", want{"fail", "connection refused", "listens on more than loopback"}, want{"pass", "", ""}},
		"no name":      {"http://no-such-host.invalid:8000", "", "engine: local", want{"fail", "no-such-host.invalid", "correct the name"}, want{"pass", "", ""}},
		"loopback":     {"http://localhost:8000", "", "engine: local", want{"fail", "the sandbox itself", "address that other machines use"}, want{"warn", "", "address that other machines use"}},
		"closed":       {"http://" + closed, "", "", want{"pass", "", ""}, want{"fail", "endpoint-closed", "allow " + own + "/32"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := fmt.Sprintf("sandbox: {model_endpoints: [%q]}\ntemplate: {egress: {internet: false, allow: [%s]}}\ncube: {%s}\n", tt.endpoint, tt.egress, tt.engine)
			found := diagnose(t, config, []string{"DOCKER_HOST=unix:///no.sock", "XDG_STATE_HOME=" + t.TempDir()})
			tt.models.of(t, found["models"])
			if tt.policy.status != "pass" { // other findings may be there, of resolvers for one
				tt.policy.of(t, found["egress"])
			}
		})
	}
}

// elsewhere is an address of this machine that others use.
func elsewhere(t *testing.T) string {
	t.Helper()
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addresses {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil && !n.IP.IsLoopback() {
			return n.IP.String()
		}
	}
	t.Skip("this machine has no address but loopback")
	return ""
}
