package localcube_test

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestFaults rehearses each fault, and what is answered without it.
func TestFaults(t *testing.T) {
	t.Parallel()
	c := newCube(t)
	want := func(what string, got reply, status int, words string) {
		t.Helper()
		if got.status != status || !strings.Contains(got.body, words) {
			t.Errorf("%s: %d %s, want %d %s", what, got.status, got.body, status, words)
		}
	}
	badMount := `{"templateID":"` + c.tpl + `","metadata":{"host-mount":"nope"}}`
	want("bad mount", c.api(http.MethodPost, "/sandboxes", badMount), 400, "CubeMaster returned error code 130400: invalid")
	want("unknown template", c.api(http.MethodPost, "/sandboxes", `{"templateID":"tpl-x"}`), 404, "template tpl-x not found: ")
	want("unknown delete", c.api(http.MethodDelete, "/sandboxes/x", ""), 404, "sandbox not found")
	want("unknown pause", c.api(http.MethodPost, "/sandboxes/x/pause", ""), 404, "sandbox not found")

	c.faults("old-status", "delete-unknown-ok")
	want("bad mount, old", c.api(http.MethodPost, "/sandboxes", badMount), 500, "CubeMaster returned error code 130400: invalid")
	want("unknown template, old", c.api(http.MethodPost, "/sandboxes", `{"templateID":"tpl-x"}`), 500, "130404: failed to get template param")
	want("unknown delete, old", c.api(http.MethodDelete, "/sandboxes/x", ""), 204, "")
	want("unknown pause, old", c.api(http.MethodPost, "/sandboxes/x/pause", ""), 500, "130400: sandbox not found")

	c.faults("slow-create")
	want("slow create", c.api(http.MethodPost, "/sandboxes", `{"templateID":"`+c.tpl+`"}`), 408, "")
	c.faults("no-node")
	want("no node", c.api(http.MethodPost, "/sandboxes", `{"templateID":"`+c.tpl+`"}`), 500, "130597: no more resource")

	c.faults("lose-metadata", "async-pause")
	id, _ := c.make(`,"metadata":{"a":"b"}`)
	want("pause", c.api(http.MethodPost, "/sandboxes/"+id+"/pause", ""), 204, "")
	want("listed while pausing", c.api(http.MethodGet, "/v2/sandboxes?metadata=a%3Db", ""), 200, `"state":"pausing"`)
	want("detail while pausing", c.api(http.MethodGet, "/sandboxes/"+id, ""), 200, `"state":"running"`)
	got := c.api(http.MethodDelete, "/sandboxes/"+id, "")
	want("delete while pausing", got, 503, "sandbox is pausing; retry DELETE after 2 seconds")
	if got.header.Get("Retry-After") != "2" {
		t.Errorf("delete while pausing: headers %v", got.header)
	}
	c.await(id, "paused")
	want("lost metadata", c.api(http.MethodGet, "/v2/sandboxes?metadata=a%3Db", ""), 200, "[]")

	c.faults("resume-busy")
	want("busy", c.api(http.MethodPost, "/sandboxes/"+id+"/connect", "{}"), 500, "130589: failed to resume: CreateVirtioNet")
	want("delete of a busy one", c.api(http.MethodDelete, "/sandboxes/"+id, ""), 500, "130593: sandbox not in normal state")
	c.faults("resume-rejected")
	want("rejected", c.api(http.MethodPost, "/sandboxes/"+id+"/connect", "{}"), 409, "resume rejected by paused_resource_release_ratio policy")
	c.faults()
	want("connect", c.api(http.MethodPost, "/sandboxes/"+id+"/connect", "{}"), 200, id)
	want("resume what runs", c.api(http.MethodPost, "/sandboxes/"+id+"/resume", "{}"), 409, "is already running")
}

// TestJobStuck: a job that stands still can be deleted, and goes on when the fault is off.
func TestJobStuck(t *testing.T) {
	t.Parallel()
	c := newCube(t)
	image := "hermesbox-test/" + strings.ToLower(t.Name()) + ":1"
	submit := func() string {
		got := c.api(http.MethodPost, "/templates", `{"image":"`+image+`","exposedPorts":[9000]}`)
		_, rest, _ := strings.Cut(got.body, `"templateID":"`)
		id, _, _ := strings.Cut(rest, `"`)
		if got.status != http.StatusAccepted || id == "" {
			t.Fatalf("submitting: %d %s", got.status, got.body)
		}
		return id
	}
	status := func(id, want string) bool {
		return strings.Contains(c.api(http.MethodGet, "/templates/"+id, "").body, `"status":"`+want+`"`)
	}
	c.faults("job-stuck")
	deleted, kept := submit(), submit()
	time.Sleep(300 * time.Millisecond)
	if !status(kept, "RUNNING") {
		t.Error("the job does not stand still")
	}
	if got := c.api(http.MethodDelete, "/templates/"+deleted, ""); got.status != http.StatusNoContent {
		t.Errorf("deleting: %d %s", got.status, got.body)
	}
	c.faults()
	for end := time.Now().Add(30 * time.Second); !status(kept, "READY"); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the job does not go on")
		}
	}
	if got := c.api(http.MethodGet, "/templates/"+deleted, ""); got.status != http.StatusNotFound {
		t.Errorf("what was deleted: %d %s", got.status, got.body)
	}
}

// TestLifetime moves deadlines: connect only lengthens, timeout replaces, refreshes are bounded.
func TestLifetime(t *testing.T) {
	t.Parallel()
	c := newCube(t)
	id, _ := c.make(`,"timeout":600`)
	path := "/sandboxes/" + id
	end := func() string {
		_, rest, _ := strings.Cut(c.api(http.MethodGet, path, "").body, `"endAt":"`)
		at, _, _ := strings.Cut(rest, `"`)
		return at
	}
	first := end()
	if got := c.api(http.MethodPost, path+"/connect", `{"timeout":60}`); got.status != 200 || end() != first {
		t.Errorf("a shorter connect: %d %s, ends %s, before %s", got.status, got.body, end(), first)
	}
	if got := c.api(http.MethodPost, path+"/connect", `{"timeout":6000}`); got.status != 200 || end() <= first {
		t.Errorf("a longer connect: %d %s, ends %s, before %s", got.status, got.body, end(), first)
	}
	if got := c.api(http.MethodPost, path+"/timeout", `{"timeout":60}`); got.status != 204 || end() >= first {
		t.Errorf("timeout: %d %s, ends %s, before %s", got.status, got.body, end(), first)
	}
	if got := c.api(http.MethodPost, path+"/refreshes", `{"duration":3600}`); got.status != 204 || end() <= first {
		t.Errorf("refreshes: %d %s, ends %s, before %s", got.status, got.body, end(), first)
	}
	if got := c.api(http.MethodPost, path+"/timeout", `{"timeout":-1}`); got.status != 204 || end() != "" {
		t.Errorf("never: %d %s, ends %s", got.status, got.body, end())
	}
	for body, where := range map[string]string{`{"timeout":-2}`: "/timeout", `{"duration":3601}`: "/refreshes", `{"timeout":0}`: "/connect"} {
		if got := c.api(http.MethodPost, path+where, body); got.status != 400 {
			t.Errorf("%s to %s: %d %s", body, where, got.status, got.body)
		}
	}
	if got := c.api(http.MethodGet, path+"/logs", ""); got.status != 200 || !strings.Contains(got.body, `"logs":[`) {
		t.Errorf("logs: %d %s", got.status, got.body)
	}
}
