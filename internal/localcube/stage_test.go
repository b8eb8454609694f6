package localcube_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hermesbox/hermesbox/internal/localcube"
)

// stage does what the recorder did between the recorded requests.
type stage struct {
	t      *testing.T
	st     localcube.Status
	opts   localcube.Options
	kept   []string // faults that are on all the time
	mu     sync.Mutex
	faults []string
	state  string
	seen   []string
}

// newStage gives two servers: one that replay.py asks before each state, and one that passes its requests on.
func newStage(t *testing.T, st localcube.Status, opts localcube.Options, target string, kept []string) (control, front *httptest.Server) {
	t.Helper()
	s := &stage{t: t, st: st, opts: opts, kept: kept, faults: append([]string{"no-node"}, kept...)}
	control = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { s.enter(strings.Trim(r.URL.Path, "/")) }))
	to, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{
		Transport: &http.Transport{DisableCompression: true},
		Rewrite:   func(pr *httputil.ProxyRequest) { pr.Out.URL.Scheme, pr.Out.URL.Host = to.Scheme, to.Host },
	}
	front = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.before(r)
		proxy.ServeHTTP(w, r)
		s.after(r)
	}))
	t.Cleanup(control.Close)
	t.Cleanup(front.Close)
	return control, front
}

// givenID is the fault without which recorded template ids mean nothing.
const givenID = "given-template-id"

// asRecorded are the faults that make the local Cube answer as the recorded version.
func asRecorded() []string { return []string{givenID, "old-status", "delete-unknown-ok"} }

func (s *stage) enter(state string) {
	s.mu.Lock()
	first := !slices.Contains(s.seen, state)
	s.seen, s.state = append(s.seen, state), state
	switch {
	case state == "cm.node" && first, strings.HasPrefix(state, "api."):
		s.faults = s.kept
	case state == "cm.snapfail":
		s.faults = append([]string{"snapshot-fails"}, s.kept...)
	case state == "cm.imagefail":
		s.faults = append([]string{"distribute-fails"}, s.kept...)
	case state == "cm.list":
		s.faults = s.kept
	case state == "cm.unhealthy":
		s.faults = append([]string{"no-node"}, s.kept...)
	}
	s.mu.Unlock()
	if err := localcube.SetFaults(s.t.Context(), s.opts.StateDir, s.faults); err != nil {
		s.t.Error(err)
	}
	if first {
		s.make(state)
	}
	switch {
	case state == "api.list":
		s.keepTwo()
	case first && slices.Contains([]string{"cm.nonode", "cm.node"}, state):
		s.removeTemplates()
	}
}

// before does what the recorder did in the middle of a state, before a request.
func (s *stage) before(r *http.Request) {
	switch {
	case r.URL.Path == "/cube/sandbox/list" && s.current() == "cm.sandbox":
		s.removeUnlabelled()
	case r.Method == http.MethodPost && strings.HasPrefix(r.URL.Path, "/templates/tpl-api/builds/"),
		r.Method == http.MethodDelete && r.URL.Path == "/templates/tpl-api":
		time.Sleep(4 * s.opts.Pace) // until the job before has ended
	}
}

// after does what the recorder did after a request.
func (s *stage) after(r *http.Request) {
	if r.Method == http.MethodDelete && r.URL.Path == "/templates/tpl-api" {
		for _, b := range s.sandboxes() {
			s.call(http.MethodDelete, s.st.APIURL+"/sandboxes/"+b.ID, "")
		}
	}
}

func (s *stage) current() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state
}

type listedBox struct {
	ID       string            `json:"sandboxID"`
	Metadata map[string]string `json:"metadata"`
}

func (s *stage) sandboxes() []listedBox {
	resp, err := http.Get(s.st.APIURL + "/sandboxes")
	if err != nil {
		s.t.Error(err)
		return nil
	}
	var list []listedBox
	if err := json.NewDecoder(resp.Body).Decode(&list); err != nil {
		s.t.Error(err)
	}
	if err := resp.Body.Close(); err != nil {
		s.t.Error(err)
	}
	return list
}

// keepTwo removes all sandboxes but the first and alice's.
func (s *stage) keepTwo() {
	for i, b := range s.sandboxes() {
		if i > 0 && b.Metadata["user"] != "alice" {
			s.call(http.MethodDelete, s.st.APIURL+"/sandboxes/"+b.ID, "")
		}
	}
}

// removeUnlabelled removes what the recorder removed before cm.sandbox.list.
func (s *stage) removeUnlabelled() {
	for _, b := range s.sandboxes() {
		if b.Metadata["owner"] != "alice" {
			s.call(http.MethodDelete, s.st.APIURL+"/sandboxes/"+b.ID, "")
		}
	}
}

// removeTemplates removes them all, once their jobs have ended.
func (s *stage) removeTemplates() {
	time.Sleep(6 * s.opts.Pace)
	resp, err := http.Get(s.st.APIURL + "/templates")
	if err != nil {
		s.t.Error(err)
		return
	}
	var list []struct {
		ID string `json:"templateID"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&list); err != nil {
		s.t.Error(err)
	}
	if err := resp.Body.Close(); err != nil {
		s.t.Error(err)
	}
	for _, t := range list {
		s.call(http.MethodDelete, s.st.APIURL+"/templates/"+url.PathEscape(t.ID), "")
	}
}

// make submits the templates that no recorded line does.
func (s *stage) make(state string) {
	const app = `"source_image_ref":"registry.example/team/app:1","writable_layer_size":`
	specs := map[string][]string{
		"cm.plain": {`"template_id":"tpl-plain",` + app + `"1Gi"`},
		"cm.size":  {`"template_id":"tpl-size-20gi",` + app + `"20Gi"`, `"template_id":"tpl-size-garbage",` + app + `"plenty"`},
		"cm.resources": {
			resources("tpl-res-garbage", "lots", "-5"), resources("tpl-res-zero", "0", "0"), resources("tpl-res-huge", "100000000m", "999999Gi"),
		},
		"cm.scope-unknown":         {`"template_id":"tpl-scope","distribution_scope":["nope"],` + app + `"1Gi"`},
		"cm.instance-type-unknown": {`"template_id":"tpl-insttype","instance_type":"bigbox",` + app + `"1Gi"`},
		"api.create": {`"template_id":"tpl-api","exposed_ports":[9000,49983],"cubevs_context":{"allowInternetAccess":false,"allowOut":["10.1.0.0/16"]},` +
			`"container_overrides":{"resources":{"cpu":"1500m","mem":"1Gi"}},` + app + `"1Gi"`},
	}
	for _, spec := range specs[state] {
		s.call(http.MethodPost, s.st.MasterAddr+"/cube/template/from-image", `{"requestID":"stage",`+spec+`}`)
	}
	if len(specs[state]) > 0 {
		time.Sleep(6 * s.opts.Pace)
	}
}

func resources(id, cpu, mem string) string {
	return `"template_id":"` + id + `","source_image_ref":"registry.example/team/app:1","writable_layer_size":"1Gi",` +
		`"container_overrides":{"resources":{"cpu":"` + cpu + `","mem":"` + mem + `"}}`
}

func (s *stage) call(method, url, body string) {
	req, err := http.NewRequestWithContext(s.t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		s.t.Error(err)
		return
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Error(err)
		return
	}
	if err := resp.Body.Close(); err != nil {
		s.t.Error(err)
	}
}
