package localcube_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestAliases: a name goes to the template that asked for it last, once that is READY.
func TestAliases(t *testing.T) {
	t.Parallel()
	c := newCube(t)
	image := "hermesbox-test/" + strings.ToLower(t.Name()) + ":1"
	build := func(fields string) string {
		got := c.api(http.MethodPost, "/templates", fmt.Sprintf(`{"image":%q,"exposedPorts":[9000],%s}`, image, fields))
		_, rest, _ := strings.Cut(got.body, `"templateID":"`)
		id, _, _ := strings.Cut(rest, `"`)
		if got.status != http.StatusAccepted || id == "" {
			t.Fatalf("submitting: %d %s", got.status, got.body)
		}
		return id
	}
	ready := func(id string) string {
		t.Helper()
		for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
			if strings.Contains(c.api(http.MethodGet, "/templates/"+id, "").body, `"status":"READY"`) {
				return id
			}
		}
		t.Fatalf("%s is never READY", id)
		return ""
	}
	want := func(what string, got reply, status int, words string) {
		t.Helper()
		if got.status != status || !strings.Contains(got.body, words) {
			t.Errorf("%s: %d %s, want %d %s", what, got.status, got.body, status, words)
		}
	}
	holder := func(when, alias, id string) {
		t.Helper()
		want(when, c.api(http.MethodGet, "/templates/aliases/"+alias, ""), 200, `{"templateID":"`+id+`"`)
		want(when, c.api(http.MethodGet, "/templates/"+alias, ""), 200, `{"templateID":"`+id+`"`)
		want(when, c.send(http.MethodGet, c.st.MasterAddr+"/cube/template?template_id="+alias, ""), 200, `"template_id":"`+id+`"`)
	}

	first := ready(build(`"name":"team/app:v1","alias":"other"`))
	holder("the first", "app", first)
	want("what no template has", c.api(http.MethodGet, "/templates/aliases/other", ""), 404, "template not found")

	c.faults("job-stuck")
	second := build(`"alias":"app"`)
	holder("while the second is made", "app", first)
	want("a name for what is not READY", c.api(http.MethodPut, "/templates/"+second+"/alias", `{"alias":"b"}`), 409, "is not ready")
	c.faults()
	holder("the second", "app", ready(second))
	want("the first, without a name", c.api(http.MethodGet, "/templates/"+first, ""), 200, `"aliases":[]`)

	want("given back", c.api(http.MethodPut, "/templates/"+first+"/alias", `{"alias":"app"}`), 200, `"aliases":["app"]`)
	holder("the first again", "app", first)
	want("by its name", c.api(http.MethodPut, "/templates/app/alias", `{"alias":"b"}`), 200, `"templateID":"`+first+`"`)
	holder("renamed", "b", first)
	want("no name at all", c.api(http.MethodPut, "/templates/b/alias", `{"alias":null}`), 200, `"aliases":[]`)
	want("no name", c.api(http.MethodPut, "/templates/"+first+"/alias", `{"alias":"A_b"}`), 400, "130400: alias \\\"A_b\\\" is invalid")
	want("unknown", c.api(http.MethodPut, "/templates/nope/alias", `{"alias":"c"}`), 404, "template not found")

	c.faults("job-stuck")
	third := build(`"alias":"d"`)
	want("set while a job is to take it", c.api(http.MethodPut, "/templates/"+first+"/alias", `{"alias":"d"}`), 200, `"aliases":["d"]`)
	c.faults()
	ready(third)
	holder("what was set stays", "d", first)
}
