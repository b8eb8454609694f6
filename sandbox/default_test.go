package sandbox_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hermesbox/hermesbox/internal/cube"
	"github.com/hermesbox/hermesbox/internal/node"
	"github.com/hermesbox/hermesbox/sandbox"
)

// fakeCube is a CubeAPI with sandboxes that nobody can reach.
type fakeCube struct {
	*httptest.Server
	mu      sync.Mutex
	refuse  string               // what create answers, with 500
	boxes   map[string][]byte    // metadata by id
	created []string             // bodies
	deleted []string             // ids
	stuck   bool                 // nothing can be deleted
	during  func(created string) // called in create
}

func newFakeCube(t *testing.T) *fakeCube {
	t.Helper()
	f := &fakeCube{boxes: map[string][]byte{}}
	mux := http.NewServeMux()
	list := func(w http.ResponseWriter, _ *http.Request) {
		f.mu.Lock()
		defer f.mu.Unlock()
		all := []map[string]any{}
		for id, metadata := range f.boxes {
			all = append(all, map[string]any{"sandboxID": id, "templateID": "tpl-1", "state": "running", "metadata": json.RawMessage(metadata)})
		}
		_ = json.NewEncoder(w).Encode(all)
	}
	mux.HandleFunc("GET /sandboxes", list)
	mux.HandleFunc("GET /v2/sandboxes", list)
	mux.HandleFunc("POST /sandboxes", f.create)
	mux.HandleFunc("DELETE /sandboxes/{id}", func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.stuck {
			say500(w, "CubeMaster returned error code 130593: no")
			return
		}
		delete(f.boxes, r.PathValue("id"))
		f.deleted = append(f.deleted, r.PathValue("id"))
		w.WriteHeader(http.StatusNoContent)
	})
	f.Server = httptest.NewServer(mux)
	t.Cleanup(f.Close)
	return f
}

func (f *fakeCube) create(w http.ResponseWriter, r *http.Request) {
	var in struct{ Metadata map[string]string }
	var body strings.Builder
	_ = json.NewDecoder(r.Body).Decode(&in)
	_ = json.NewEncoder(&body).Encode(in.Metadata)
	f.mu.Lock()
	f.created = append(f.created, body.String())
	refuse, during := f.refuse, f.during
	if refuse == "" {
		delete(in.Metadata, "host-mount")
		metadata, _ := json.Marshal(in.Metadata)
		f.boxes["box1"] = metadata
	}
	f.mu.Unlock()
	if during != nil {
		during(body.String())
	}
	if refuse != "" {
		say500(w, refuse)
		return
	}
	w.WriteHeader(http.StatusCreated)
	_, _ = w.Write([]byte(`{"sandboxID":"box1","templateID":"tpl-1","clientID":"x","envdVersion":"0.6.13","domain":"cube.test"}`))
}

func say500(w http.ResponseWriter, message string) {
	w.WriteHeader(http.StatusInternalServerError)
	_ = json.NewEncoder(w).Encode(map[string]any{"code": 500, "message": message})
}

func (f *fakeCube) seed(t *testing.T) sandbox.Seed {
	t.Helper()
	client, err := cube.New(cube.Options{APIURL: f.URL})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return sandbox.Seed{Cube: client, Template: "tpl-1"}
}

func TestDefaultExists(t *testing.T) {
	t.Parallel()
	w, f := newWorld(t), newFakeCube(t)
	want := w.tree("hermes-homes/default")
	got, err := sandbox.SeedDefault(t.Context(), shNode{}, w.layout, f.seed(t))
	w.do(err)
	if got.Made || len(f.created) > 0 {
		t.Errorf("got %+v, created %q", got, f.created)
	}
	w.same(want, "default")
}

// TestDefaultFails: whatever goes wrong with the seed sandbox, it is deleted, the lock is free, and nothing is left or changed.
func TestDefaultFails(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		prepare func(f *fakeCube, cancel context.CancelFunc)
		want    func(error) bool
	}{
		"refused": {func(f *fakeCube, _ context.CancelFunc) {
			f.refuse = "CubeMaster returned error code 130597: no more resource"
		}, func(err error) bool { return errors.Is(err, cube.ErrNoNode) }},
		"another node": {func(f *fakeCube, _ context.CancelFunc) {
			f.refuse = "prepareHostDirVolume: bind mount /a -> /b: no such file or directory"
		}, func(err error) bool {
			return errors.Is(err, cube.ErrHostPath) && strings.Contains(err.Error(), "another node")
		}},
		"interrupted": {func(f *fakeCube, cancel context.CancelFunc) { f.during = func(string) { cancel() } }, func(err error) bool { return errors.Is(err, context.Canceled) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, f := newWorld(t), newFakeCube(t)
			want := w.tree("hermes-homes/default")
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			c.prepare(f, cancel)
			seed := f.seed(t)
			seed.Refresh = true
			_, err := sandbox.SeedDefault(ctx, shNode{}, w.layout, seed)
			if !c.want(err) {
				t.Errorf("got %v", err)
			}
			if len(f.boxes) > 0 {
				t.Errorf("left running: %v", f.boxes)
			}
			w.same(want, "default")
			if _, err := sandbox.SeedHome(t.Context(), shNode{}, w.layout, "h"); err != nil {
				t.Errorf("seeding after it: %v", err)
			}
		})
	}
}

// cutNode loses its connection.
type cutNode struct {
	shNode
	cut chan struct{}
}

var errCut = errors.New("connection lost")

func (n cutNode) Run(ctx context.Context, s node.Script) (int, error) {
	type end struct {
		code int
		err  error
	}
	ended := make(chan end, 1)
	go func() {
		code, err := n.shNode.Run(ctx, s)
		ended <- end{code, err}
	}()
	select {
	case e := <-ended:
		return e.code, e.err
	case <-n.cut:
		return 0, errCut
	}
}

// TestDefaultLost: where the connection to the node was lost, that is said first,
// and not only what Cube made of it.
func TestDefaultLost(t *testing.T) {
	t.Parallel()
	w, f := newWorld(t), newFakeCube(t)
	n := cutNode{cut: make(chan struct{})}
	f.refuse = "prepareHostDirVolume: bind mount /a -> /b: no such file or directory"
	f.during = func(string) {
		close(n.cut)
		time.Sleep(100 * time.Millisecond) // until that is noticed
	}
	seed := f.seed(t)
	seed.Refresh = true
	_, err := sandbox.SeedDefault(t.Context(), n, w.layout, seed)
	if !errors.Is(err, errCut) || !strings.Contains(err.Error(), "connection lost; after that: ") {
		t.Errorf("got %v", err)
	}
}

// TestDefaultStuck: a seed sandbox that cannot be deleted is named, and what it may still write to is not used.
func TestDefaultStuck(t *testing.T) {
	t.Parallel()
	w, f := newWorld(t), newFakeCube(t)
	want := w.tree("hermes-homes/default")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	f.stuck, f.during = true, func(string) { cancel() }
	seed := f.seed(t)
	seed.Refresh = true
	_, err := sandbox.SeedDefault(ctx, shNode{}, w.layout, seed)
	if err == nil || !strings.Contains(err.Error(), "deleting the seed sandbox box1") {
		t.Errorf("got %v", err)
	}
	w.same(want, "default")
}

// TestDefaultOrphans: what a killed run left is deleted first, what belongs to others is not.
func TestDefaultOrphans(t *testing.T) {
	t.Parallel()
	w, f := bareWorld(t), newFakeCube(t)
	w.write("hermes-homes/.hermesbox/id", "this-node\n")
	f.boxes["left"] = []byte(`{"hermesbox.seed":"this-node"}`)
	f.boxes["other"] = []byte(`{"hermesbox.seed":"other-node"}`)
	f.boxes["stranger"] = []byte(`{}`)
	f.refuse = "no"
	if _, err := sandbox.SeedDefault(t.Context(), shNode{}, w.layout, f.seed(t)); err == nil {
		t.Fatal("no error")
	}
	if diff := cmp.Diff([]string{"left"}, f.deleted); diff != "" {
		t.Error(diff)
	}
	if len(f.created) != 1 || !strings.Contains(f.created[0], `"hermesbox.seed":"this-node"`) || !strings.Contains(f.created[0], w.layout.Stage()+"/default-") {
		t.Errorf("created %q", f.created)
	}
}

// TestDefaultRefuses: what is there instead of a default home stays.
func TestDefaultRefuses(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]string{
		"link": "ln -s x hermes-homes/default", "file": "touch hermes-homes/default", "entries": "mkdir hermes-homes/default; touch hermes-homes/default/x",
		"config link": "mkdir hermes-homes/default; ln -s x hermes-homes/default/config.yaml",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, f := bareWorld(t), newFakeCube(t)
			w.sh("mkdir hermes-homes; " + before)
			seed := f.seed(t)
			seed.Refresh = true
			_, err := sandbox.SeedDefault(t.Context(), shNode{}, w.layout, seed)
			var path *sandbox.PathError
			var uninitialised *sandbox.NotInitialisedError
			if !errors.As(err, &path) && !errors.As(err, &uninitialised) {
				t.Errorf("got %v", err)
			}
			if len(f.created) > 0 {
				t.Error("a sandbox was made")
			}
		})
	}
}

// holdScript runs default.sh with what a client would send, and fills the place in between.
func (w world) holdScript(n node.Node, refresh bool, fill string) error {
	f := newFakeCube(w.T)
	f.during = func(created string) {
		i := strings.Index(created, w.layout.Stage())
		place := created[i : i+strings.IndexAny(created[i:], `\"`)]
		w.sh("cd " + place + "; " + fill)
	}
	seed := f.seed(w.T)
	seed.Refresh = refresh
	_, err := sandbox.FillDefault(w.Context(), n, w.layout, seed)
	return err
}

func TestDefaultMade(t *testing.T) {
	t.Parallel()
	w := bareWorld(t)
	w.do(w.holdScript(shNode{}, false, "echo a: b >config.yaml; mkdir skills"))
	if w.read("hermes-homes/default/config.yaml") != "a: b\n" || len(w.staged()) > 0 {
		t.Errorf("%s, staged %q", w.sh("ls -lAR hermes-homes"), w.staged())
	}
	w.modes(map[string]os.FileMode{"hermes-homes/default": 0o700})
	w.do(w.holdScript(shNode{}, true, "echo new: yes >config.yaml"))
	if got := w.sh("cd hermes-homes/default; ls -A; cat config.yaml"); got != "config.yaml\nnew: yes\n" || len(w.staged()) > 0 {
		t.Errorf("after the refresh: %s, staged %q", got, w.staged())
	}
}

// TestDefaultOdd: what a seed sandbox must not leave does not become a default home.
func TestDefaultOdd(t *testing.T) {
	t.Parallel()
	for name, fill := range map[string]string{
		"nothing": "true", "no config": "touch x", "config link": "ln -s /etc/hostname config.yaml", "config fifo": "mkfifo config.yaml",
		"a fifo": "touch config.yaml; mkdir d; mkfifo d/f",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			want := w.tree("hermes-homes/default")
			var path *sandbox.PathError
			if err := w.holdScript(shNode{}, true, fill); !errors.As(err, &path) {
				t.Errorf("got %v", err)
			}
			w.same(want, "default")
		})
	}
}

// TestDefaultKilled: a refresh that is killed leaves the old default home or the new one.
func TestDefaultKilled(t *testing.T) {
	t.Parallel()
	for point, want := range map[string]string{"ready": "old", "committing": "old", "aside": "old", "placed": "new"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.write("hermes-homes/default/config.yaml", "old")
			if err := w.holdScript(shNode{dieAt: point}, true, "printf new >config.yaml"); err == nil {
				t.Error("no error")
			}
			_, err := sandbox.SeedHome(t.Context(), shNode{}, w.layout, "h")
			w.do(err)
			if got := w.read("hermes-homes/h/config.yaml"); got != want || w.read("hermes-homes/default/config.yaml") != want || len(w.staged()) > 0 {
				t.Errorf("got %q, want %q, staged %q", got, want, w.staged())
			}
		})
	}
}
