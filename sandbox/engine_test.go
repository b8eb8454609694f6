package sandbox_test

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/docker/docker/api/types/build"

	"github.com/hermesbox/hermesbox/internal/cube"
	"github.com/hermesbox/hermesbox/internal/dockertest"
	"github.com/hermesbox/hermesbox/internal/envd"
	"github.com/hermesbox/hermesbox/internal/localcube"
	"github.com/hermesbox/hermesbox/internal/node"
	"github.com/hermesbox/hermesbox/sandbox"
)

// buildStudio makes an image of its own of the stand-in base with the stand-in
// Web UI of testdata/studio.
func buildStudio(t *testing.T, engine dockertest.Engine) (ref string) {
	t.Helper()
	ref = "hermesbox-test/sandbox-" + strings.ToLower(rand.Text()) + ":1"
	files := map[string]string{}
	for _, name := range []string{"Dockerfile", "hermes-studio", "config.yaml"} {
		text, err := os.ReadFile(filepath.Join("testdata", "studio", name))
		if err != nil {
			t.Fatal(err)
		}
		files[name] = string(text)
	}
	buildImage(t, engine, ref, files)
	return ref
}

// buildImage has the Engine build an image of a few files; it goes with the
// test. Nothing of it is shared, or the end of one test could take what another
// builds on.
func buildImage(t *testing.T, engine dockertest.Engine, ref string, files map[string]string) {
	t.Helper()
	engine.RemoveImage(t, ref)
	var archive bytes.Buffer
	out := tar.NewWriter(&archive)
	for name, text := range files {
		if err := out.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(text))}); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(out, text); err != nil {
			t.Fatal(err)
		}
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	res, err := engine.Client.ImageBuild(t.Context(), &archive, build.ImageBuildOptions{Tags: []string{ref}, NoCache: true, Remove: true})
	if err != nil {
		t.Fatalf("building %s: %v", ref, err)
	}
	said, err := io.ReadAll(res.Body)
	res.Body.Close()
	if err != nil || strings.Contains(string(said), `"error"`) {
		t.Fatalf("building %s: %v\n%s", ref, err, said)
	}
}

// stage is a local Cube with a template of its image, and a client of it.
type stage struct {
	*testing.T
	image  string
	opts   localcube.Options
	status localcube.Status
	client *sandbox.Client
	mu     sync.Mutex
	said   []string // notes and warnings
	steps  []string
	tokens []string
}

func newStage(t *testing.T) *stage {
	t.Helper()
	engine := dockertest.Default(t)
	engine.NeedBase(t)
	image := buildStudio(t, engine)
	dir, err := os.MkdirTemp("", "hermesbox-sandbox-") //nolint:usetesting // root writes there, whom the user cannot clean up after
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) }) //nolint:errcheck // what root wrote there may stay
	s := &stage{T: t, image: image, opts: localcube.Options{
		Docker: engine.Client, StateDir: filepath.Join(dir, "state"), SharedRoot: filepath.Join(dir, "shared"),
		API: "127.0.0.1:0", Master: "127.0.0.1:0", Proxy: "127.0.0.1:0",
	}}
	if err := os.Mkdir(s.opts.SharedRoot, 0o755); err != nil {
		t.Fatal(err)
	}
	s.serve()
	link, err := cube.New(cube.Options{APIURL: s.status.APIURL, MasterAddr: s.status.MasterAddr})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(link.Close)
	s.client = s.newClient(link, engine)
	s.client.Latest.ID = s.template(image)
	s.client.Latest.Known = map[string]bool{s.client.Latest.ID: true}
	return s
}

// serve runs a local Cube until the test ends.
func (s *stage) serve() {
	s.Helper()
	ready, ended := make(chan localcube.Status, 1), make(chan error, 1)
	go func() {
		ended <- localcube.Serve(context.WithoutCancel(s.Context()), s.opts, func(st localcube.Status) { ready <- st })
	}()
	select {
	case s.status = <-ready:
	case err := <-ended:
		s.Fatalf("serving: %v", err)
	}
	s.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(s.Context()), 2*time.Minute)
		defer cancel()
		if err := localcube.Down(ctx, s.opts); err != nil {
			s.Errorf("taking the local Cube down: %v", err)
		}
		if err := <-ended; err != nil {
			s.Errorf("serving: %v", err)
		}
	})
}

// newClient is another client of the same Cube, which tells the same stage.
func (s *stage) newClient(link *cube.Client, engine dockertest.Engine) *sandbox.Client {
	say := func(format string, args ...any) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.said = append(s.said, fmt.Sprintf(format, args...))
	}
	return &sandbox.Client{
		Cube: link, Layout: sandbox.Layout{Root: "/data/shared"}, Version: "0.7.0",
		Nodes: []node.Node{node.NewLocal(localcube.Helper{Docker: engine.Client, Image: s.image, SharedRoot: s.opts.SharedRoot})},
		Route: sandbox.Route{
			Proxy:  envd.Proxy{Host: s.status.Proxy.IP, Port: s.status.Proxy.Port, Scheme: s.status.Proxy.Scheme},
			Domain: s.status.Domain,
		},
		Note: say, Warn: say,
		Progress: func(step sandbox.Step) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.steps = append(s.steps, step.String())
		},
		Secret: func(v string) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.tokens = append(s.tokens, v)
		},
	}
}

// template registers an image and waits for it.
func (s *stage) template(image string) string {
	return s.templateOf(image, &cube.Probe{Port: 49983, Path: "/health"})
}

func (s *stage) templateOf(image string, probe *cube.Probe) string {
	s.Helper()
	job, err := s.client.Cube.SubmitTemplate(s.Context(), cube.TemplateRequest{
		Image: image, WritableLayerSize: "1Gi", ExposedPorts: []int{9000, 49983}, Probe: probe,
	})
	for err == nil && !job.Done() {
		time.Sleep(100 * time.Millisecond)
		job, err = s.client.Cube.GetJob(s.Context(), job.TemplateID, job.ID)
	}
	if err != nil || job.Status != cube.StatusReady {
		s.Fatalf("template of %s: %+v, %v", image, job, err)
	}
	return job.TemplateID
}

func (s *stage) spec(home, workspace string) sandbox.Spec {
	return sandbox.Spec{Home: home, Workspace: workspace, Timeout: 15 * time.Minute, OnTimeout: cube.OnTimeoutPause, AutoResume: true}
}

// create makes a sandbox and wants that to go well.
func (s *stage) create(spec sandbox.Spec) sandbox.Created {
	s.Helper()
	made, err := s.client.Create(s.Context(), spec)
	if err != nil {
		s.Fatalf("create: %v\n%s\n%s", err, strings.Join(s.steps, "\n"), strings.Join(s.said, "\n"))
	}
	return made
}

// sh runs a line in a sandbox.
func (s *stage) sh(box sandbox.Sandbox, line string) string {
	s.Helper()
	service, err := s.client.Route.Service(box)
	if err != nil {
		s.Fatal(err)
	}
	defer service.Close()
	var out, said bytes.Buffer
	exit, err := service.Run(s.Context(), envd.Shell(line), nil, envd.Output{Stdout: &out, Stderr: &said})
	if err != nil || !exit.OK() {
		s.Fatalf("%s: %v, %v\n%s", line, exit, err, said.String())
	}
	return out.String()
}

// fault switches the faults of the local Cube.
func (s *stage) fault(names ...string) {
	s.Helper()
	if err := localcube.SetFaults(s.Context(), s.opts.StateDir, names); err != nil {
		s.Fatal(err)
	}
}

// heard tells whether something was said.
func (s *stage) heard(words string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Contains(strings.Join(append(s.said, s.steps...), "\n"), words)
}

func object(t *testing.T, v any) map[string]any {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var out map[string]any
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}
