package cube

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
)

func TestTime(t *testing.T) {
	t.Parallel()
	day := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		`"2026-05-01T00:00:00Z"`:           day,
		`"2026-05-01T02:00:00.5+02:00"`:    day.Add(time.Second / 2),
		`1777593600`:                       day,
		`1777593600000`:                    day,
		`1777593600000000`:                 day,
		`1777593600000000000`:              day,
		`null`:                             {},
		`""`:                               {},
		`"yesterday"`:                      {},
		`-1`:                               {},
		`0`:                                {},
		`1.5`:                              {},
		`{}`:                               {},
		`99999999999999999999999999999999`: {},
	} {
		var got Time
		if err := json.Unmarshal([]byte(text), &got); err != nil || !got.Equal(want) {
			t.Errorf("%s is %v, %v; want %v", text, got, err, want)
		}
	}
}

// TestCount: no number costs a whole answer.
func TestCount(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]Count{
		"2": 2, "2.9": 2, "-1": -1, `"2000"`: 2000, "null": 0, `"lots"`: 0, "1e300": 0, `"NaN"`: 0, `"Inf"`: 0, "true": 0, "[1]": 0, `{"n":1}`: 0, "4294967296": 1 << 32,
	} {
		got := Count(7)
		if err := json.Unmarshal([]byte(given), &got); err != nil || got != want {
			t.Errorf("%s gives %d, %v; want %d", given, got, err, want)
		}
	}
	c := serve(t, text(http.StatusOK, `[{"sandboxID":"a","cpuCount":"2","memoryMB":4096.0,"cpuMilli":null},{"sandboxID":"b","cpuCount":1.5}]`))
	all, err := c.ListSandboxes(t.Context(), nil)
	want := []Sandbox{{ID: "a", CPUCount: 2, MemoryMB: 4096}, {ID: "b", CPUCount: 1}}
	if diff := gocmp.Diff(want, all); err != nil || diff != "" {
		t.Errorf("a list: %v %s", err, diff)
	}
}

func TestIDs(t *testing.T) {
	t.Parallel()
	c := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("a request was sent") })
	ctx := t.Context()
	for _, bad := range []string{"", ".", ".."} {
		_, get := c.GetSandbox(ctx, bad)
		_, connect := c.ConnectSandbox(ctx, bad, time.Second)
		_, logs := c.SandboxLogs(ctx, bad, 1)
		_, template := c.GetTemplate(ctx, bad, true)
		_, redo := c.RedoTemplate(ctx, Redo{TemplateID: bad})
		_, job := c.GetJob(ctx, "t", bad)
		_, jobOf := c.GetJob(ctx, bad, "j")
		for i, err := range []error{get, connect, logs, template, redo, job, jobOf, c.PauseSandbox(ctx, bad), c.DeleteTemplate(ctx, bad)} {
			if err == nil || !strings.Contains(err.Error(), "is no id of a ") {
				t.Errorf("%d: %q gives %v", i, bad, err)
			}
		}
	}
	uuid := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	if a, b := requestID(), requestID(); !uuid.MatchString(a) || a == b {
		t.Errorf("request ids %s, %s", a, b)
	}
	if id := NewTemplateID(); !regexp.MustCompile(`^tpl-[0-9a-f]{24}$`).MatchString(id) {
		t.Errorf("template id %s", id)
	}
}

func TestCreateBody(t *testing.T) {
	t.Parallel()
	no := false
	for _, test := range []struct {
		name string
		in   NewSandbox
		want string
	}{
		{"minimal", NewSandbox{TemplateID: "t"}, `{"templateID":"t"}`},
		{"never", NewSandbox{TemplateID: "t", Timeout: Never}, `{"templateID":"t","timeout":-1}`},
		{"rounded up", NewSandbox{TemplateID: "t", Timeout: 1500 * time.Millisecond}, `{"templateID":"t","timeout":2}`},
		{"lifecycle", NewSandbox{TemplateID: "t", OnTimeout: OnTimeoutPause, AutoResume: true}, `{"templateID":"t","lifecycle":{"onTimeout":"pause","autoResume":true}}`},
		{"internet in snake case at the top", NewSandbox{TemplateID: "t", Network: &Network{Internet: &no}}, `{"templateID":"t","allow_internet_access":false}`},
		{
			"rules in camel case inside",
			NewSandbox{TemplateID: "t", Network: &Network{Internet: &no, Allow: []string{"10.0.0.0/8", "", "10.0.0.0/8"}, Deny: []string{"0.0.0.0/0"}}},
			`{"templateID":"t","allow_internet_access":false,"network":{"allowOut":["10.0.0.0/8"],"denyOut":["0.0.0.0/0"]}}`,
		},
		{"no traffic", NewSandbox{TemplateID: "t", Network: &Network{PublicTraffic: &no, MaskRequestHost: "h"}}, `{"templateID":"t","network":{"allowPublicTraffic":false,"maskRequestHost":"h"}}`},
		{"empty network", NewSandbox{TemplateID: "t", Network: &Network{}}, `{"templateID":"t"}`},
		{
			"mounts",
			NewSandbox{TemplateID: "t", Metadata: map[string]string{"a": "b"}, Mounts: []HostMount{{"/data/shared/x", "/x", true}}},
			`{"templateID":"t","metadata":{"a":"b","host-mount":"[{\"hostPath\":\"/data/shared/x\",\"mountPath\":\"/x\",\"readOnly\":true}]"}}`,
		},
		{"mounts alone", NewSandbox{TemplateID: "t", Mounts: []HostMount{{"/h", "/m", false}}}, `{"templateID":"t","metadata":{"host-mount":"[{\"hostPath\":\"/h\",\"mountPath\":\"/m\",\"readOnly\":false}]"}}`},
		{"env and nodes", NewSandbox{TemplateID: "t", Env: map[string]string{"A": "1"}, Nodes: []string{"n"}}, `{"templateID":"t","envVars":{"A":"1"},"distributionScope":["n"]}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			server, all := capture(t, `{"sandboxID":"sb"}`)
			c, err := New(Options{APIURL: server.URL})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if _, err := c.CreateSandbox(t.Context(), test.in); err != nil {
				t.Fatal(err)
			}
			if diff := gocmp.Diff([]captured{{"POST", "/sandboxes", test.want}}, *all); diff != "" {
				t.Error(diff)
			}
			if _, changed := test.in.Metadata["host-mount"]; changed {
				t.Error("the caller's metadata was changed")
			}
		})
	}
	c := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("a request was sent") })
	_, err := c.CreateSandbox(t.Context(), NewSandbox{TemplateID: "t", Metadata: map[string]string{"host-mount": "[]"}})
	if err == nil || !strings.Contains(err.Error(), `"host-mount" is Cube's own`) {
		t.Errorf("error %v", err)
	}
}

// TestActions are the small requests, as they go over the wire.
func TestActions(t *testing.T) {
	t.Parallel()
	server, all := capture(t, `{"sandboxID":"sb"}`)
	c, err := New(Options{APIURL: server.URL + "/base/"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx := t.Context()
	_, connect := c.ConnectSandbox(ctx, "a/b", time.Minute)
	_, resume := c.ResumeSandbox(ctx, "sb", Never)
	err = errors.Join(connect, resume, c.PauseSandbox(ctx, "sb"), c.SetTimeout(ctx, "sb", 0), c.Refresh(ctx, "sb", time.Hour),
		c.SetNetwork(ctx, "sb", Network{Allow: []string{"10.0.0.0/8"}}), c.DeleteSandbox(ctx, "sb"))
	if err != nil {
		t.Fatal(err)
	}
	want := []captured{
		{"POST", "/base/sandboxes/a%2Fb/connect", `{"timeout":60}`},
		{"POST", "/base/sandboxes/sb/resume", `{"timeout":-1}`},
		{"POST", "/base/sandboxes/sb/pause", ""},
		{"POST", "/base/sandboxes/sb/timeout", `{"timeout":0}`},
		{"POST", "/base/sandboxes/sb/refreshes", `{"duration":3600}`},
		{"PUT", "/base/sandboxes/sb/network", `{"allowOut":["10.0.0.0/8"]}`},
		{"DELETE", "/base/sandboxes/sb", ""},
	}
	if diff := gocmp.Diff(want, *all); diff != "" {
		t.Error(diff)
	}
}

// TestListFilter: Cube lets through what has no value, so the client looks.
func TestListFilter(t *testing.T) {
	t.Parallel()
	var query string
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		query = r.URL.RawQuery
		io.WriteString(w, `[{"sandboxID":"a","metadata":{"hermesbox.name":"x","k":"é &"}},{"sandboxID":"b","metadata":{"hermesbox.name":"x"}},{"sandboxID":"c","metadata":null}]`) //nolint:errcheck // the client then fails
	})
	got, err := c.ListSandboxes(t.Context(), map[string]string{"hermesbox.name": "x", "k": "é &"})
	if err != nil || len(got) != 1 || got[0].ID != "a" {
		t.Errorf("got %+v, %v", got, err)
	}
	if want := "limit=10000&metadata=hermesbox.name%3Dx%26k%3D%25C3%25A9%2520%2526"; query != want {
		t.Errorf("the query is %s, not %s", query, want)
	}
	all, err := c.ListSandboxes(t.Context(), nil)
	if err != nil || len(all) != 3 || query != "limit=10000" {
		t.Errorf("%d sandboxes by %s, %v", len(all), query, err)
	}
}

func TestDeleteUnknown(t *testing.T) {
	t.Parallel()
	for body, fails := range map[string]bool{`{"code":404,"message":"sandbox x not found"}`: false, "": true} {
		err := serve(t, text(404, body)).DeleteSandbox(t.Context(), "x")
		if (err != nil) != fails {
			t.Errorf("404 with %q gives %v", body, err)
		}
	}
}

func TestLogs(t *testing.T) {
	t.Parallel()
	at := Time{time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)}
	for answer, want := range map[string][]LogEntry{
		`{"logs":[{"timestamp":"2026-05-01T00:00:00Z","message":"m","level":"info","fields":{"a":"b"}}]}`: {{at, "info", "m", map[string]string{"a": "b"}}},
		`{"logs":[{"timestamp":"2026-05-01T00:00:00Z","line":"l"}],"logEntries":[]}`:                      {{at, "", "l", nil}},
		`{"logs":[{"line":"l"}],"logEntries":[{"message":"structured"}]}`:                                 {{Time{}, "", "structured", nil}},
		`{}`: nil,
	} {
		var query string
		c := serve(t, func(w http.ResponseWriter, r *http.Request) {
			query = r.URL.RawQuery
			io.WriteString(w, answer) //nolint:errcheck // the client then fails
		})
		got, err := c.SandboxLogs(t.Context(), "sb", 7)
		if diff := gocmp.Diff(want, got); diff != "" || err != nil || query != "limit=7" {
			t.Errorf("%s by %s: %v %s", answer, query, err, diff)
		}
	}
}

// TestJobWords: CubeAPI has words of its own for the states of a build.
func TestJobWords(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]Job{
		`{"buildID":"b","templateID":"t","status":"building","progress":5,"message":"SNAPSHOTTING"}`:           {ID: "b", TemplateID: "t", Status: StatusRunning, Progress: 5, Phase: "SNAPSHOTTING"},
		`{"buildID":"b","templateID":"t","status":"ready","progress":100,"message":"READY"}`:                   {ID: "b", TemplateID: "t", Status: StatusReady, Progress: 100, Phase: "READY"},
		`{"buildID":"b","templateID":"t","status":"error","progress":100,"message":"no healthy node"}`:         {ID: "b", TemplateID: "t", Status: StatusFailed, Progress: 100, ErrorMessage: "no healthy node"},
		`{"jobID":"j","templateID":"t","status":"PENDING","phase":"PULLING","progress":0}`:                     {ID: "j", TemplateID: "t", Status: StatusPending, Phase: "PULLING"},
		`{"jobID":"j","templateID":"t","status":"FAILED","phase":"PULLING","progress":100,"errorMessage":"e"}`: {ID: "j", TemplateID: "t", Status: StatusFailed, Phase: "PULLING", Progress: 100, ErrorMessage: "e"},
	} {
		server, _ := capture(t, answer)
		c, err := New(Options{APIURL: server.URL})
		if err != nil {
			t.Fatal(err)
		}
		got, err := c.GetJob(t.Context(), "t", "b")
		if diff := gocmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v %s", answer, err, diff)
		}
		if got.Done() != (got.Progress == 100) {
			t.Errorf("%s is done: %v", answer, got.Done())
		}
		c.Close()
	}
}

func TestNodes(t *testing.T) {
	t.Parallel()
	beat := Time{time.Date(2026, 11, 29, 12, 22, 18, 884321740, time.UTC)}
	want := []Node{{ID: "node-a", IP: "127.0.0.1", InstanceType: "cubebox", Healthy: true, CPUMilli: 64000, MemoryMB: 131072, HeartbeatAt: beat}}
	answers := slices.Concat(read(t, "cubeapi-to-cubemaster.jsonl"), read(t, "cubemaster.jsonl"))
	for _, name := range []string{"api.cubeapi.nodes", "cm.node.list.healthy"} {
		r := answers[slices.IndexFunc(answers, func(r recorded) bool { return r.Name == name })]
		o := Options{APIURL: replay(t, r).URL}
		if strings.HasPrefix(name, "cm.") {
			o = Options{MasterAddr: o.APIURL}
		}
		c, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		got, err := c.Nodes(t.Context())
		if diff := gocmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v %s", name, err, diff)
		}
		c.Close()
	}
}

func TestSince(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		want   string
		routes map[string]http.HandlerFunc
	}{
		{"0.7.0", map[string]http.HandlerFunc{"/templates/compat": text(200, "{}")}},
		{"0.6.0", map[string]http.HandlerFunc{"/templates/compat": text(404, `{"code":404,"message":"template compat not found"}`)}},
		{"0.3.0", map[string]http.HandlerFunc{"/cubeapi/v1/health": text(200, "{}"), "/snapshots": text(200, "[]")}},
		{"0.1.0", map[string]http.HandlerFunc{"/cubeapi/v1/health": text(200, "{}")}},
		{"", map[string]http.HandlerFunc{"/templates/compat": text(401, "")}},
	} {
		c := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if h, ok := test.routes[r.URL.Path]; ok {
				h(w, r)
				return
			}
			w.WriteHeader(404)
		})
		got, err := c.Since(t.Context())
		if got != test.want || (err != nil) != (test.want == "") {
			t.Errorf("since %q, %v; want %q", got, err, test.want)
		}
	}
}

func TestTemplateNames(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]string{
		`{"name":"a"}`: "a", `{"alias":"b"}`: "b", `{"display_name":"c"}`: "c", `{"aliases":["","d"]}`: "d", `{"names":["e"]}`: "e", `{}`: "",
	} {
		var w templateWire
		if err := json.Unmarshal([]byte(answer), &w); err != nil || w.template().Name != want {
			t.Errorf("%s has the name %q, %v", answer, w.template().Name, err)
		}
	}
}

// TestCreateRequest reads what the template keeps, in both spellings.
func TestCreateRequest(t *testing.T) {
	t.Parallel()
	yes := true
	for _, spelling := range []string{"cubevs_context", "cube_network_config"} {
		var r CreateRequest
		err := json.Unmarshal([]byte(`{"`+spelling+`":{"allowInternetAccess":true,"allowOut":["10.0.0.0/8"]},
			"annotations":{"com.exposed_ports":"49983:9000","a":"top"},
			"containers":[{"annotations":{"hermesbox.spec":"s"},"probe":{"probe_handler":{"http_get":{"path":"/health","port":49983}},"timeout_ms":1}}]}`), &r)
		if err != nil {
			t.Fatal(err)
		}
		if diff := gocmp.Diff(&Network{Internet: &yes, Allow: []string{"10.0.0.0/8"}}, r.Network()); diff != "" {
			t.Error(diff)
		}
		if diff := gocmp.Diff([]int{9000, 49983}, r.Ports()); diff != "" {
			t.Error(diff)
		}
		if r.Annotation("hermesbox.spec") != "s" || r.Annotation("a") != "top" || r.Annotation("b") != "" {
			t.Errorf("annotations of %+v", r)
		}
		if diff := gocmp.Diff(&Probe{49983, "/health"}, r.Containers[0].Probe); diff != "" {
			t.Error(diff)
		}
	}
	var none CreateRequest
	if none.Network() != nil || none.Ports() != nil || none.Annotation("a") != "" {
		t.Error("an empty request has something")
	}
	if err := json.Unmarshal([]byte(`{"containers":[{"probe":5}]}`), &none); err == nil {
		t.Error("a number is a probe")
	}
}

// TestAPITemplate: one body for the May version, which passes on what it does
// not know, and for the later ones.
func TestAPITemplate(t *testing.T) {
	t.Parallel()
	yes := true
	server, all := capture(t, `{"jobID":"j","templateID":"tpl-made","status":"PENDING"}`)
	c, err := New(Options{APIURL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	job, err := c.SubmitTemplate(t.Context(), TemplateRequest{
		ID: "tpl-1", Name: "hermes", Image: "r/i@sha256:1", WritableLayerSize: "20Gi", ExposedPorts: []int{9000, 49983},
		Network: &Network{Internet: &yes, Allow: []string{"10.1.0.0/16"}}, Nodes: []string{"n"}, Env: []EnvVar{{"A", "1"}},
		DNS: []string{"10.0.0.53"}, Probe: &Probe{49983, "/health"}, Resources: NewResources(2000, 4096),
		RegistryUsername: "u", RegistryPassword: "p", Annotations: map[string]string{"hermesbox.spec": "s"},
	})
	if err != nil || job.TemplateID != "tpl-made" {
		t.Fatalf("%+v, %v", job, err)
	}
	want := object(t, `{"templateID":"tpl-1","image":"r/i@sha256:1","name":"hermes","alias":"hermes","instanceType":"cubebox",
		"networkType":"tap","network_type":"tap","writableLayerSize":"20Gi","writable_layer_size":"20Gi","source_image_ref":"r/i@sha256:1",
		"exposedPorts":[9000,49983],"exposed_ports":[9000,49983],"probePort":49983,"probePath":"/health","cpu":2000,"memory":4096,
		"env":["A=1"],"dns":["10.0.0.53"],"allowInternetAccess":true,"allowOut":["10.1.0.0/16"],"nodes":["n"],"distribution_scope":["n"],
		"cubevs_context":{"allowInternetAccess":true,"allowOut":["10.1.0.0/16"]},"cube_network_config":{"allowInternetAccess":true,"allowOut":["10.1.0.0/16"]},
		"registryUsername":"u","registryPassword":"p","registry_username":"u","registry_password":"p",
		"container_overrides":{"annotations":{"hermesbox.spec":"s"},"dns_config":{"servers":["10.0.0.53"]},"envs":[{"key":"A","value":"1"}],
			"resources":{"cpu":"2000m","mem":"4096Mi"},
			"probe":{"probe_handler":{"http_get":{"path":"/health","port":49983,"host":""}},"timeout_ms":30000,"period_ms":500,"success_threshold":1,"failure_threshold":60}}}`)
	if diff := gocmp.Diff(want, object(t, (*all)[0].Body)); diff != "" {
		t.Error(diff)
	}
	if _, err := c.SubmitTemplate(t.Context(), TemplateRequest{Image: "i"}); err != nil {
		t.Fatal(err)
	}
	if made, _ := object(t, (*all)[1].Body)["templateID"].(string); !strings.HasPrefix(made, "tpl-") {
		t.Errorf("the made id is %q", made)
	}
	if _, err := c.RedoTemplate(t.Context(), Redo{TemplateID: "tpl-1", FailedOnly: true}); err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(captured{"POST", "/templates/tpl-1", `{"failed_only":true}`}, (*all)[2]); diff != "" {
		t.Error(diff)
	}
	if n := quantity("1.5", "m"); n != 0 {
		t.Errorf("1.5 is %d", n)
	}
}

// FuzzAnswers: no answer of either service makes the client panic, and an
// error never shows more than it may.
func FuzzAnswers(f *testing.F) {
	for _, name := range []string{"cubeapi.jsonl", "cubemaster.jsonl"} {
		for i, r := range read(f, name) {
			if i%9 == 0 {
				f.Add(uint16(r.Response.Status), r.Response.bytes(f))
			}
		}
	}
	f.Add(uint16(302), []byte(`{"ret":{"ret_code":null}}`))
	f.Fuzz(func(t *testing.T, status uint16, body []byte) {
		trip := roundTrip(func(req *http.Request) (*http.Response, error) {
			header := http.Header{"Location": {string(body[:min(len(body), 20)])}}
			return &http.Response{StatusCode: int(status), Header: header, Body: io.NopCloser(strings.NewReader(string(body))), Request: req}, nil
		})
		c, err := New(Options{APIURL: "http://cube", MasterAddr: "cube", APIKey: key})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond) // no second attempt
		defer cancel()
		for _, s := range []*service{c.api, c.master} {
			for _, out := range []any{&[]Sandbox{}, &templateWire{}, &apiJob{}, &logAnswer{}, &[]nodeWire{}} {
				req, err := http.NewRequestWithContext(ctx, "GET", "http://cube/x", http.NoBody)
				if err != nil {
					t.Fatal(err)
				}
				res, _ := trip.RoundTrip(req)
				err = s.judge(res)
				if err == nil {
					err = s.decode(res, out)
				}
				if err != nil && (strings.Contains(err.Error(), key) || strings.ContainsAny(err.Error(), "\n\x1b")) {
					t.Errorf("%d %q gives %q", status, body, err)
				}
			}
		}
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }
