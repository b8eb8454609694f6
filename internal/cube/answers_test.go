package cube

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// reader is how the client asks on a route that it has a method for.
type reader struct {
	name  string
	route *regexp.Regexp
	// at is where in the answer the value lies.
	at   string
	read func(ctx context.Context, c *Client, m []string, r recorded) (any, error)
	// dropped are what the value leaves out on purpose, as normalised paths.
	dropped string
	// gone: that it does not exist is a success.
	gone bool
}

func none(err error) (any, error) { return nil, err }

const id = `/sandboxes/([^/]+)`

// storedDropped is what a create request has besides: fixed values of Cube's
// own, and the token of the image.
const storedDropped = `createrequest\.(requestid|volumes|containers\[\]\.(name|rlimit|securitycontext|volumemounts|image\.(annotations|storagemedia)|probe))`

// nodeDropped is what a node has besides; [TestNodes] looks at the numbers.
const nodeDropped = `\[\]\.(grpcport|labels|capacity|allocatable|clusterlabel|quota|createconcurrentnum|maxmvm|conditions|heartbeattime|cpusaturation|memorysaturation)`

var apiReaders = []reader{
	{name: "CreateSandbox", route: regexp.MustCompile(`^POST /sandboxes$`), read: func(ctx context.Context, c *Client, _ []string, _ recorded) (any, error) {
		return c.CreateSandbox(ctx, NewSandbox{TemplateID: "tpl-x"})
	}},
	{name: "ListSandboxes", route: regexp.MustCompile(`^GET /v2/sandboxes$`), read: func(ctx context.Context, c *Client, _ []string, _ recorded) (any, error) {
		return c.ListSandboxes(ctx, nil)
	}},
	// The older list, of the same values, is read by no method.
	{name: "list of old", route: regexp.MustCompile(`^GET /sandboxes$`), read: func(ctx context.Context, c *Client, _ []string, _ recorded) (any, error) {
		var all []Sandbox
		err := c.apiCall(ctx, call{method: "GET", path: "/sandboxes", budget: quick}, &all)
		return all, err
	}},
	{name: "GetSandbox", route: regexp.MustCompile(`^GET ` + id + `$`), read: func(ctx context.Context, c *Client, m []string, _ recorded) (any, error) {
		return c.GetSandbox(ctx, m[1])
	}},
	{name: "DeleteSandbox", gone: true, route: regexp.MustCompile(`^DELETE ` + id + `$`), read: func(ctx context.Context, c *Client, m []string, _ recorded) (any, error) {
		return none(c.DeleteSandbox(ctx, m[1]))
	}},
	{name: "PauseSandbox", route: regexp.MustCompile(`^POST ` + id + `/pause$`), read: func(ctx context.Context, c *Client, m []string, _ recorded) (any, error) {
		return none(c.PauseSandbox(ctx, m[1]))
	}},
	{name: "ResumeSandbox", route: regexp.MustCompile(`^POST ` + id + `/resume$`), read: func(ctx context.Context, c *Client, m []string, _ recorded) (any, error) {
		return c.ResumeSandbox(ctx, m[1], 60e9)
	}},
	{name: "ConnectSandbox", route: regexp.MustCompile(`^POST ` + id + `/connect$`), read: func(ctx context.Context, c *Client, m []string, _ recorded) (any, error) {
		return c.ConnectSandbox(ctx, m[1], 60e9)
	}},
	{name: "SetTimeout", route: regexp.MustCompile(`^POST ` + id + `/timeout$`), read: func(ctx context.Context, c *Client, m []string, _ recorded) (any, error) {
		return none(c.SetTimeout(ctx, m[1], 60e9))
	}},
	{name: "Refresh", route: regexp.MustCompile(`^POST ` + id + `/refreshes$`), read: func(ctx context.Context, c *Client, m []string, _ recorded) (any, error) {
		return none(c.Refresh(ctx, m[1], 60e9))
	}},
	{name: "SetNetwork", route: regexp.MustCompile(`^PUT ` + id + `/network$`), read: func(ctx context.Context, c *Client, m []string, _ recorded) (any, error) {
		return none(c.SetNetwork(ctx, m[1], Network{Allow: []string{"10.0.0.0/8"}}))
	}},
	{name: "SandboxLogs", at: "logs", route: regexp.MustCompile(`^GET /v2` + id + `/logs$`), read: func(ctx context.Context, c *Client, m []string, _ recorded) (any, error) {
		return c.SandboxLogs(ctx, m[1], 0)
	}},
	{name: "Templates", route: regexp.MustCompile(`^GET /templates$`), read: func(ctx context.Context, c *Client, _ []string, _ recorded) (any, error) {
		return c.Templates(ctx)
	}},
	{name: "GetTemplate", dropped: storedDropped, route: regexp.MustCompile(`^GET /templates/([^/]+)$`), read: func(ctx context.Context, c *Client, m []string, _ recorded) (any, error) {
		return c.GetTemplate(ctx, m[1], true)
	}},
	{name: "DeleteTemplate", route: regexp.MustCompile(`^DELETE /templates/([^/]+)$`), read: func(ctx context.Context, c *Client, m []string, _ recorded) (any, error) {
		return none(c.DeleteTemplate(ctx, m[1]))
	}},
	{name: "SubmitTemplate", route: regexp.MustCompile(`^POST /templates$`), read: func(ctx context.Context, c *Client, _ []string, _ recorded) (any, error) {
		return c.SubmitTemplate(ctx, TemplateRequest{Image: "x"})
	}},
	{name: "RedoTemplate", route: regexp.MustCompile(`^POST /templates/([^/]+)$`), read: func(ctx context.Context, c *Client, m []string, _ recorded) (any, error) {
		return c.RedoTemplate(ctx, Redo{TemplateID: m[1]})
	}},
	// The words of a build's status are other ones; TestJobWords looks at them.
	{name: "GetJob", dropped: `^(buildid|status|message)`, route: regexp.MustCompile(`^GET /templates/([^/]+)/builds/([^/]+)/status$`), read: func(ctx context.Context, c *Client, m []string, _ recorded) (any, error) {
		return c.GetJob(ctx, m[1], m[2])
	}},
	{name: "Nodes", dropped: nodeDropped, route: regexp.MustCompile(`^GET /cubeapi/v1/nodes$`), read: func(ctx context.Context, c *Client, _ []string, _ recorded) (any, error) {
		return c.Nodes(ctx)
	}},
	{name: "Health", dropped: "^(status|sandboxes)", route: regexp.MustCompile(`^GET /health$`), read: func(ctx context.Context, c *Client, _ []string, _ recorded) (any, error) {
		return none(c.Health(ctx))
	}},
}

var masterReaders = []reader{
	{name: "SubmitTemplate", at: "job", route: regexp.MustCompile(`^POST /cube/template/from-image$`), read: func(ctx context.Context, c *Client, _ []string, _ recorded) (any, error) {
		return c.SubmitTemplate(ctx, TemplateRequest{Image: "x"})
	}},
	{name: "GetJob", at: "job", route: regexp.MustCompile(`^GET /cube/template/from-image$`), read: func(ctx context.Context, c *Client, _ []string, _ recorded) (any, error) {
		return c.GetJob(ctx, "t", "j")
	}},
	{name: "RedoTemplate", at: "job", route: regexp.MustCompile(`^POST /cube/template/redo$`), read: func(ctx context.Context, c *Client, _ []string, _ recorded) (any, error) {
		return c.RedoTemplate(ctx, Redo{TemplateID: "t"})
	}},
	{name: "GetTemplate", dropped: "^ret|" + storedDropped, route: regexp.MustCompile(`^GET /cube/template\?.*template_id=[^&]`), read: func(ctx context.Context, c *Client, _ []string, _ recorded) (any, error) {
		return c.GetTemplate(ctx, "t", true)
	}},
	{name: "Templates", at: "data", route: regexp.MustCompile(`^GET /cube/template(\?template_id=)?$`), read: func(ctx context.Context, c *Client, _ []string, _ recorded) (any, error) {
		return c.Templates(ctx)
	}},
	{name: "DeleteTemplate", dropped: "^(requestid|ret|templateid)", route: regexp.MustCompile(`^DELETE /cube/template$`), read: func(ctx context.Context, c *Client, _ []string, _ recorded) (any, error) {
		return none(c.DeleteTemplate(ctx, "t"))
	}},
	{name: "Nodes", at: "data", dropped: nodeDropped, route: regexp.MustCompile(`^GET /internal/meta/nodes$`), read: func(ctx context.Context, c *Client, _ []string, _ recorded) (any, error) {
		return c.Nodes(ctx)
	}},
	{name: "Health", dropped: "^ret", route: regexp.MustCompile(`^GET /notify/health$`), read: func(ctx context.Context, c *Client, _ []string, _ recorded) (any, error) {
		return none(c.Health(ctx))
	}},
}

// pick finds the reader of a line. Where the client has no method for it, the
// answer is read all the same, as it would be for one.
func pick(readers []reader, api bool, r recorded) (reader, []string) {
	path, _, _ := strings.Cut(r.Request.Path, "?")
	for _, known := range readers {
		text := r.Request.Method + " " + path
		if strings.Contains(known.route.String(), `\?`) {
			text = r.Request.Method + " " + r.Request.Path
		}
		if m := known.route.FindStringSubmatch(text); m != nil && !strings.Contains(path, "%") && !strings.HasSuffix(path, "/..") {
			return known, m
		}
	}
	return reader{name: "other", dropped: ".", read: func(ctx context.Context, c *Client, _ []string, r recorded) (any, error) {
		path, _, _ := strings.Cut(r.Request.Path, "?")
		k := call{method: r.Request.Method, path: path, budget: quick}
		if api {
			return none(c.apiCall(ctx, k, nil))
		}
		return none(c.masterCall(ctx, k, nil))
	}}, nil
}

// table counts how the answers were read, by route and outcome.
type table struct {
	mu   sync.Mutex
	rows map[string]int
}

func (t *table) add(row string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rows[row]++
}

// TestRecordedAnswers reads every answer of the recordings, those in between
// two of the programs too, over a real wire.
func TestRecordedAnswers(t *testing.T) {
	t.Parallel()
	counts := table{rows: map[string]int{}}
	lines := 0
	t.Run("all", func(t *testing.T) {
		run := func(api bool, r recorded) {
			lines++
			t.Run(r.Name, func(t *testing.T) {
				t.Parallel()
				counts.add(readOne(t, api, r))
			})
		}
		for _, r := range slices.Concat(read(t, "cubeapi.jsonl"), read(t, "cubeapi-to-cubemaster.jsonl")) {
			run(true, r)
		}
		for _, r := range read(t, "cubemaster.jsonl") {
			run(false, r)
		}
		for _, r := range slices.Concat(read(t, "cubeapi-to-cubemaster.jsonl"), read(t, "cubemastercli.jsonl")) {
			for i, s := range r.Sent {
				if answer, ok := s.answer(); ok {
					run(false, recorded{Name: fmt.Sprintf("%s.sent%d", r.Name, i), Request: s.request, Response: answer})
				}
			}
		}
	})
	total := 0
	var rows []string
	for row, n := range counts.rows {
		total += n
		rows = append(rows, fmt.Sprintf("%s × %d", row, n))
	}
	if total != lines {
		t.Errorf("%d answers were judged of %d", total, lines)
	}
	slices.Sort(rows)
	golden(t, "answers.golden", strings.Join(rows, "\n")+"\n")
}

// golden compares with a file, or rewrites it.
func golden(t *testing.T, name, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile("testdata/"+name, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("%s (-update rewrites it):\n%s", name, diff)
	}
}

// readOne reads one answer and returns its row of the table.
func readOne(t *testing.T, api bool, r recorded) string {
	t.Helper()
	server := replay(t, r)
	options, readers, service := Options{APIURL: server.URL, APIKey: "e2b_000000"}, apiReaders, "CubeAPI"
	if !api {
		options, readers, service = Options{MasterAddr: server.URL}, masterReaders, "CubeMaster"
	}
	c, err := New(options)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	how, m := pick(readers, api, r)
	value, err := how.read(t.Context(), c, m, r)
	want := expected(t, api, r)
	switch {
	case how.gone && want.failed && want.missing:
		want, how.dropped = expectation{}, "."

	case how.name == "CreateSandbox" && strings.Contains(r.Response.Body, `"sandboxID":""`):
		want = expectation{failed: true, other: "no sandbox id"}
	}
	want.check(t, err)
	if err == nil {
		complete(t, how, r, value)
	}
	return fmt.Sprintf("%-10s %-14s %s", service, how.name, outcome(err))
}

// outcome says how an answer came out.
func outcome(err error) string {
	if err == nil {
		return "ok"
	}
	var e *Error
	if !errors.As(err, &e) {
		return "error"
	}
	names := map[string]error{
		"unauthorized": ErrUnauthorized, "not-found": ErrNotFound, "conflict": ErrConflict, "in-progress": ErrInProgress,
		"in-use": ErrInUse, "no-node": ErrNoNode, "host-path": ErrHostPath, "busy": ErrBusy, "unsupported": ErrUnsupported,
	}
	var kinds []string
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if errors.Is(err, names[name]) {
			kinds = append(kinds, name)
		}
	}
	return fmt.Sprintf("HTTP %d code %d %s", e.Status, e.Code, cmp.Or(strings.Join(kinds, ","), "-"))
}

// complete checks that no part of an answer was lost on the way to the value.
func complete(t *testing.T, how reader, r recorded, value any) {
	t.Helper()
	if r.Response.Headers["content-encoding"] != "" || r.Response.Body == "" || how.dropped == "." {
		return
	}
	answer := decoded(t, []byte(r.Response.Body))
	if how.at != "" {
		answer = answer.(map[string]any)[how.at]
	}
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	flatten(decoded(t, text), "", got)
	want := map[string]string{}
	flatten(answer, "", want)
	dropped := regexp.MustCompile(cmp.Or(how.dropped, "^$"))
	for path, w := range want {
		if g, ok := got[path]; !dropped.MatchString(bare(path)) && (!ok || g != w) {
			t.Errorf("%s is %s in the answer and %q in the value", path, w, g)
		}
	}
}
