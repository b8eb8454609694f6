package image_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hermesbox/hermesbox/image"
	"github.com/hermesbox/hermesbox/internal/dockertest"
)

// TestCurrent: an image is current exactly while nothing that it is made of changed.
func TestCurrent(t *testing.T) {
	eachEngine(t, func(t *testing.T, w *workbench) {
		const tag = "hermesbox-test/current:latest"
		dir := t.TempDir()
		write(t, dir, map[string]string{"f": "one"})
		w.docker.RemoveImage(t, tag)
		want := func(spec image.Spec, reason string) image.Image {
			t.Helper()
			img, ok, said, err := w.engine.Current(t.Context(), spec)
			if err != nil || ok != (reason == "") || !strings.Contains(said, reason) {
				t.Errorf("current %t because %q, %v; want %q", ok, said, err, reason)
			}
			return img
		}
		spec := w.spec(t, dir, copyAll, tag)
		want(spec, "has no image")
		built := w.mustBuild(t, spec)
		if img := want(spec, ""); img.ID != built.ID || img.Digest != "" {
			t.Errorf("current is %+v, built was %+v", img, built)
		}
		args := spec
		args.BuildArgs = map[string]string{"A": "1"}
		want(args, "the recipe changed")
		tags := spec
		tags.Tags = []string{tag, "hermesbox-test/current:other"}
		want(tags, "is not tagged hermesbox-test/current:other")
		if err := os.WriteFile(filepath.Join(dir, "f"), []byte("two"), 0o644); err != nil {
			t.Fatal(err)
		}
		want(w.spec(t, dir, copyAll, tag), "the context changed")
	})
}

// TestCurrentForeign: an image without our labels is nobody's build.
func TestCurrentForeign(t *testing.T) {
	eachEngine(t, func(t *testing.T, w *workbench) {
		w.docker.NeedBase(t)
		dir := t.TempDir()
		write(t, dir, map[string]string{"f": "one"})
		_, ok, reason, err := w.engine.Current(t.Context(), w.spec(t, dir, copyAll, dockertest.BaseImage))
		if ok || err != nil || !strings.Contains(reason, "was not built by hermesbox") {
			t.Errorf("current %t because %q, %v", ok, reason, err)
		}
	})
}

// TestCurrentPushed knows the digest that the registry serves, while it does.
func TestCurrentPushed(t *testing.T) {
	loopbackEngine(t, func(t *testing.T, w *workbench) {
		tag := dockertest.Registry(t) + "/team/current:latest"
		dir := t.TempDir()
		write(t, dir, map[string]string{"f": "pushed"})
		w.docker.RemoveImage(t, tag)
		spec := w.spec(t, dir, copyAll, tag)
		pushed, err := w.engine.Push(t.Context(), w.mustBuild(t, spec), spec.Tags, nil)
		if err != nil {
			t.Fatal(err)
		}
		img, ok, reason, err := w.engine.Current(t.Context(), spec)
		if err != nil || !ok || img.Ref() != pushed.Ref() {
			t.Errorf("current is %s (%t, %q, %v), pushed was %s", img.Ref(), ok, reason, err, pushed.Ref())
		}
		if img, err := w.engine.Pushed(t.Context(), img.ID); err != nil || img.Digest != "" {
			t.Errorf("by its ID: %+v, %v", img, err)
		}
	})
}
