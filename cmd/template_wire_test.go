package cmd_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/hermesbox/hermesbox/internal/dockertest"
)

// cubeMaster keeps templates as a CubeMaster does; each is READY at once, or
// fails with the job that it is given.
type cubeMaster struct {
	*httptest.Server
	t       *testing.T
	fail    string // fields of failed jobs
	endless bool   // jobs go on for ever
	mu      sync.Mutex
	bodies  []map[string]any
	deleted int
}

func newCubeMaster(t *testing.T) *cubeMaster {
	t.Helper()
	m := &cubeMaster{t: t}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /cube/template/from-image", m.submit)
	mux.HandleFunc("GET /cube/template/from-image", m.job)
	mux.HandleFunc("GET /cube/template", m.get)
	mux.HandleFunc("DELETE /cube/template", m.remove)
	m.Server = httptest.NewServer(mux)
	t.Cleanup(m.Close)
	return m
}

func (m *cubeMaster) answer(w http.ResponseWriter, format string, args ...any) {
	fmt.Fprintf(w, `{"ret":{"ret_code":200,"ret_msg":"success"}`+format+"}", args...)
}

func (m *cubeMaster) submit(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		m.t.Error(err)
	}
	m.bodies = append(m.bodies, object(m.t, string(body)))
	m.answer(w, `,"job":{"job_id":"job-%d","template_id":"tpl-%[1]d","status":"PENDING"}`, len(m.bodies))
}

func (m *cubeMaster) job(w http.ResponseWriter, r *http.Request) {
	id := strings.TrimPrefix(r.URL.Query().Get("job_id"), "job-")
	state := `"status":"READY","phase":"READY","progress":100,"ready_node_count":1,"expected_node_count":1`
	switch {
	case m.endless:
		state = `"status":"RUNNING","phase":"PULLING","progress":5`
	case m.fail != "":
		state = `"status":"FAILED","progress":100,` + m.fail
	}
	m.answer(w, `,"job":{"job_id":"job-%s","template_id":"tpl-%[1]s",%s}`, id, state)
}

func (m *cubeMaster) get(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	status := "READY"
	switch {
	case m.endless:
		status = "RUNNING"
	case m.fail != "":
		status = "FAILED"
	}
	var list []string
	for i, body := range m.bodies {
		id := fmt.Sprintf("tpl-%d", i+1)
		if r.URL.Query().Get("template_id") == id {
			annotations, _ := json.Marshal(body["container_overrides"].(map[string]any)["annotations"])
			m.answer(w, `,"template_id":%q,"status":%q,"create_request":{"annotations":%s}`, id, status, annotations)
			return
		}
		list = append(list, fmt.Sprintf(`{"template_id":%q,"status":%q,"image_info":%q,"created_at":"2026-11-29T12:00:0%dZ"}`, id, status, body["source_image_ref"], i))
	}
	m.answer(w, `,"data":[%s]`, strings.Join(list, ","))
}

func (m *cubeMaster) remove(w http.ResponseWriter, _ *http.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.deleted++
	m.answer(w, "")
}

// env makes hermesbox use m, and nothing of this machine.
func (m *cubeMaster) env() []string { return []string{"CUBE_MASTER_ADDR=" + m.URL} }

// TestCreateIdempotent: the second time nothing is made; another policy is another template.
func TestCreateIdempotent(t *testing.T) {
	t.Parallel()
	m := newCubeMaster(t)
	create := func(wantID, wantWords string, more ...string) {
		t.Helper()
		got := hermesbox(t, m.env(), append([]string{"template", "create", "--image", "registry.example/team/app@sha256:" + strings.Repeat("a", 64)}, more...)...)
		if got.code != 0 || got.stdout != wantID+"\n" || !strings.Contains(got.stderr, wantWords) {
			t.Errorf("exit code %d, %q\n%s", got.code, got.stdout, got.stderr)
		}
	}
	create("tpl-1", "template tpl-1: READY 100%, 1 of 1 nodes ready")
	create("tpl-1", "nothing is made")
	create("tpl-2", "0.0.0.0/0 opens everything", "--allow-out-cidr", "0.0.0.0/0")
	create("tpl-1", "nothing is made")
	got := hermesbox(t, m.env(), "--output", "json", "template", "ls")
	var list []map[string]string
	if err := json.Unmarshal([]byte(got.stdout), &list); err != nil || len(list) != 2 || len(list[0]) != 5 || list[0]["id"] != "tpl-2" {
		t.Errorf("template ls: %v\n%s", err, got.stdout)
	}
}

// TestJobFailures: each is told with its phase, cause and next step.
func TestJobFailures(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ job, cause, hint string }{
		"pull refused": {
			`"phase":"PULLING","error_message":"docker pull registry.example/team/app failed: exit status 1: Error response from daemon: unauthorized"`,
			"failed in phase PULLING: docker pull", "Cube's own machine reaches the registry",
		},
		"no command": {
			`"phase":"BUILDING_EXT4","error_message":"docker create x failed: exit status 1: Error response from daemon: No command specified"`,
			"failed in phase BUILDING_EXT4", "give --cmd",
		},
		"no node": {
			`"phase":"CREATING_TEMPLATE","error_message":"template tpl-1 creation failed: template creation failed on all nodes"`,
			"failed in phase CREATING_TEMPLATE", "look at the nodes",
		},
		"wrong probe port": {
			`"phase":"CREATING_TEMPLATE","error_message":"template tpl-1 creation failed: context deadline exceeded"`,
			"context deadline exceeded", "--probe must be the port",
		},
		"anything else": {
			`"phase":"DISTRIBUTING","error_message":"artifact distribution failed on all 1 nodes: disk full"`,
			"failed in phase DISTRIBUTING", "template show tpl-1",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newCubeMaster(t)
			m.fail = tt.job
			got := hermesbox(t, m.env(), "template", "create", "--image", "registry.example/team/app:1")
			if got.code != 1 || got.stdout != "" || !strings.Contains(got.stderr, tt.cause) || !strings.Contains(got.stderr, tt.hint) {
				t.Errorf("exit code %d, %q\n%s", got.code, got.stdout, got.stderr)
			}
			if !strings.Contains(got.stderr, "may move") {
				t.Error("no warning of a tag that may move")
			}
			m.fail = ""
			if got := hermesbox(t, m.env(), "template", "watch", "tpl-1"); got.code != 0 || got.stdout != "tpl-1\n" {
				t.Errorf("watch: exit code %d, %q\n%s", got.code, got.stdout, got.stderr)
			}
		})
	}
}

// TestBadNetworksSendNothing: not one byte leaves, not even a connection is made.
func TestBadNetworksSendNothing(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	var connections atomic.Int32
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			connections.Add(1)
			conn.Close()
		}
	}()
	for _, network := range []string{
		"10.0.0.1/8", "010.0.0.0/8", "10.0.0.0/08", "10.0.0.0/+8", "10.10.0.5", "10.0/8", "::/0", "fd00::/8", "::ffff:10.0.0.0/104",
		"10.0.0.0/33", " 10.0.0.0/8", "garbage", "api.example.com", "",
	} {
		for _, flag := range []string{"--allow-out-cidr", "--deny-out-cidr"} {
			got := hermesbox(t, []string{"CUBE_MASTER_ADDR=" + listener.Addr().String()}, "template", "create", "--image", "a/b:1", flag, network)
			if got.code != 2 || !strings.Contains(got.stderr, flag) {
				t.Errorf("%s %q: exit code %d: %s", flag, network, got.code, got.stderr)
			}
		}
	}
	if n := connections.Load(); n != 0 {
		t.Errorf("%d connections were made", n)
	}
}

// TestBadAnswers: each ends with a code and the next step.
func TestBadAnswers(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		status int
		body   string
		code   int
		says   string
	}{
		"not authenticated": {401, `{"code":401,"message":"Authentication rejected by callback"}`, 4, "set CUBE_API_KEY"},
		"HTML":              {200, "<html>sign in</html>", 1, "hint: check cube.api_url and cube.master_addr"},
		"cut in half":       {200, `[{"templateID":"tp`, 1, "hint: check cube.api_url and cube.master_addr"},
		"server error":      {500, `{"code":500,"message":"CubeMaster returned error code 130594: database"}`, 1, "130594"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(tt.status)
				io.WriteString(w, tt.body) //nolint:errcheck // the client then fails
			}))
			defer server.Close()
			got := hermesbox(t, []string{"CUBE_API_URL=" + server.URL, "CUBE_API_KEY=top-secret-key"}, "template", "ls")
			if got.code != tt.code || !strings.Contains(got.stderr, tt.says) || strings.Contains(got.stderr, "top-secret-key") {
				t.Errorf("exit code %d\n%s", got.code, got.stderr)
			}
		})
	}
}

// TestDeleteAsks: elsewhere than on a terminal nothing is deleted without --yes.
func TestDeleteAsks(t *testing.T) {
	t.Parallel()
	m := newCubeMaster(t)
	if got := hermesbox(t, m.env(), "template", "delete", "tpl-1"); got.code != 2 || m.deleted != 0 {
		t.Errorf("exit code %d, %d deleted", got.code, m.deleted)
	}
	if got := hermesbox(t, m.env(), "--yes", "template", "delete", "tpl-1", "tpl-2"); got.code != 0 || m.deleted != 2 || got.stdout != "tpl-1\ntpl-2\n" {
		t.Errorf("exit code %d, %d deleted, %q", got.code, m.deleted, got.stdout)
	}
	if got := hermesbox(t, m.env(), "template", "delete", "--failed"); got.code != 0 || !strings.Contains(got.stderr, "nothing to delete") {
		t.Errorf("nothing failed: exit code %d: %s", got.code, got.stderr)
	}
}

// TestImageReferences: how an image that was built here gets to a Cube that is not the local one.
func TestImageReferences(t *testing.T) {
	t.Parallel()
	u := &upTest{T: t, engine: dockertest.Default(t), dir: t.TempDir()}
	registry := dockertest.Registry(t)
	tag := registry + "/team/references:latest"
	u.engine.RemoveImage(t, tag)
	u.write("file", "content")
	u.write("Dockerfile", "FROM scratch\nCOPY . /\nCMD [\"/none\"]\n")
	u.flags = []string{"-f", "source/Dockerfile", "-t", tag, "source"}
	m := newCubeMaster(t)
	with := func(address string, args ...string) ran {
		cmd := prepare(t.Context(), t, u.dir, u.engine, append(args, u.flags...)...)
		cmd.Env = append(cmd.Env, "CUBE_MASTER_ADDR="+address)
		return run(t, cmd)
	}
	far := with("192.0.2.1:8089", "up")
	if far.code != 2 || !strings.Contains(far.stderr, "hint: push it") || strings.Contains(far.stderr, "exporting") {
		t.Errorf("out of reach: exit code %d\n%s", far.code, far.stderr)
	}
	own := with(m.URL, "up")
	ref, _ := m.bodies[len(m.bodies)-1]["source_image_ref"].(string)
	if own.code != 0 || !strings.HasPrefix(ref, registry+"/team/references:ctx-") || !strings.Contains(own.stderr, "is in no registry") {
		t.Fatalf("CubeMaster's own Engine: exit code %d, %q\n%s", own.code, ref, own.stderr)
	}
	u.engine.RemoveImage(t, ref)
	if _, err := u.engine.Client.ImageInspect(t.Context(), ref); err != nil {
		t.Errorf("the tag is not there: %v", err)
	}
	pushed := with(m.URL, "up", "--push")
	ref, _ = m.bodies[len(m.bodies)-1]["source_image_ref"].(string)
	if pushed.code != 0 || !strings.HasPrefix(ref, registry+"/team/references@sha256:") || len(m.bodies) != 2 {
		t.Errorf("pushed: exit code %d, %q\n%s", pushed.code, ref, pushed.stderr)
	}
	wantTagFollowed(t, u, m, tag)
	again := with(m.URL, "up", "--push")
	if again.code != 0 || again.stdout != pushed.stdout || len(m.bodies) != 3 || !strings.Contains(again.stderr, "nothing was done") {
		t.Errorf("again: exit code %d, %q\n%s", again.code, again.stdout, again.stderr)
	}
}

// wantTagFollowed registers a tag that was pushed: a template of it is used
// again while the tag stands for the same image.
func wantTagFollowed(t *testing.T, u *upTest, m *cubeMaster, tag string) {
	t.Helper()
	create := func() string {
		cmd := prepare(t.Context(), t, u.dir, u.engine, "template", "create", "--image", tag)
		cmd.Env = append(cmd.Env, "CUBE_MASTER_ADDR="+m.URL)
		got := run(t, cmd)
		if got.code != 0 || strings.Contains(got.stderr, "no registry tells") {
			t.Fatalf("exit code %d\n%s", got.code, got.stderr)
		}
		return got.stdout
	}
	before := len(m.bodies)
	if first, second := create(), create(); first != second || len(m.bodies) != before+1 {
		t.Errorf("printed %q and %q, %d templates were made", first, second, len(m.bodies)-before)
	}
}

// TestCreateInterrupted: Ctrl-C ends the waiting, and says that the job goes on.
func TestCreateInterrupted(t *testing.T) {
	t.Parallel()
	m := newCubeMaster(t)
	m.endless = true
	cmd := prepare(t.Context(), t, t.TempDir(), dockertest.Engine{}, "template", "create", "--image", "registry.example/team/app@sha256:"+strings.Repeat("a", 64))
	cmd.Env = append(cmd.Env, "CUBE_MASTER_ADDR="+m.URL)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		said.WriteString(lines.Text() + "\n")
		if strings.Contains(lines.Text(), "PULLING 5%") {
			if err := cmd.Process.Signal(os.Interrupt); err != nil {
				t.Error(err)
			}
		}
	}
	err = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 130 || !strings.Contains(said.String(), "the job goes on: hermesbox template watch tpl-1") {
		t.Errorf("exit code %d, %v\n%s", code, err, said.String())
	}
}
