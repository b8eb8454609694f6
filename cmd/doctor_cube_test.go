package cmd_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
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
}

func (c doctorCube) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Date", time.Now().Add(c.skew).UTC().Format(http.TimeFormat))
	status, body := http.StatusOK, any([]any{})
	switch {
	case strings.HasPrefix(r.Host, "49983-doctor."):
		status, body = http.StatusBadGateway, map[string]any{}
	case r.URL.Path == "/health":
		body = map[string]any{"status": "ok", "sandboxes": 0}
	case c.refuses:
		status, body = http.StatusUnauthorized, map[string]any{"code": 401, "message": "unauthorized"}
	case c.old && r.URL.Path == "/templates/compat", !c.old && r.URL.Path == "/cubeapi/v1/health":
		status, body = http.StatusNotFound, map[string]any{"code": 404, "message": "not found"}
	}
	say(w, status, body)
}

// TestDoctorCube looks at Cubes with one thing wrong.
func TestDoctorCube(t *testing.T) {
	t.Parallel()
	well := map[string]string{"cube": "pass", "auth": "pass", "version": "pass", "clock": "pass", "domain": "pass", "proxy": "pass", "nodes": "skip"}
	for name, tt := range map[string]struct {
		cube   doctorCube
		env    []string
		differ map[string]string
		remedy string
	}{
		"well":                {},
		"another key":         {cube: doctorCube{refuses: true}, differ: map[string]string{"auth": "fail", "version": "fail"}, remedy: "CUBE_API_KEY"},
		"an old version":      {cube: doctorCube{old: true}, differ: map[string]string{"version": "warn"}, remedy: "use Cube 0.7.0 or later, or sandbox.on_timeout: kill"},
		"a clock that is off": {cube: doctorCube{skew: -time.Hour}, differ: map[string]string{"clock": "fail"}, remedy: "set both clocks, with NTP"},
		"no proxy":            {env: []string{"CUBE_PROXY_PORT_HTTP=1"}, differ: map[string]string{"proxy": "fail"}, remedy: "check cube.proxy and cube.domain, and that a firewall lets you there"},
		"no name": {
			env: []string{"CUBE_SANDBOX_DOMAIN=cube.invalid"}, differ: map[string]string{"domain": "warn"},
			remedy: "for browsers give DNS a wildcard for the domain, or use hermesbox sandbox forward",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(tt.cube)
			defer server.Close()
			_, port, _ := strings.Cut(server.Listener.Addr().String(), ":")
			env := append(tt.env, "CUBE_API_URL="+server.URL, "CUBE_PROXY_NODE_IP=127.0.0.1", "CUBE_PROXY_PORT_HTTP="+port, "CUBE_SANDBOX_DOMAIN=cube.localhost")
			got, remedies := doctor(t, env)
			want := map[string]string{}
			for id, status := range well {
				want[id] = status
				if other, ok := tt.differ[id]; ok {
					want[id] = other
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			if !strings.Contains(remedies, tt.remedy) {
				t.Errorf("no remedy %q in\n%s", tt.remedy, remedies)
			}
		})
	}
}

// TestDoctorUnreachable: what needs a Cube is skipped because of it.
func TestDoctorUnreachable(t *testing.T) {
	t.Parallel()
	got, _ := doctor(t, []string{"CUBE_API_URL=http://127.0.0.1:1", "CUBE_REQUEST_TIMEOUT=1"})
	want := map[string]string{"cube": "fail", "auth": "skip", "version": "skip", "clock": "skip", "domain": "skip", "proxy": "skip", "nodes": "skip"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	none, _ := doctor(t, nil)
	want["cube"] = "skip"
	if diff := cmp.Diff(want, none); diff != "" {
		t.Errorf("no Cube is configured:\n%s", diff)
	}
	local, _ := doctor(t, []string{"XDG_STATE_HOME=" + t.TempDir()}, "--cube", "local")
	if diff := cmp.Diff(want, local); diff != "" {
		t.Errorf("no local Cube runs:\n%s", diff)
	}
}

// doctor is what doctor says of the Cube, by id, and all remedies; there is no Engine.
func doctor(t *testing.T, env []string, flags ...string) (statuses map[string]string, remedies string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "hermesbox.yaml")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	args := append([]string{"--config", file, "--output", "json"}, flags...)
	got := hermesbox(t, append(env, "DOCKER_HOST=unix:///no.sock"), append(args, "doctor")...)
	if got.code != 3 {
		t.Fatalf("exit code %d: %s", got.code, got.stderr)
	}
	var out struct {
		Checks []struct{ ID, Status, Remedy string }
	}
	if err := json.Unmarshal([]byte(got.stdout), &out); err != nil {
		t.Fatal(err)
	}
	statuses = map[string]string{}
	for _, c := range out.Checks {
		switch c.ID {
		case "docker", "buildkit", "platform", "base", "disk", "skills", "browser":
		default:
			statuses[c.ID] = c.Status
		}
		remedies += c.Remedy + "\n"
	}
	return statuses, remedies
}
