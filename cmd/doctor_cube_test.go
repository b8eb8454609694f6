package cmd_test

import (
	"encoding/json"
	"encoding/pem"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// doctorCube is as much of a Cube as doctor asks, and its proxy.
type doctorCube struct {
	refuses bool          // every request that needs a key
	old     bool          // before 0.7.0
	skew    time.Duration // of its clock
	html    bool          // something else
	absent  bool          // something else, which has nothing
	web     bool          // in place of the proxy something else
	nodes   string        // what it lists
}

func (c doctorCube) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Date", time.Now().Add(c.skew).UTC().Format(http.TimeFormat))
	status, body := http.StatusOK, any([]any{})
	switch {
	case c.absent:
		http.NotFound(w, r)
		return
	case c.html:
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, "<html>welcome</html>")
		return
	case c.web && strings.HasPrefix(r.Host, "49983-doctor."):
	case strings.HasPrefix(r.Host, "49983-doctor."):
		status, body = http.StatusBadGateway, map[string]any{}
	case r.URL.Path == "/health":
		body = map[string]any{"status": "ok", "sandboxes": 0}
	case c.nodes != "" && strings.HasSuffix(r.URL.Path, "/nodes"):
		var nodes []any
		if err := json.Unmarshal([]byte(c.nodes), &nodes); err != nil {
			panic(err)
		}
		body = nodes
	case c.refuses:
		status, body = http.StatusUnauthorized, map[string]any{"code": 401, "message": "unauthorized"}
	case c.old && r.URL.Path == "/templates/compat", !c.old && strings.HasPrefix(r.URL.Path, "/cubeapi/v1/"):
		status, body = http.StatusNotFound, map[string]any{"code": 404, "message": "not found"}
	}
	say(w, status, body)
}

// TestDoctorCube looks at Cubes with one thing wrong.
func TestDoctorCube(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		cube   doctorCube
		env    []string
		differ map[string]string
		remedy string
	}{
		"well":                {},
		"another key":         {cube: doctorCube{refuses: true}, differ: map[string]string{"auth": "fail", "version": "fail", "cluster": "fail"}, remedy: "CUBE_API_KEY"},
		"an old version":      {cube: doctorCube{old: true, nodes: `[{"nodeID": "one", "healthy": true}]`}, differ: map[string]string{"version": "warn", "cluster": "pass"}, remedy: "use Cube 0.7.0 or later, or sandbox.on_timeout: kill"},
		"a clock that is off": {cube: doctorCube{skew: -time.Hour}, differ: map[string]string{"clock": "fail"}, remedy: "set both clocks, with NTP"},
		"no proxy":            {env: []string{"CUBE_PROXY_PORT_HTTP=1"}, differ: map[string]string{"proxy": "fail"}, remedy: "check cube.proxy and cube.domain, and that a firewall lets you there"},
		"no name": {
			env: []string{"CUBE_SANDBOX_DOMAIN=cube.invalid"}, differ: map[string]string{"domain": "warn"},
			remedy: "for browsers give DNS a wildcard for the domain, or use hermesbox sandbox forward",
		},
		"no proxy and no name": {
			env:    []string{"CUBE_SANDBOX_DOMAIN=cube.invalid", "CUBE_PROXY_NODE_IP=", "CUBE_PROXY_PORT_HTTP="},
			differ: map[string]string{"domain": "fail", "proxy": "fail"}, remedy: "set cube.proxy.ip to the node of CubeProxy, or give DNS a wildcard for the domain",
		},
		"the proxy speaks no TLS":           {env: []string{"CUBE_PROXY_SCHEME=https"}, differ: map[string]string{"proxy": "fail"}, remedy: "it speaks plain HTTP: write http in cube.proxy.scheme"},
		"another server at the proxy":       {cube: doctorCube{web: true}, differ: map[string]string{"proxy": "fail"}, remedy: "something else listens there: check cube.proxy and cube.domain, port and scheme included"},
		"another server":                    {cube: doctorCube{html: true}, differ: unasked, remedy: "CubeAPI and CubeMaster have to answer there themselves"},
		"a server with nothing":             {cube: doctorCube{absent: true}, differ: unasked, remedy: "something else answers there: check host, port and path of cube.api_url"},
		"no CubeMaster":                     {env: []string{"CUBE_MASTER_ADDR=127.0.0.1:1"}, differ: unasked, remedy: "check cube.api_url and cube.master_addr"},
		"CubeMaster's address is CubeAPI's": {env: []string{"CUBE_MASTER_ADDR={address}"}, differ: unasked, remedy: "check cube.api_url and cube.master_addr"},
		"it speaks no TLS":                  {env: []string{"CUBE_API_URL=https://{address}"}, differ: unasked, remedy: "it speaks plain HTTP: write http in cube.api_url"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(tt.cube)
			defer server.Close()
			got, remedies := doctor(t, cubeEnv(server, tt.env...))
			differs(t, got, tt.differ)
			if !strings.Contains(remedies, tt.remedy) {
				t.Errorf("no remedy %q in\n%s", tt.remedy, remedies)
			}
		})
	}
}

// unasked is what cannot be judged of a Cube that does not answer as one.
var unasked = map[string]string{"cube": "fail", "auth": "skip", "version": "skip", "cluster": "skip", "clock": "skip", "domain": "skip", "proxy": "skip"}

// cubeEnv makes a server the Cube and its proxy; more comes first.
func cubeEnv(server *httptest.Server, more ...string) []string {
	address := server.Listener.Addr().String()
	_, port, _ := strings.Cut(address, ":")
	var env []string
	for _, e := range more {
		env = append(env, strings.ReplaceAll(e, "{address}", address))
	}
	return append(env, "CUBE_API_URL="+server.URL, "CUBE_PROXY_NODE_IP=127.0.0.1", "CUBE_PROXY_PORT_HTTP="+port, "CUBE_SANDBOX_DOMAIN=cube.localhost")
}

// differs compares with a Cube that is well.
func differs(t *testing.T, got, differ map[string]string) {
	t.Helper()
	want := map[string]string{"cube": "pass", "auth": "pass", "version": "pass", "cluster": "skip", "clock": "pass", "domain": "pass", "proxy": "pass", "nodes": "skip"}
	maps.Copy(want, differ)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestDoctorCubeTLS looks at a Cube behind a certificate.
func TestDoctorCubeTLS(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(doctorCube{})
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // handshakes that are to fail
	server.StartTLS()
	t.Cleanup(server.Close)
	authority := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(authority, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	known := "cube: {ca_file: " + authority + "}\n"
	_, port, _ := strings.Cut(server.Listener.Addr().String(), ":")
	for name, tt := range map[string]struct {
		config string
		env    []string
		differ map[string]string
		remedy string
	}{
		"well":                  {config: known, env: []string{"CUBE_PROXY_SCHEME=https", "CUBE_SANDBOX_DOMAIN=example.com"}, differ: map[string]string{"domain": "any"}},
		"unknown":               {differ: unasked, remedy: "name the authority in cube.ca_file"},
		"another name":          {config: known, env: []string{"CUBE_API_URL=https://localhost:" + port}, differ: unasked, remedy: "use a name that its certificate has"},
		"asked without TLS":     {config: known, env: []string{"CUBE_API_URL=http://{address}"}, differ: unasked, remedy: "it speaks TLS: write https in cube.api_url"},
		"proxy without TLS":     {config: known, env: []string{"CUBE_PROXY_SCHEME=http"}, differ: map[string]string{"proxy": "fail"}, remedy: "set cube.proxy.scheme to https"},
		"no file":               {config: "cube: {ca_file: /no/such.pem}\n", differ: unasked, remedy: "cube"},
		"proxy of another name": {config: known, env: []string{"CUBE_PROXY_SCHEME=https"}, differ: map[string]string{"proxy": "fail"}, remedy: "use a name that its certificate has"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, remedies := doctorOf(t, tt.config, cubeEnv(server, tt.env...))
			if tt.differ["domain"] == "any" { // there may be no resolver
				got["domain"] = "any"
			}
			differs(t, got, tt.differ)
			if !strings.Contains(remedies, tt.remedy) {
				t.Errorf("no remedy %q in\n%s", tt.remedy, remedies)
			}
		})
	}
}

// TestDoctorCluster looks at what Cube lists of nodes.
func TestDoctorCluster(t *testing.T) {
	t.Parallel()
	const one, two = `{"nodeID": "one", "hostIP": "10.0.0.5", "healthy": true}`, `{"nodeID": "two", "hostIP": "10.0.0.6", "healthy": false}`
	for name, tt := range map[string]struct {
		nodes, config string
		want          want
	}{
		"well":        {"[" + one + "]", "", want{"pass", "1 node", ""}},
		"by name":     {"[" + one + "]", "nodes: [{name: one, ssh: root@127.0.0.1:1}]\n", want{"pass", "1 node", ""}},
		"by address":  {"[" + strings.Replace(one, "10.0.0.5", "127.0.0.1", 1) + "]", "nodes: [{name: other, ssh: root@127.0.0.1:1}]\n", want{"pass", "1 node", ""}},
		"a stranger":  {"[" + one + "]", "nodes: [{name: other, ssh: root@127.0.0.1:1}]\n", want{"warn", "other: Cube lists no node of this name or address, but one at 10.0.0.5", "name it in hermesbox.yaml as Cube does"}},
		"one is ill":  {"[" + one + "," + two + "]", "", want{"warn", "two: not healthy", "look at Cubelet on it"}},
		"all are ill": {"[" + two + "]", "", want{"fail", "two: not healthy", "look at Cubelet on it"}},
		"none":        {"[]", "", want{"fail", "the cluster has no node", "start Cubelet on a node"}},
		"not told":    {"", "", want{"skip", "cube.master_addr is not set", ""}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(doctorCube{nodes: tt.nodes})
			defer server.Close()
			found := diagnose(t, tt.config, cubeEnv(server, "DOCKER_HOST=unix:///no.sock"))
			tt.want.of(t, found["cluster"])
		})
	}
}

// TestDoctorUnreachable: what needs a Cube is skipped because of it.
func TestDoctorUnreachable(t *testing.T) {
	t.Parallel()
	got, _ := doctor(t, []string{"CUBE_API_URL=http://127.0.0.1:1", "CUBE_REQUEST_TIMEOUT=1"})
	differs(t, got, unasked)
	none := maps.Clone(unasked)
	none["cube"] = "skip"
	got, _ = doctor(t, nil)
	differs(t, got, none)
	got, _ = doctor(t, []string{"XDG_STATE_HOME=" + t.TempDir()}, "--cube", "local")
	differs(t, got, none)
}

// TestDoctorHangs: nobody is waited for without end, and all at once.
func TestDoctorHangs(t *testing.T) {
	t.Parallel()
	silent, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close() // its backlog takes connections that nobody answers
	address := silent.Addr().String()
	config := "nodes: [{name: one, ssh: \"root@" + address + "\"}, {name: two, ssh: \"root@" + address + "\"}]\n"
	began := time.Now()
	got, _ := doctorOf(t, config, []string{"DOCKER_HOST=tcp://" + address, "CUBE_API_URL=http://" + address, "CUBE_MASTER_ADDR=" + address})
	want := maps.Clone(unasked)
	want["node one"], want["node two"] = "fail", "fail"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if took := time.Since(began); took > time.Minute {
		t.Errorf("it took %s", took)
	}
}

// doctor is what doctor says of the Cube, by id, and all remedies; there is no Engine.
func doctor(t *testing.T, env []string, flags ...string) (statuses map[string]string, remedies string) {
	t.Helper()
	return doctorOf(t, "", env, flags...)
}

// doctorOf is the same with a configuration.
func doctorOf(t *testing.T, config string, env []string, flags ...string) (statuses map[string]string, remedies string) {
	t.Helper()
	checks := diagnose(t, config, append(env, "DOCKER_HOST=unix:///no.sock"), flags...)
	statuses = map[string]string{}
	for id, c := range checks {
		if c.Remedy != "" {
			remedies += id + ": " + c.Evidence + " → " + c.Remedy + "\n"
		}
		if slices.Contains([]string{"cube", "auth", "version", "cluster", "clock", "domain", "proxy", "nodes"}, id) || strings.HasPrefix(id, "node ") {
			statuses[id] = c.Status
		}
	}
	return statuses, remedies
}

// finding is a check of doctor's.
type finding struct{ ID, Status, Evidence, Remedy, Because string }

// diagnose is what doctor finds, by id. Whatever is not well has a remedy, and
// nothing is written.
func diagnose(t *testing.T, config string, env []string, args ...string) map[string]finding {
	t.Helper()
	file := filepath.Join(t.TempDir(), "hermesbox.yaml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	got := hermesbox(t, env, append([]string{"doctor", "--config", file, "--output", "json"}, args...)...)
	if left, err := os.ReadDir(filepath.Dir(file)); err != nil || len(left) != 1 {
		t.Errorf("beside hermesbox.yaml: %v, %v", left, err)
	}
	return diagnosed(t, got)
}

// diagnosed reads what doctor printed.
func diagnosed(t *testing.T, got ran) map[string]finding {
	t.Helper()
	var out struct {
		Status string
		Checks []finding
	}
	if err := json.Unmarshal([]byte(got.stdout), &out); err != nil {
		t.Fatalf("exit code %d, %v\n%s%s", got.code, err, got.stdout, got.stderr)
	}
	found := map[string]finding{}
	for _, c := range out.Checks {
		if (c.Status == "fail" || c.Status == "warn") && c.Remedy == "" {
			t.Errorf("%s: %s has no remedy", c.ID, c.Evidence)
		}
		found[c.ID] = c
	}
	if want := map[string]int{"pass": 0, "warn": 0, "fail": 3}[out.Status]; got.code != want || got.stderr != "" {
		t.Errorf("status %s, exit code %d, want %d\n%s", out.Status, got.code, want, got.stderr)
	}
	return found
}
