package template

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hermesbox/hermesbox/internal/cube"
)

// fake is a CubeMaster and a CubeAPI whose answers a test sets. A request that
// it has no answer for fails the test.
type fake struct {
	t       *testing.T
	mu      sync.Mutex
	answers map[string][]string // route → answers, the last of which repeats
	asked   []string            // routes
	bodies  []string            // of POST and DELETE
	notes   []string
	changes []cube.Job
}

// The routes of the fake.
const (
	listRoute   = "GET /cube/template"
	infoRoute   = "GET /cube/template?"
	submitRoute = "POST /cube/template/from-image"
	jobRoute    = "GET /cube/template/from-image"
	deleteRoute = "DELETE /cube/template"
)

// newFake serves answers; client talks to it, fast.
func newFake(t *testing.T, answers map[string][]string) (*fake, *Client) {
	t.Helper()
	f := &fake{t: t, answers: answers}
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	c, err := cube.New(cube.Options{MasterAddr: server.URL, APIURL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return f, &Client{
		Cube: c, Interval: time.Millisecond,
		Note:     func(format string, args ...any) { f.notes = append(f.notes, fmt.Sprintf(format, args...)) },
		Progress: func(j cube.Job) { f.changes = append(f.changes, j) },
	}
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	route := r.Method + " " + r.URL.Path
	if id := r.URL.Query().Get("template_id"); id != "" {
		route += "?" + id
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		f.t.Error(err)
	}
	f.asked = append(f.asked, route)
	if r.Method != http.MethodGet {
		f.bodies = append(f.bodies, string(body))
	}
	left := f.answers[route]
	if len(left) == 0 {
		f.t.Errorf("unexpected request %s %s", route, body)
		http.NotFound(w, r)
		return
	}
	if len(left) > 1 {
		f.answers[route] = left[1:]
	}
	io.WriteString(w, left[0]) //nolint:errcheck // the client then fails
}

// count tells how often a route was asked.
func (f *fake) count(route string) int {
	n := 0
	for _, r := range f.asked {
		if r == route {
			n++
		}
	}
	return n
}

// ok is a successful answer of CubeMaster with more fields.
func ok(fields string) string {
	if fields != "" {
		fields = "," + fields
	}
	return `{"ret":{"ret_code":200,"ret_msg":"success"}` + fields + "}"
}

func refused(code int, message string) string {
	return fmt.Sprintf(`{"ret":{"ret_code":%d,"ret_msg":%q}}`, code, message)
}

// listed is an answer with templates: id, name, status, image, second of the day.
func listed(templates ...[5]string) string {
	var all []string
	for _, t := range templates {
		all = append(all, fmt.Sprintf(`{"template_id":%q,"alias":%q,"status":%q,"image_info":%q,"created_at":"2026-11-29T12:00:%sZ"}`, t[0], t[1], t[2], t[3], t[4]))
	}
	return ok(`"data":[` + strings.Join(all, ",") + "]")
}

// stored is the answer for one template, with what it was made with: the
// spec's request as Cube fills it up, changed by change.
func stored(t *testing.T, id string, s Spec, change func(*cube.CreateRequest)) string {
	t.Helper()
	digest, err := s.Digest()
	if err != nil {
		t.Fatal(err)
	}
	r := &cube.CreateRequest{
		Annotations: map[string]string{Annotation: digest, "com.exposed_ports": "9000:49983"},
		Containers: []cube.Container{{
			Image: cube.ContainerImage{Image: "rfs-1", WritableLayerSize: s.WritableLayerSize}, Command: []string{"/entry.sh"},
			Resources: cube.NewResources(s.CPU, s.Memory), Probe: s.Probe,
		}},
		NewNetwork: s.Egress.network(),
	}
	if change != nil {
		change(r)
	}
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return ok(fmt.Sprintf(`"template_id":%q,"status":"READY","create_request":%s`, id, text))
}

func job(status, phase string, progress int) string {
	return ok(fmt.Sprintf(`"job":{"job_id":"j","template_id":"tpl-new","status":%q,"phase":%q,"progress":%d,"expected_node_count":1}`, status, phase, progress))
}
