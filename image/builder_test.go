package image_test

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/google/go-cmp/cmp"

	"github.com/hermesbox/hermesbox/buildctx"
	"github.com/hermesbox/hermesbox/image"
	"github.com/hermesbox/hermesbox/internal/dockertest"
	"github.com/hermesbox/hermesbox/internal/redact"
)

// copyAll is the smallest recipe that shows what arrived.
const copyAll = "FROM scratch\nCOPY . /src\nCMD [\"/none\"]\n"

// workbench is one Engine, ready to build.
type workbench struct {
	engine *image.Engine
	docker dockertest.Engine
	log    bytes.Buffer // the builder's progress
}

// eachEngine runs a test against every Engine of the machine.
func eachEngine(t *testing.T, test func(*testing.T, *workbench)) {
	t.Parallel()
	dockertest.Each(t, func(t *testing.T, docker dockertest.Engine) {
		engine, err := image.Connect(t.Context(), docker.Host, func(string) string { return "" })
		if err != nil {
			t.Fatalf("Connect: %v", err)
		}
		t.Cleanup(func() {
			if err := engine.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
		})
		test(t, &workbench{engine: engine, docker: docker})
	})
}

// tag is an image name of this test alone, removed when the test ends.
func (w *workbench) tag(t *testing.T) string {
	t.Helper()
	name := "hermesbox-test/" + strings.ToLower(strings.NewReplacer("/", "-", "_", "-", ",", "-").Replace(t.Name())) + ":latest"
	w.docker.RemoveImage(t, name)
	return name
}

// dockerfile parses a recipe given as text.
func dockerfile(t *testing.T, text string) *image.Dockerfile {
	t.Helper()
	file := filepath.Join(t.TempDir(), "Dockerfile")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	d, err := image.LoadDockerfile(file)
	if err != nil {
		t.Fatalf("LoadDockerfile: %v", err)
	}
	return d
}

// load reads a source and closes it when the test ends.
func load(t *testing.T, dir string) *buildctx.Tree {
	t.Helper()
	tree, err := buildctx.Load(t.Context(), dir, buildctx.Options{})
	if err != nil {
		t.Fatalf("Load: %v", err)
	}
	t.Cleanup(func() {
		if err := tree.Close(); err != nil {
			t.Errorf("closing tree: %v", err)
		}
	})
	return tree
}

func (w *workbench) spec(t *testing.T, dir, recipe, tag string) image.Spec {
	t.Helper()
	return image.Spec{
		Tree: load(t, dir), Dockerfile: dockerfile(t, recipe), Tags: []string{tag},
		Platform: w.engine.Info.OS + "/" + w.engine.Info.Arch,
	}
}

// build builds a spec; its progress is in w.log.
func (w *workbench) build(ctx context.Context, spec image.Spec) (image.Image, error) {
	w.log.Reset()
	builder := image.Builder{Engine: w.engine, Progress: &w.log, Mode: "plain", Note: func(string, ...any) {}, Secrets: redact.New()}
	return builder.Build(ctx, spec)
}

func (w *workbench) mustBuild(t *testing.T, spec image.Spec) image.Image {
	t.Helper()
	img, err := w.build(t.Context(), spec)
	if err != nil {
		t.Fatalf("Build: %v\n%s", err, w.log.String())
	}
	return img
}

// contents reads /src out of an image: path → content, or "→ target" for a
// link, with a slash behind the name of a directory.
func (w *workbench) contents(t *testing.T, id string) map[string]string {
	t.Helper()
	api := w.docker.Client
	made, err := api.ContainerCreate(t.Context(), &container.Config{Image: id}, nil, nil, nil, "")
	if err != nil {
		t.Fatalf("creating container: %v", err)
	}
	defer func() {
		if err := api.ContainerRemove(t.Context(), made.ID, container.RemoveOptions{Force: true}); err != nil {
			t.Errorf("removing container: %v", err)
		}
	}()
	stream, _, err := api.CopyFromContainer(t.Context(), made.ID, "/src")
	if err != nil {
		t.Fatalf("reading /src: %v", err)
	}
	defer stream.Close()
	found := map[string]string{}
	for members := tar.NewReader(stream); ; {
		header, err := members.Next()
		if err == io.EOF {
			return found
		}
		if err != nil {
			t.Fatalf("reading /src: %v", err)
		}
		name := strings.TrimPrefix(strings.TrimPrefix(header.Name, "src"), "/")
		if name == "" || strings.HasPrefix(name, ".hermesbox") {
			continue
		}
		found[name] = member(t, header, members, found)
	}
}

func member(t *testing.T, header *tar.Header, content io.Reader, found map[string]string) string {
	t.Helper()
	switch header.Typeflag {
	case tar.TypeDir:
		return ""
	case tar.TypeSymlink:
		return "→ " + header.Linkname
	case tar.TypeLink:
		return found[strings.TrimPrefix(header.Linkname, "src/")]
	}
	text, err := io.ReadAll(content)
	if err != nil {
		t.Fatalf("reading %s: %v", header.Name, err)
	}
	return string(text)
}

func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		file := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(path.Dir(file), 0o755), os.WriteFile(file, []byte(content), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestBuildCarriesNames(t *testing.T) {
	eachEngine(t, func(t *testing.T, w *workbench) {
		dir := t.TempDir()
		write(t, dir, map[string]string{
			"nfc-\u00e9": "composed", "nfd-e\u0301": "decomposed", "sp ace": "blank", "back\\slash": "b", "new\nline": "n", "glob[*]?": "g", "ü/ü": "u",
		})
		if err := errors.Join(os.Symlink("sp ace", filepath.Join(dir, "link")), os.Mkdir(filepath.Join(dir, "empty"), 0o755)); err != nil {
			t.Fatal(err)
		}
		want := map[string]string{
			"nfc-\u00e9": "composed", "nfd-e\u0301": "decomposed", "sp ace": "blank", "back\\slash": "b", "new\nline": "n", "glob[*]?": "g",
			"ü/": "", "ü/ü": "u", "link": "→ sp ace", "empty/": "",
		}
		img := w.mustBuild(t, w.spec(t, dir, copyAll, w.tag(t)))
		if diff := cmp.Diff(want, w.contents(t, img.ID)); diff != "" {
			t.Errorf("in the image (-want +got):\n%s", diff)
		}
	})
}

// Engine 20.10 takes names that are not UTF-8; where an Engine refuses them on
// the wire, the error names the path.
func TestBuildNamesThatAreNotUTF8(t *testing.T) {
	eachEngine(t, func(t *testing.T, w *workbench) {
		dir := t.TempDir()
		name := "bad\xff\xfename"
		write(t, dir, map[string]string{name: "bytes", "good": "g"})
		img, err := w.build(t.Context(), w.spec(t, dir, copyAll, w.tag(t)))
		if err != nil {
			if !errors.Is(err, image.ErrName) || !strings.Contains(err.Error(), `bad\xff\xfename`) {
				t.Errorf("error %v does not name the path", err)
			}
			return
		}
		if diff := cmp.Diff(map[string]string{name: "bytes", "good": "g"}, w.contents(t, img.ID)); diff != "" {
			t.Errorf("in the image (-want +got):\n%s", diff)
		}
	})
}

func TestBuildFailsWhereFilesChange(t *testing.T) {
	for name, change := range map[string]func(file string) error{
		"vanished": os.Remove,
		"grown":    func(file string) error { return os.WriteFile(file, []byte("content and more"), 0o644) },
		"edited":   func(file string) error { return os.WriteFile(file, []byte("CONTENT"), 0o644) },
	} {
		t.Run(name, func(t *testing.T) {
			eachEngine(t, func(t *testing.T, w *workbench) {
				dir := t.TempDir()
				write(t, dir, map[string]string{"before": "b", "victim": "content", "zafter": "a"})
				tag := w.tag(t)
				spec := w.spec(t, dir, copyAll, tag)
				if err := change(filepath.Join(dir, "victim")); err != nil {
					t.Fatal(err)
				}
				_, err := w.build(t.Context(), spec)
				if err == nil || !strings.Contains(err.Error(), "victim") {
					t.Errorf("Build: %v, want an error that names victim", err)
				}
				if _, err := w.engine.Inspect(t.Context(), tag); !errors.Is(err, image.ErrNoImage) {
					t.Errorf("the image was tagged all the same (%v)", err)
				}
			})
		})
	}
}

func TestBuildTwiceSendsNothing(t *testing.T) {
	eachEngine(t, func(t *testing.T, w *workbench) {
		dir := t.TempDir()
		write(t, dir, map[string]string{"a": strings.Repeat("a", 300_000), "b": strings.Repeat("b", 300_000)})
		tag := w.tag(t)
		first := w.mustBuild(t, w.spec(t, dir, copyAll, tag))
		again := w.mustBuild(t, w.spec(t, dir, copyAll, tag))
		w.wantResent(t, 0)
		later := time.Now().Add(time.Hour)
		for _, name := range []string{"a", "b"} {
			if err := os.Chtimes(filepath.Join(dir, name), later, later); err != nil {
				t.Fatal(err)
			}
		}
		touched := w.mustBuild(t, w.spec(t, dir, copyAll, tag))
		w.wantResent(t, 0)
		if first.Ref() != again.Ref() || first.Ref() != touched.Ref() {
			t.Errorf("printed %s, then %s, then after a touch %s", first.Ref(), again.Ref(), touched.Ref())
		}
	})
}

// wantResent reads from the progress how much the builder asked for.
func (w *workbench) wantResent(t *testing.T, kilobytes float64) {
	t.Helper()
	const most = 100 // kB of names and attributes, for a few files
	for line := range strings.Lines(w.log.String()) {
		_, size, ok := strings.Cut(line, "transferring context: ")
		if !ok {
			continue
		}
		var number float64
		var unit string
		if !strings.Contains(size, "B") {
			continue // a duration alone: nothing was counted
		}
		if _, err := fmt.Sscanf(size, "%f%s", &number, &unit); err != nil {
			t.Fatalf("progress line %q: %v", line, err)
		}
		factor := map[string]float64{"B": 0.001, "kB": 1, "MB": 1000}[unit]
		if factor == 0 || number*factor > kilobytes+most {
			t.Errorf("sent %s, want at most %v kB and the names", strings.TrimSpace(size), kilobytes)
		}
	}
}

// BuildKit compares size and time, never content; times made from the content
// make up for that.
func TestBuildSeesEditOfSameSizeAndTime(t *testing.T) {
	eachEngine(t, func(t *testing.T, w *workbench) {
		dir := t.TempDir()
		file := filepath.Join(dir, "file")
		stamp := time.Now().Add(-time.Hour)
		tag := w.tag(t)
		for _, content := range []string{"before", "AFTER!"} {
			write(t, dir, map[string]string{"file": content})
			if err := os.Chtimes(file, stamp, stamp); err != nil {
				t.Fatal(err)
			}
			img := w.mustBuild(t, w.spec(t, dir, copyAll, tag))
			if got := w.contents(t, img.ID)["file"]; got != content {
				t.Errorf("the image has %q, want %q", got, content)
			}
		}
	})
}

func TestBuildOf20000Files(t *testing.T) {
	if testing.Short() {
		t.Skip("builds 20,000 files")
	}
	eachEngine(t, func(t *testing.T, w *workbench) {
		dir := t.TempDir()
		want := map[string]string{}
		for i := range 20_000 {
			want[fmt.Sprintf("d%02d/f%05d", i%40, i)] = fmt.Sprintf("content %d", i)
		}
		write(t, dir, want)
		img := w.mustBuild(t, w.spec(t, dir, copyAll, w.tag(t)))
		got := w.contents(t, img.ID)
		for name := range got {
			if strings.HasSuffix(name, "/") {
				delete(got, name)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("in the image (-want +got):\n%.2000s", diff)
		}
	})
}

// Two mounts give their first files the same inode number; BuildKit's sender
// takes them for hard links of one another.
func TestBuildAcrossMounts(t *testing.T) {
	eachEngine(t, func(t *testing.T, w *workbench) {
		dir := t.TempDir()
		for _, name := range []string{"m1", "m2"} {
			mount := filepath.Join(dir, name)
			if err := os.Mkdir(mount, 0o755); err != nil {
				t.Fatal(err)
			}
			dockertest.Tmpfs(t, "root", mount, "size=1m")
			write(t, mount, map[string]string{"f": "of " + name})
			for _, link := range []string{"g", "h"} {
				if err := os.Link(filepath.Join(mount, "f"), filepath.Join(mount, link)); err != nil {
					t.Fatal(err)
				}
			}
		}
		want := map[string]string{"m1/": "", "m2/": ""}
		for _, name := range []string{"f", "g", "h"} {
			want["m1/"+name], want["m2/"+name] = "of m1", "of m2"
		}
		img := w.mustBuild(t, w.spec(t, dir, copyAll, w.tag(t)))
		if diff := cmp.Diff(want, w.contents(t, img.ID)); diff != "" {
			t.Errorf("in the image (-want +got):\n%s", diff)
		}
	})
}

func TestBuildLeavesSocketOut(t *testing.T) {
	eachEngine(t, func(t *testing.T, w *workbench) {
		dir := t.TempDir()
		write(t, dir, map[string]string{"file": "f"})
		var config net.ListenConfig
		listener, err := config.Listen(t.Context(), "unix", filepath.Join(dir, "sock"))
		if err != nil {
			t.Fatal(err)
		}
		defer listener.Close()
		img := w.mustBuild(t, w.spec(t, dir, copyAll, w.tag(t)))
		if diff := cmp.Diff(map[string]string{"file": "f"}, w.contents(t, img.ID)); diff != "" {
			t.Errorf("in the image (-want +got):\n%s", diff)
		}
	})
}
