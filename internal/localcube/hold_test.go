package localcube_test

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/image"

	"github.com/hermesbox/hermesbox/internal/dockertest"
	"github.com/hermesbox/hermesbox/internal/localcube"
)

// TestImageStays rebuilds and removes the image of a template, which goes on
// with the one that it was made of until it is deleted itself.
func TestImageStays(t *testing.T) {
	t.Parallel()
	engine := dockertest.Default(t)
	ref := "hermesbox-test/held:1"
	importApp(t, engine, ref, `ENTRYPOINT ["/entry.sh"]`, prunable, "ENV BUILD=zeroth")
	zeroth := imageID(t, engine, ref)
	importApp(t, engine, ref, `ENTRYPOINT ["/entry.sh"]`, prunable)
	opts := localcube.Options{Docker: engine.Client, StateDir: tempDir(t)}
	c := &cube{t: t, opts: opts, st: serve(t, opts)}
	instance := instanceOf(t, opts.StateDir)
	c.tpl = appTemplate(t, c.st, ref)
	first := imageID(t, engine, ref)

	importApp(t, engine, ref, `ENTRYPOINT ["/entry.sh"]`, prunable, "ENV BUILD=second")
	second := imageID(t, engine, ref)
	if first == second {
		t.Fatal("the image did not change")
	}
	prune(t, engine)
	if _, err := engine.Client.ImageInspect(t.Context(), zeroth); !errdefs.IsNotFound(err) {
		t.Errorf("an image that no template held was not pruned: %v", err)
	}
	id, _ := c.make("")
	if got := sandboxImage(t, engine, id); got != first {
		t.Errorf("the sandbox is of image %s, want %s", got, first)
	}
	younger := appTemplate(t, c.st, ref)
	if _, err := engine.Client.ImageRemove(t.Context(), ref, image.RemoveOptions{}); err != nil {
		t.Fatal(err)
	}
	prune(t, engine)
	if got := len(held(t, engine, instance)); got != 2 {
		t.Errorf("%d images are held for 2 templates", got)
	}
	for _, path := range []string{"/sandboxes/" + id, "/templates/" + c.tpl} {
		if got := c.api(http.MethodDelete, path, ""); got.status != http.StatusNoContent {
			t.Fatalf("DELETE %s: %d %s", path, got.status, got.body)
		}
	}
	if _, err := engine.Client.ImageInspect(t.Context(), first); !errdefs.IsNotFound(err) {
		t.Errorf("the image that only the deleted template held: %v", err)
	}
	if got := held(t, engine, instance); len(got) != 1 || !strings.HasSuffix(got[0], ":"+younger) {
		t.Errorf("held after the older template was deleted: %q", got)
	}
}

// TestImageKept is about images that are the user's: they stay, whatever they are called.
func TestImageKept(t *testing.T) {
	t.Parallel()
	engine := dockertest.Default(t)
	ref := "hermesbox-test/kept:1"
	importApp(t, engine, ref, `ENTRYPOINT ["/entry.sh"]`)
	named := imageID(t, engine, ref)
	moved := "hermesbox-test/moved:1"
	importApp(t, engine, moved, `ENTRYPOINT ["/entry.sh"]`, "ENV BUILD=nameless")
	nameless := imageID(t, engine, moved)
	importApp(t, engine, moved, `ENTRYPOINT ["/entry.sh"]`, "ENV BUILD=named")
	removeImage(t, engine, nameless)
	opts := localcube.Options{Docker: engine.Client, StateDir: tempDir(t)}
	c := &cube{t: t, opts: opts, st: serve(t, opts)}
	for _, want := range []string{named, nameless} {
		tpl := appTemplate(t, c.st, want)
		if got := c.api(http.MethodDelete, "/templates/"+tpl, ""); got.status != http.StatusNoContent {
			t.Fatalf("deleting: %d %s", got.status, got.body)
		}
		if _, err := engine.Client.ImageInspect(t.Context(), want); err != nil {
			t.Errorf("the user's image went with the template: %v", err)
		}
	}
	if got := held(t, engine, instanceOf(t, opts.StateDir)); len(got) > 0 {
		t.Errorf("held without a template: %q", got)
	}
}

// TestImageSettled has names of images that fit no template, and a template whose name is gone.
func TestImageSettled(t *testing.T) {
	t.Parallel()
	engine := dockertest.Default(t)
	opts := background(t, engine)
	ref := "hermesbox-test/settled:1"
	importApp(t, engine, ref, `ENTRYPOINT ["/entry.sh"]`)
	st := ensure(t, opts)
	instance := instanceOf(t, opts.StateDir)
	tpl := appTemplate(t, st, ref)
	want := held(t, engine, instance)
	if len(want) != 1 || !strings.HasSuffix(want[0], ":"+tpl) {
		t.Fatalf("held: %q", want)
	}
	kill(t, st.PID)
	if _, err := engine.Client.ImageRemove(t.Context(), want[0], image.RemoveOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := engine.Client.ImageTag(t.Context(), ref, "hermesbox-local/"+instance+":tpl-killed"); err != nil {
		t.Fatal(err)
	}
	st = ensure(t, opts)
	if got := held(t, engine, instance); len(got) != 1 || got[0] != want[0] {
		t.Errorf("held after a kill: %q, want %q", got, want)
	}
	id := create(t, st, tpl)
	kill(t, st.PID)
	if err := os.Remove(filepath.Join(opts.StateDir, "state.json")); err != nil {
		t.Fatal(err)
	}
	st = ensure(t, opts)
	if got := held(t, engine, instance); len(got) != 1 || got[0] != want[0] {
		t.Errorf("held for a sandbox whose template was lost: %q, want %q", got, want)
	}
	remove(t, st, id)
}

// prunable marks what prune may remove.
const prunable = "LABEL hermesbox.test.prune=held"

// prune removes the dangling images of this test, as docker image prune would remove all.
func prune(t *testing.T, engine dockertest.Engine) {
	t.Helper()
	if _, err := engine.Client.ImagesPrune(t.Context(), filters.NewArgs(filters.Arg("dangling", "true"), filters.Arg("label", "hermesbox.test.prune=held"))); err != nil {
		t.Fatal(err)
	}
}

// removeImage removes an image when the test ends.
func removeImage(t *testing.T, engine dockertest.Engine, id string) {
	t.Helper()
	t.Cleanup(func() {
		_, err := engine.Client.ImageRemove(context.WithoutCancel(t.Context()), id, image.RemoveOptions{Force: true})
		if err != nil && !errdefs.IsNotFound(err) {
			t.Errorf("removing image %s: %v", id, err)
		}
	})
}

func imageID(t *testing.T, engine dockertest.Engine, ref string) string {
	t.Helper()
	found, err := engine.Client.ImageInspect(t.Context(), ref)
	if err != nil {
		t.Fatal(err)
	}
	return found.ID
}

func sandboxImage(t *testing.T, engine dockertest.Engine, id string) string {
	t.Helper()
	found, err := engine.Client.ContainerInspect(t.Context(), "hermesbox-"+id)
	if err != nil {
		t.Fatal(err)
	}
	return found.Image
}

// held lists the names of images that a local Cube gave.
func held(t *testing.T, engine dockertest.Engine, instance string) []string {
	t.Helper()
	list, err := engine.Client.ImageList(t.Context(), image.ListOptions{Filters: filters.NewArgs(filters.Arg("reference", "hermesbox-local/"+instance))})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, summary := range list {
		for _, name := range summary.RepoTags {
			if strings.HasPrefix(name, "hermesbox-local/"+instance+":") {
				names = append(names, name)
			}
		}
	}
	return names
}
