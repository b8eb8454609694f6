package image_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	dockerimage "github.com/docker/docker/api/types/image"
	"github.com/google/go-cmp/cmp"

	"github.com/hermesbox/hermesbox/image"
	"github.com/hermesbox/hermesbox/internal/check"
	"github.com/hermesbox/hermesbox/internal/dockertest"
)

// buildkitd is a workbench of a buildkitd, and of the first Engine to look at what it pushed.
// With a password it has credentials for the registry at address.
func buildkitd(t *testing.T, address, user, password string) *workbench {
	t.Helper()
	dir := t.TempDir()
	if password != "" {
		auths := fmt.Sprintf(`{"auths": {%q: {"auth": %q}}}`, address, base64.StdEncoding.EncodeToString([]byte(user+":"+password)))
		if err := os.WriteFile(filepath.Join(dir, "config.json"), []byte(auths), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	engine, err := image.ConnectBuildkitd(t.Context(), dockertest.Buildkitd(t), func(name string) string {
		return map[string]string{"DOCKER_CONFIG": dir}[name]
	})
	if err != nil {
		t.Fatalf("ConnectBuildkitd: %v", err)
	}
	t.Cleanup(func() {
		if err := engine.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return &workbench{engine: engine, docker: dockertest.Default(t)}
}

// pull gets what was pushed into the Engine, for as long as the test runs.
func (w *workbench) pull(t *testing.T, img image.Image) {
	t.Helper()
	w.docker.RemoveImage(t, img.Ref())
	stream, err := w.docker.Client.ImagePull(t.Context(), img.Ref(), dockerimage.PullOptions{})
	if err == nil {
		_, err = io.Copy(io.Discard, stream)
		err = errors.Join(err, stream.Close())
	}
	if err != nil {
		t.Fatalf("pulling %s: %v", img.Ref(), err)
	}
}

// TestBuildkitd: what is printed is what the registry serves, and what was sent is in it, names that are not UTF-8 too.
func TestBuildkitd(t *testing.T) {
	t.Parallel()
	address := dockertest.Registry(t)
	w := buildkitd(t, address, "", "")
	dir := t.TempDir()
	files := map[string]string{"bad\xff\xfename": "bytes", "good": t.Name()}
	write(t, dir, files)
	spec := w.spec(t, dir, copyAll, address+"/team/app:one")
	spec.Tags = append(spec.Tags, address+"/other/app")
	spec.Epoch = "1700000000"
	origin, err := image.ReadOrigin(t.Context(), spec.Tree, spec.Epoch)
	if err != nil {
		t.Fatal(err)
	}
	spec.Origin = origin
	img := w.mustBuild(t, spec)
	for _, path := range []string{"team/app/manifests/one", "other/app/manifests/latest"} {
		mediaType, digest := served(t, address, path, "", "")
		if digest != img.Digest || !strings.Contains(mediaType, "manifest") {
			t.Errorf("%s is served as %s %s, Build said %s", path, mediaType, digest, img.Digest)
		}
	}
	if want := address + "/team/app@" + img.Digest; img.Ref() != want {
		t.Errorf("Ref is %q, want %q", img.Ref(), want)
	}
	if img.Labels[image.LabelContext] != spec.Tree.Digest() || img.Labels[image.LabelCreated] != "2023-11-14T22:13:20Z" || img.Platform != spec.Platform {
		t.Errorf("built: %+v", img)
	}
	w.pull(t, img)
	if diff := cmp.Diff(files, w.contents(t, img.Ref())); diff != "" {
		t.Errorf("in the image (-want +got):\n%s", diff)
	}
	found, err := w.docker.Client.ImageInspect(t.Context(), img.Ref())
	if err != nil || found.ID != img.ID || !strings.HasPrefix(found.Created, "2023-11-14T22:13:20") {
		t.Errorf("the Engine pulled %s of %s (%v), built was %s", found.ID, found.Created, err, img.ID)
	}
}

// TestBuildkitdRuns: a step of the recipe runs on the base that the registry has; the base is locked.
func TestBuildkitdRuns(t *testing.T) {
	t.Parallel()
	address := dockertest.Registry(t)
	w := buildkitd(t, address, "", "")
	w.docker.NeedBase(t)
	name := address + "/team/base:latest"
	w.docker.RemoveImage(t, name)
	if err := w.docker.Client.ImageTag(t.Context(), dockertest.BaseImage, name); err != nil {
		t.Fatal(err)
	}
	docker, err := image.Connect(t.Context(), w.docker.Host, func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	defer docker.Close()
	published, err := docker.Push(t.Context(), image.Image{}, []string{name}, nil)
	if err != nil {
		t.Fatal(err)
	}
	lockFile := filepath.Join(t.TempDir(), image.LockName)
	lock, err := image.ReadLock(lockFile)
	if err != nil {
		t.Fatal(err)
	}
	base, err := w.engine.ResolveBase(t.Context(), name, "linux/amd64", lock, false)
	if err != nil || base.Digest != published.Digest || base.Local {
		t.Fatalf("ResolveBase: %+v, %v; published was %s", base, err, published.Digest)
	}
	if text, err := os.ReadFile(lockFile); err != nil || !strings.Contains(string(text), base.Digest) {
		t.Errorf("lock: %s, %v", text, err)
	}
	dir := t.TempDir()
	write(t, dir, map[string]string{"f": "one"})
	spec := w.spec(t, dir, "ARG BASE\nFROM ${BASE}\nRUN mkdir /src && echo made > /src/step\nCOPY f /src/\n", address+"/team/runs:latest")
	spec.Base = base
	img := w.mustBuild(t, spec)
	if img.Labels[image.LabelBaseDigest] != base.Digest {
		t.Errorf("labels: %v", img.Labels)
	}
	w.pull(t, img)
	if diff := cmp.Diff(map[string]string{"f": "one", "step": "made\n"}, w.contents(t, img.Ref())); diff != "" {
		t.Errorf("in the image (-want +got):\n%s", diff)
	}
	doctor := image.DoctorSpec{Platform: "linux/amd64", Base: name, Lock: lock}
	wantStatus(t, w.engine.CheckBase(t.Context(), doctor), check.Pass, base.Digest)
	doctor.Base = address + "/team/missing:latest"
	wantStatus(t, w.engine.CheckBase(t.Context(), doctor), check.Fail, "not found")
	local, err := image.ReadLock(filepath.Join(t.TempDir(), image.LockName))
	if err != nil {
		t.Fatal(err)
	}
	local.Bases["only-there linux/amd64"] = image.LockedBase{ID: base.Digest}
	if _, err := w.engine.ResolveBase(t.Context(), "only-there", "linux/amd64", local, false); !errors.Is(err, image.ErrNoBase) || !strings.Contains(err.Error(), "only-there") {
		t.Errorf("a base of an Engine's own: %v", err)
	}
}

func wantStatus(t *testing.T, got check.Result, status check.Status, evidence string) {
	t.Helper()
	if got.Status != status || !strings.Contains(got.Evidence, evidence) {
		t.Errorf("%s: %s; want %s with %q", got.Status, got.Evidence, status, evidence)
	}
}

// TestBuildkitdCurrent: an image is current by what the registry has under the tag.
func TestBuildkitdCurrent(t *testing.T) {
	t.Parallel()
	address := dockertest.Registry(t)
	w := buildkitd(t, address, "", "")
	dir := t.TempDir()
	write(t, dir, map[string]string{"f": "one"})
	want := func(spec image.Spec, reason string) image.Image {
		t.Helper()
		img, ok, said, err := w.engine.Current(t.Context(), spec)
		if err != nil || ok != (reason == "") || !strings.Contains(said, reason) {
			t.Errorf("current %t because %q, %v; want %q", ok, said, err, reason)
		}
		return img
	}
	spec := w.spec(t, dir, copyAll, address+"/team/current:latest")
	want(spec, "the registry has no image")
	built := w.mustBuild(t, spec)
	if diff := cmp.Diff(built, want(spec, "")); diff != "" {
		t.Errorf("built and current (-want +got):\n%s", diff)
	}
	if img, err := w.engine.Pushed(t.Context(), spec.Tags[0]); err != nil || img.Ref() != built.Ref() {
		t.Errorf("Pushed: %+v, %v", img, err)
	}
	if digest, err := w.engine.Resolve(t.Context(), spec.Tags[0]); err != nil || digest != built.Digest {
		t.Errorf("Resolve: %s, %v", digest, err)
	}
	args := spec
	args.BuildArgs = map[string]string{"A": "1"}
	want(args, "the recipe changed")
	tags := spec
	tags.Tags = []string{spec.Tags[0], address + "/team/current:other"}
	want(tags, "is not tagged "+tags.Tags[1])
	write(t, dir, map[string]string{"f": "two"})
	want(w.spec(t, dir, copyAll, spec.Tags[0]), "the context changed")
	odd := spec
	odd.Platform = "linux/a/b/c/d"
	if _, _, _, err := w.engine.Current(t.Context(), odd); !errors.Is(err, image.ErrSpec) {
		t.Errorf("no platform: %v", err)
	}
	if _, err := w.engine.Inspect(t.Context(), built.ID); !errors.Is(err, image.ErrNoImage) {
		t.Errorf("by an ID: %v", err)
	}
	spec.Tags = []string{"127.0.0.1:1/nobody/there:latest"}
	if _, _, _, err := w.engine.Current(t.Context(), spec); err == nil || !strings.Contains(err.Error(), "asking the registry for "+spec.Tags[0]) {
		t.Errorf("no registry: %v", err)
	}
	w.engine.Host = "unix:///nonexistent/buildkitd.sock" // it has ended
	if _, _, _, err := w.engine.Current(t.Context(), spec); err == nil || !strings.Contains(err.Error(), "nonexistent") {
		t.Errorf("no buildkitd: %v", err)
	}
	if _, err := w.build(t.Context(), spec); err == nil || !strings.Contains(err.Error(), "nonexistent") {
		t.Errorf("no buildkitd: %v", err)
	}
	wantStatus(t, w.engine.CheckBuilder(t.Context()), check.Fail, "nonexistent")
}

func TestBuildkitdCredentials(t *testing.T) {
	t.Parallel()
	const user, password = "builder", "pass-word-0000"
	address := dockertest.PrivateRegistry(t, user, password)
	for name, test := range map[string]struct {
		password string
		want     error
		doctor   check.Status
	}{
		"right": {password, nil, check.Pass}, "wrong": {"other", image.ErrUnauthorized, check.Fail}, "none": {"", image.ErrUnauthorized, check.Warn},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := buildkitd(t, address, user, test.password)
			dir := t.TempDir()
			write(t, dir, map[string]string{"f": t.Name()})
			spec := w.spec(t, dir, copyAll, address+"/private/"+name+":latest")
			img, err := w.build(t.Context(), spec)
			if !errors.Is(err, test.want) || err != nil && strings.Contains(err.Error(), password) {
				t.Errorf("Build: %v, want %v without the password", err, test.want)
			}
			wantStatus(t, w.engine.CheckPush(t.Context(), spec.Tags[0]), test.doctor, address)
			_, resolveErr := w.engine.Resolve(t.Context(), spec.Tags[0])
			if !errors.Is(resolveErr, test.want) {
				t.Errorf("Resolve: %v, want %v", resolveErr, test.want)
			}
			if _, err := w.engine.Pushed(t.Context(), spec.Tags[0]); !errors.Is(err, test.want) {
				t.Errorf("Pushed: %v, want %v", err, test.want)
			}
			if test.want != nil {
				return
			}
			if _, digest := served(t, address, "private/right/manifests/latest", user, password); digest != img.Digest {
				t.Errorf("served is %s, Build said %s", digest, img.Digest)
			}
		})
	}
}

// TestBuildkitdPushFaults: a registry that fails in the middle of a push gives
// the right error, and the next push goes through without cleaning.
func TestBuildkitdPushFaults(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		path  string
		fault http.HandlerFunc
		want  error
	}{
		"401": {"/manifests/", status(http.StatusUnauthorized, "UNAUTHORIZED", "WWW-Authenticate", `Basic realm="test"`), image.ErrUnauthorized},
		"403": {"/manifests/", status(http.StatusForbidden, "DENIED", "", ""), image.ErrUnauthorized},
		"405": {"/manifests/", status(http.StatusMethodNotAllowed, "UNSUPPORTED", "", ""), image.ErrPush},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			registry, address := newFaultyRegistry(t, test.path, test.fault)
			w := buildkitd(t, address, "", "")
			dir := t.TempDir()
			write(t, dir, map[string]string{"f": t.Name()})
			spec := w.spec(t, dir, copyAll, address+"/team/app:latest")
			registry.broken.Store(true)
			if _, err := w.build(t.Context(), spec); !errors.Is(err, test.want) || !strings.Contains(err.Error(), spec.Tags[0]) {
				t.Errorf("Build: %v; want %v with the name", err, test.want)
			}
			registry.broken.Store(false)
			img := w.mustBuild(t, spec)
			if _, digest := served(t, address, "team/app/manifests/latest", "", ""); digest != img.Digest {
				t.Errorf("served is %s, Build said %s", digest, img.Digest)
			}
		})
	}
}

// TestBuildkitdReadBack: a registry that serves nothing, or another image, after the push did not take it.
func TestBuildkitdReadBack(t *testing.T) {
	t.Parallel()
	registry, address := newFaultyRegistry(t, "", nil)
	pass := registry.pass
	registry.pass = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet || r.Method == http.MethodHead {
			r.URL.Path = strings.NewReplacer("/manifests/other", "/manifests/one", "/manifests/lost", "/manifests/none").Replace(r.URL.Path)
		}
		pass.ServeHTTP(w, r)
	})
	w := buildkitd(t, address, "", "")
	dir := t.TempDir()
	write(t, dir, map[string]string{"f": t.Name()})
	first := w.mustBuild(t, w.spec(t, dir, copyAll, address+"/team/app:one"))
	write(t, dir, map[string]string{"f": t.Name() + " two"})
	for tag, words := range map[string]string{
		"other": "the registry serves " + first.Digest + ", pushed was sha256:",
		"lost":  "reading it back",
	} {
		spec := w.spec(t, dir, copyAll, address+"/team/app:"+tag)
		if img, err := w.build(t.Context(), spec); !errors.Is(err, image.ErrPush) || !strings.Contains(err.Error(), words) || !strings.Contains(err.Error(), spec.Tags[0]) {
			t.Errorf("%s: %+v, %v; want ErrPush with %q", tag, img, err, words)
		}
	}
}

// TestBuildkitdInterrupted ends a build in good time, and pushes nothing.
func TestBuildkitdInterrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	calledOff, since := errors.New("called off"), time.Time{}
	registry, address := newFaultyRegistry(t, "/manifests/", func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // or the end of the connection is not seen
		since = time.Now()
		cancel(calledOff)
		<-r.Context().Done()
	})
	registry.broken.Store(true)
	w := buildkitd(t, address, "", "")
	dir := t.TempDir()
	write(t, dir, map[string]string{"f": t.Name()})
	spec := w.spec(t, dir, copyAll, address+"/team/app:latest")
	_, err := w.build(ctx, spec)
	if !errors.Is(err, calledOff) || time.Since(since) > 2*time.Second {
		t.Errorf("Build: %v, %s after the interrupt; want the cause", err, time.Since(since))
	}
	if _, err := w.engine.Inspect(t.Context(), spec.Tags[0]); !errors.Is(err, image.ErrNoImage) {
		t.Errorf("it was pushed all the same (%v)", err)
	}
}

// TestBuildkitdIndex: an index without an image for the platform holds none.
func TestBuildkitdIndex(t *testing.T) {
	t.Parallel()
	address := dockertest.Registry(t)
	w := buildkitd(t, address, "", "")
	dir := t.TempDir()
	write(t, dir, map[string]string{"f": t.Name()})
	spec := w.spec(t, dir, copyAll, address+"/team/app:one")
	img := w.mustBuild(t, spec)
	index := `{"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": [{"mediaType": "application/vnd.oci.image.manifest.v1+json", "digest": "` +
		img.Digest + `", "size": 1, "platform": {"os": "linux", "architecture": "mips64le"}}]}`
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPut, "http://"+address+"/v2/team/app/manifests/index", strings.NewReader(index))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/vnd.oci.image.index.v1+json")
	response, err := http.DefaultClient.Do(request)
	if err != nil || response.StatusCode != http.StatusCreated {
		t.Fatalf("putting the index: %v, %v", response, err)
	}
	defer response.Body.Close()
	spec.Tags = []string{address + "/team/app:index"}
	if _, ok, reason, err := w.engine.Current(t.Context(), spec); ok || err != nil || !strings.Contains(reason, "has no image "+spec.Tags[0]) {
		t.Errorf("current %t because %q, %v", ok, reason, err)
	}
	lock, err := image.ReadLock(filepath.Join(t.TempDir(), image.LockName))
	if err != nil {
		t.Fatal(err)
	}
	if base, err := w.engine.ResolveBase(t.Context(), spec.Tags[0], spec.Platform, lock, false); !errors.Is(err, image.ErrNoBase) || !strings.Contains(err.Error(), "no match for platform") {
		t.Errorf("as a base: %+v, %v", base, err)
	}
	wantStatus(t, w.engine.CheckPush(t.Context(), spec.Tags[0]), check.Warn, "no credentials")
}

func TestConnectBuildkitdToNothing(t *testing.T) {
	t.Parallel()
	none := func(string) string { return "" }
	for _, address := range []string{"unix:///nonexistent/buildkitd.sock", "tcp://127.0.0.1:1", "tcp://%zz"} {
		if _, err := image.ConnectBuildkitd(t.Context(), address, none); !errors.Is(err, image.ErrNoBuildkitd) || !strings.Contains(err.Error(), address) {
			t.Errorf("%s: %v", address, err)
		}
	}
}

func TestBuildkitdDoctor(t *testing.T) {
	t.Parallel()
	w := buildkitd(t, "", "", "")
	wantStatus(t, w.engine.CheckBuilder(t.Context()), check.Pass, "1 worker(s)")
	wantStatus(t, w.engine.CheckPlatform(t.Context(), w.engine.Info.OS+"/"+w.engine.Info.Arch), check.Pass, "the buildkitd's own")
	wantStatus(t, w.engine.CheckPlatform(t.Context(), "linux/mips64le"), check.Fail, "not linux/mips64le")
	wantStatus(t, w.engine.CheckDisk(), check.Skip, "keeps no images")
	wantStatus(t, w.engine.CheckPush(t.Context(), dockertest.Registry(t)+"/team/app"), check.Warn, "no credentials")
	wantStatus(t, w.engine.CheckPush(t.Context(), "127.0.0.1:1/team/app"), check.Fail, "127.0.0.1:1")
}
