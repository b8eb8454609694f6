package cmd_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hermesbox/hermesbox/cmd"
)

// master is a CubeMaster that has no templates and takes any.
type master struct {
	*httptest.Server
	mu        sync.Mutex
	requests  int
	submitted []string // bodies
}

func newMaster(t *testing.T) *master {
	t.Helper()
	m := &master{}
	m.Server = httptest.NewServer(m)
	t.Cleanup(m.Close)
	return m
}

func (m *master) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.requests++
	answer := `{"ret":{"ret_code":200,"ret_msg":"success"}}`
	if r.Method == http.MethodPost {
		m.submitted = append(m.submitted, string(body))
		answer = `{"ret":{"ret_code":200},"job":{"job_id":"j","template_id":"tpl-made","status":"PENDING"}}`
	}
	io.WriteString(w, answer) //nolint:errcheck // the client then fails
}

// hermesbox runs the program in this process; env is NAME=value.
func hermesbox(t *testing.T, env []string, args ...string) ran {
	t.Helper()
	home := t.TempDir()
	getenv := func(name string) string {
		for _, e := range append([]string{"HOME=" + home}, env...) {
			if value, ok := strings.CutPrefix(e, name+"="); ok {
				return value
			}
		}
		return ""
	}
	var stdout, stderr bytes.Buffer
	code := cmd.Run(t.Context(), cmd.System{In: strings.NewReader(""), Out: &stdout, Err: &stderr, Getenv: getenv}, args)
	return ran{code, stdout.String(), stderr.String()}
}

// recordedCreate is a command line of the real cubemastercli, and what it sent.
type recordedCreate struct {
	Name string
	Args []string
	Body string
}

func recordedCreates(t *testing.T) []recordedCreate {
	t.Helper()
	file, err := os.Open("testdata/create-from-image.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var all []recordedCreate
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var r recordedCreate
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	return all
}

// notOurs are flags of cubemastercli that template create does not have.
var notOurs = []string{"--env", "--registry-username", "--instance-type", "--network-type"}

// refusedHere are command lines that cubemastercli sends and hermesbox refuses
// as wrong usage, since no sandbox could come of them.
var refusedHere = []string{
	"cli.cfi.port-70000", "cli.cfi.sends.port-zero", "cli.cfi.sends.ports-4", "cli.cfi.sends.cidr-garbage",
	"cli.cfi.sends.cpu-zero", "cli.cfi.sends.cpu-negative", "cli.cfi.sends.probe-70000", "cli.cfi.json-error", "cli.cfi.image-blank",
}

// ours is a command line as hermesbox spells it; false where it has no such flag.
func (r recordedCreate) ours() (args []string, ok bool) {
	for i := 0; i < len(r.Args); i++ {
		arg := r.Args[i]
		switch {
		case slices.Contains(notOurs, arg):
			return nil, false
		case arg == "--template-id":
			i++ // newer versions make their own
		case arg == "--json":
		case arg == "--allow-internet-access" && i+1 < len(r.Args) && r.Args[i+1] == "false":
			args = append(args, "--allow-internet-access=false")
			i++
		default:
			args = append(args, arg)
		}
	}
	return args, true
}

// filled is the recorded body with what hermesbox adds where nothing was said:
// the ports and the probe of its image, and template.memory.
func (r recordedCreate) filled(t *testing.T) map[string]any {
	t.Helper()
	body := object(t, r.Body)
	overrides, _ := body["container_overrides"].(map[string]any)
	if overrides == nil {
		overrides = map[string]any{}
	}
	if !slices.Contains(r.Args, "--expose-port") {
		body["exposed_ports"] = []any{9000., 49983.}
	}
	if !slices.Contains(r.Args, "--probe") {
		overrides["probe"] = object(t, `{"probe_handler":{"http_get":{"path":"/health","port":49983,"host":""}},"timeout_ms":30000,"period_ms":500,"success_threshold":1,"failure_threshold":60}`)
	}
	resources, _ := overrides["resources"].(map[string]any)
	if resources == nil {
		resources = map[string]any{"cpu": "2000m"}
	}
	if !slices.Contains(r.Args, "--memory") {
		resources["mem"] = "4096Mi"
	}
	overrides["resources"] = resources
	body["container_overrides"] = overrides
	return body
}

func object(t *testing.T, text string) map[string]any {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// TestCreateSendsWhatCubemastercliDoes: field for field, for the same flags.
func TestCreateSendsWhatCubemastercliDoes(t *testing.T) {
	t.Parallel()
	compared, refused, skipped := 0, 0, 0
	for _, r := range recordedCreates(t) {
		args, ok := r.ours()
		if !ok {
			skipped++
			continue
		}
		t.Run(r.Name, func(t *testing.T) {
			m := newMaster(t)
			got := hermesbox(t, []string{"CUBE_MASTER_ADDR=" + m.URL}, append([]string{"template", "create", "--detach"}, args...)...)
			if slices.Contains(refusedHere, r.Name) {
				refused++
				if got.code != 2 || m.requests != 0 {
					t.Errorf("exit code %d after %d requests: %s", got.code, m.requests, got.stderr)
				}
				return
			}
			compared++
			if got.code != 0 || got.stdout != "tpl-made\n" || len(m.submitted) != 1 {
				t.Fatalf("exit code %d, %q, %s", got.code, got.stdout, got.stderr)
			}
			sameRequest(t, r.filled(t), object(t, m.submitted[0]))
		})
	}
	if compared != 26 || skipped != 5 || refused != len(refusedHere) {
		t.Errorf("%d compared, %d refused, %d skipped", compared, refused, skipped)
	}
}

// sameRequest compares all but the ids and what hermesbox adds on purpose.
func sameRequest(t *testing.T, want, got map[string]any) {
	t.Helper()
	if diff := cmp.Diff(want["cubevs_context"], got["cube_network_config"]); diff != "" {
		t.Errorf("the second spelling of the network: %s", diff)
	}
	overrides := got["container_overrides"].(map[string]any)
	annotations := overrides["annotations"].(map[string]any)
	if text, _ := annotations["hermesbox.spec"].(string); len(annotations) != 1 || len(text) != 71 {
		t.Errorf("annotations %v", annotations)
	}
	if got["alias"] != "hermes-studio" {
		t.Errorf("alias %v", got["alias"])
	}
	delete(overrides, "annotations")
	for _, key := range []string{"cube_network_config", "alias", "requestID"} {
		delete(got, key)
	}
	delete(want, "requestID")
	delete(want, "template_id")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("body (-recorded +ours):\n%s", diff)
	}
}
