package verify_test

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/rand"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/docker/docker/api/types/build"

	"github.com/hermesbox/hermesbox/internal/cube"
	"github.com/hermesbox/hermesbox/internal/dockertest"
	"github.com/hermesbox/hermesbox/internal/envd"
	"github.com/hermesbox/hermesbox/internal/localcube"
	"github.com/hermesbox/hermesbox/internal/node"
	"github.com/hermesbox/hermesbox/sandbox"
	"github.com/hermesbox/hermesbox/sandbox/verify"
	"github.com/hermesbox/hermesbox/skills"
)

// stage is a local Cube with a template of the stand-in image.
type stage struct {
	testing.TB
	status localcube.Status
	opts   localcube.Options
	client *sandbox.Client
	node   node.Node
}

func newStage(t testing.TB, more string) *stage {
	t.Helper()
	engine := dockertest.Default(t)
	engine.NeedBase(t)
	image := "hermesbox-test/verify-" + strings.ToLower(rand.Text()) + ":1"
	buildStudio(t, engine, image, more)
	dir, err := os.MkdirTemp("", "hermesbox-verify-") //nolint:usetesting // root writes there, whom the user cannot clean up after
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) }) //nolint:errcheck // what root wrote there may stay
	s := &stage{TB: t, opts: localcube.Options{
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
	s.node = node.NewLocal(localcube.Helper{Docker: engine.Client, Image: image, SharedRoot: s.opts.SharedRoot})
	s.client = &sandbox.Client{
		Cube: link, Layout: sandbox.Layout{Root: "/data/shared"}, Version: "0.7.0", Nodes: []node.Node{s.node},
		Route: sandbox.Route{
			Proxy:  envd.Proxy{Host: s.status.Proxy.IP, Port: s.status.Proxy.Port, Scheme: s.status.Proxy.Scheme},
			Domain: s.status.Domain,
		},
		Overlay: func(ctx context.Context, service *envd.Client) (string, error) {
			done, err := skills.Overlay(ctx, service)
			return done.String(), err
		},
		Note: s.say, Warn: s.say,
	}
	s.client.Latest.ID = s.template(image)
	s.client.Latest.Known = map[string]bool{s.client.Latest.ID: true}
	return s
}

func (s *stage) say(format string, args ...any) { s.Logf(format, args...) }

// buildStudio has the Engine build testdata/studio, with more of a Dockerfile behind it.
func buildStudio(t testing.TB, engine dockertest.Engine, ref, more string) {
	t.Helper()
	engine.RemoveImage(t, ref)
	files, err := filepath.Glob("testdata/studio/*")
	if err != nil {
		t.Fatal(err)
	}
	var archive bytes.Buffer
	out := tar.NewWriter(&archive)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if filepath.Base(file) == "Dockerfile" {
			text = append(text, more...)
		}
		if err := out.WriteHeader(&tar.Header{Name: filepath.Base(file), Mode: 0o755, Size: int64(len(text))}); err != nil {
			t.Fatal(err)
		}
		if _, err := out.Write(text); err != nil {
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

// template registers an image and waits for it.
func (s *stage) template(image string) string {
	s.Helper()
	job, err := s.client.Cube.SubmitTemplate(s.Context(), cube.TemplateRequest{
		Image: image, WritableLayerSize: "1Gi", ExposedPorts: []int{9000, 49983}, Probe: &cube.Probe{Port: 49983, Path: "/health"},
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

// create makes a sandbox as hermesbox does.
func (s *stage) create(id string) sandbox.Sandbox {
	s.Helper()
	made, err := s.client.Create(s.Context(), sandbox.Spec{Home: id, Workspace: id, Timeout: 15 * time.Minute, OnTimeout: cube.OnTimeoutPause})
	if err != nil {
		s.Fatalf("create: %v", err)
	}
	return made.Sandbox
}

// odd makes a sandbox as hermesbox would not, and starts the Web UI.
func (s *stage) odd(id string, change func(*cube.NewSandbox)) sandbox.Sandbox {
	s.Helper()
	if _, err := sandbox.Prepare(s.Context(), s.node, sandbox.Place{Layout: s.client.Layout, Home: id, Workspace: id}); err != nil {
		s.Fatal(err)
	}
	ask := cube.NewSandbox{
		TemplateID: s.client.Latest.ID, Timeout: 15 * time.Minute, Mounts: s.client.Layout.Mounts(id, id),
		Metadata: map[string]string{"hermesbox.name": id, "hermesbox.home": id, "hermesbox.workspace": id},
	}
	change(&ask)
	made, err := s.client.Cube.CreateSandbox(s.Context(), ask)
	if err != nil {
		s.Fatal(err)
	}
	box := sandbox.Sandbox{ID: made.ID, Name: id, Home: id, Workspace: id, Template: ask.TemplateID, Domain: made.Domain}
	service, err := s.client.Route.Service(box)
	if err != nil {
		s.Fatal(err)
	}
	defer service.Close()
	if err := service.WaitReady(s.Context(), time.Minute); err != nil {
		s.Fatal(err)
	}
	if _, err := skills.Overlay(s.Context(), service); err != nil {
		s.Log(err) // where the mount is odd
	}
	s.sh(box, startStudio)
	return box
}

// startStudio starts the Web UI and waits until it listens.
const startStudio = `setsid /usr/local/bin/hermes-studio </dev/null >/dev/null 2>&1 &
for i in $(seq 100); do curl -sf -o /dev/null http://127.0.0.1:9000/health && exit 0; sleep 0.1; done; exit 1`

// sh runs a line in a sandbox, without what a profile says.
func (s *stage) sh(box sandbox.Sandbox, line string) {
	s.Helper()
	service, err := s.client.Route.Service(box)
	if err != nil {
		s.Fatal(err)
	}
	defer service.Close()
	var said bytes.Buffer
	cmd := envd.Command{Path: "/bin/bash", Args: []string{"-c", line}, Dir: "/"}
	exit, err := service.Run(s.Context(), cmd, nil, envd.Output{Stdout: &said, Stderr: &said})
	if err != nil || !exit.OK() {
		s.Fatalf("%s: %v, %v\n%s", line, exit, err, said.String())
	}
}

// onNode runs a line on the node; $1 is the shared root.
func (s *stage) onNode(line string) {
	s.Helper()
	var said bytes.Buffer
	code, err := s.node.Run(s.Context(), node.Script{Text: line, Args: []string{"/data/shared"}, Stdout: &said, Stderr: &said})
	if err != nil || code != 0 {
		s.Fatalf("%s: %d, %v\n%s", line, code, err, said.String())
	}
}

// options are those of a sandbox in good health.
func (s *stage) options() verify.Options {
	o := verify.Options{
		Endpoints: []string{"http://127.0.0.1:8100/v1"}, Listen: true, Note: s.say,
		Reach: func(a netip.Addr) (bool, string) {
			return !a.IsPrivate() && !a.IsLinkLocalUnicast(), "the built-in ranges"
		},
	}
	if !s.status.EgressEnforced {
		o.NotEnforced = "no egress rules on this machine"
	}
	return o
}

// publicSkills puts two skills on the node, and two that Hermes does not list there.
const publicSkills = `for name in alpha beta; do mkdir -p "$1/hermes-common-skills/$name" &&
printf -- '---\nname: %s\ndescription: Says %s.\n---\n' "$name" "$name" >"$1/hermes-common-skills/$name/SKILL.md" || exit; done
for gate in platforms:macos environments:kanban; do name=for-${gate#*:} && mkdir -p "$1/hermes-common-skills/$name" &&
printf -- '---\nname: %s\ndescription: d\n%s: [%s]\n---\n' "$name" "${gate%:*}" "${gate#*:}" >"$1/hermes-common-skills/$name/SKILL.md" || exit; done`
