package sandbox_test

import (
	"context"
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
	"github.com/hermesbox/hermesbox/internal/node"
	"github.com/hermesbox/hermesbox/sandbox"
)

// cubeAPI is a CubeAPI of any version that keeps its sandboxes in memory and
// makes none: a create is recorded and refused.
type cubeAPI struct {
	*httptest.Server
	t       *testing.T
	mu      sync.Mutex
	version string
	nodes   string // JSON of /cubeapi/v1/nodes, which versions since 0.6.0 lack
	boxes   []map[string]any
	created []map[string]any
	refusal string
	stuck   bool   // no sandbox can be ended
	ending  func() // is called when one is
}

func newCubeAPI(t *testing.T, version string) *cubeAPI {
	t.Helper()
	f := &cubeAPI{t: t, version: version, refusal: `{"code":500,"message":"CubeMaster returned error code 130597: no more resource"}`}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v2/sandboxes", func(w http.ResponseWriter, _ *http.Request) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.answer(w, http.StatusOK, f.boxes)
	})
	mux.HandleFunc("POST /sandboxes", f.create)
	mux.HandleFunc("DELETE /sandboxes/{id}", func(w http.ResponseWriter, r *http.Request) {
		if f.ending != nil {
			f.ending()
			w.WriteHeader(http.StatusNoContent)
			return
		}
		if !f.stuck {
			t.Errorf("unexpected end of %s", r.PathValue("id"))
		}
		f.answer(w, http.StatusInternalServerError, map[string]any{"code": 500, "message": "CubeMaster returned error code 130593: sandbox not in normal state"})
	})
	mux.HandleFunc("GET /cubeapi/v1/nodes", func(w http.ResponseWriter, _ *http.Request) {
		if f.nodes == "" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		io.WriteString(w, f.nodes) //nolint:errcheck // the client then fails
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		t.Errorf("unexpected request %s %s", r.Method, r.URL)
		w.WriteHeader(http.StatusNotFound)
	})
	f.Server = httptest.NewServer(mux)
	t.Cleanup(f.Close)
	return f
}

func (f *cubeAPI) answer(w http.ResponseWriter, status int, v any) {
	w.WriteHeader(status)
	if err := json.NewEncoder(w).Encode(v); err != nil {
		f.t.Error(err)
	}
}

func (f *cubeAPI) create(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var body map[string]any
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		f.t.Error(err)
	}
	f.created = append(f.created, body)
	w.WriteHeader(http.StatusInternalServerError)
	io.WriteString(w, f.refusal) //nolint:errcheck // the client then fails
}

// box adds a sandbox.
func (f *cubeAPI) box(id, state string, metadata map[string]string) {
	f.boxes = append(f.boxes, map[string]any{
		"sandboxID": id, "templateID": "tpl-1", "clientID": "host-1", "state": state, "metadata": metadata,
		"startedAt": time.Unix(1700000000, 0).UTC().Format(time.RFC3339),
	})
}

func ours(name, home, generation string) map[string]string {
	return map[string]string{
		"hermesbox.name": name, "hermesbox.home": home, "hermesbox.workspace": home, "hermesbox.template": "tpl-1",
		"hermesbox.generation": generation, "cube.label": "x",
	}
}

// movedNode is this machine as a node of another name, with /data/shared in a
// directory of the test.
type movedNode struct {
	shNode
	name, dir string
	runs      *int
}

func (n movedNode) Name() string { return n.name }

func (n movedNode) Run(ctx context.Context, s node.Script) (int, error) {
	if n.runs != nil {
		*n.runs++
	}
	s.Args = append([]string{}, s.Args...)
	for i, a := range s.Args {
		s.Args[i] = strings.Replace(a, "/data/shared", n.dir, 1)
	}
	return n.shNode.Run(ctx, s)
}

// client is one of the fake, with what it says.
func (f *cubeAPI) client(t *testing.T, nodes ...node.Node) (*sandbox.Client, *strings.Builder) {
	t.Helper()
	link, err := cube.New(cube.Options{APIURL: f.URL})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(link.Close)
	var said strings.Builder
	var mu sync.Mutex
	say := func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintf(&said, format+"\n", args...)
	}
	return &sandbox.Client{
		Cube: link, Layout: sandbox.Layout{Root: "/data/shared"}, Nodes: nodes, Version: f.version,
		Latest: sandbox.Latest{ID: "tpl-2", Previous: map[string]bool{"tpl-1": true}, Known: map[string]bool{"tpl-1": true, "tpl-2": true}},
		Note:   say, Warn: say, Progress: func(s sandbox.Step) { say("%s", s) },
	}, &said
}
