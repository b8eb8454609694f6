package image_test

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"

	dockerimage "github.com/docker/docker/api/types/image"
	"github.com/docker/docker/api/types/registry"

	"github.com/hermesbox/hermesbox/image"
	"github.com/hermesbox/hermesbox/internal/dockertest"
)

const fromBase = "ARG BASE\nFROM ${BASE}\nCOPY . /src\nCMD [\"/none\"]\n"

// publish builds a small base with this content and pushes it; it returns the
// digest under which the registry serves it.
func (w *workbench) publish(t *testing.T, name, content string) string {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, map[string]string{"base": content})
	w.docker.RemoveImage(t, name)
	w.mustBuild(t, w.spec(t, dir, copyAll, name))
	auth, err := registry.EncodeAuthConfig(registry.AuthConfig{})
	if err != nil {
		t.Fatal(err)
	}
	stream, err := w.docker.Client.ImagePush(t.Context(), name, dockerimage.PushOptions{RegistryAuth: auth})
	if err != nil {
		t.Fatalf("pushing: %v", err)
	}
	said, err := io.ReadAll(stream)
	if err := errors.Join(err, stream.Close()); err != nil || strings.Contains(string(said), `"error"`) {
		t.Fatalf("pushing: %v\n%s", err, said)
	}
	served, err := w.docker.Client.DistributionInspect(t.Context(), name, auth)
	if err != nil {
		t.Fatal(err)
	}
	return served.Descriptor.Digest.String()
}

// loopbackEngine is the Engine that shares this machine's loopback with the registry.
func loopbackEngine(t *testing.T, test func(*testing.T, *workbench)) {
	eachEngine(t, func(t *testing.T, w *workbench) {
		if w.docker.Name == "today" {
			t.Skip("today's Engine has a network namespace, and so a loopback, of its own")
		}
		test(t, w)
	})
}

func TestBaseFromRegistryIsLocked(t *testing.T) {
	loopbackEngine(t, func(t *testing.T, w *workbench) {
		name := dockertest.Registry(t) + "/team/base:latest"
		first := w.publish(t, name, "first")
		lockFile := filepath.Join(t.TempDir(), image.LockName)
		resolve := func(update bool) image.Base {
			t.Helper()
			lock, err := image.ReadLock(lockFile)
			if err != nil {
				t.Fatal(err)
			}
			base, err := w.engine.ResolveBase(t.Context(), name, "linux/amd64", lock, update)
			if err != nil {
				t.Fatalf("ResolveBase: %v", err)
			}
			return base
		}
		want := func(base image.Base, digest string) {
			t.Helper()
			if base.Local || base.Digest != digest || !strings.HasSuffix(base.Ref, "@"+digest) {
				t.Errorf("base %+v, want %s", base, digest)
			}
		}
		want(resolve(false), first)
		second := w.publish(t, name, "second")
		want(resolve(false), first)
		want(resolve(true), second)
		want(resolve(false), second)

		dir := t.TempDir()
		write(t, dir, map[string]string{"own": "o"})
		spec := w.spec(t, dir, fromBase, w.tag(t))
		spec.Base = resolve(false)
		img := w.mustBuild(t, spec)
		if got := w.contents(t, img.ID)["base"]; got != "second" {
			t.Errorf("built on the base with %q", got)
		}
		if got := img.Labels[image.LabelBaseDigest]; got != second {
			t.Errorf("label %s is %q, want %q", image.LabelBaseDigest, got, second)
		}
	})
}

func TestBaseOnlyInTheEngine(t *testing.T) {
	eachEngine(t, func(t *testing.T, w *workbench) {
		name := w.tag(t)
		dir := t.TempDir()
		write(t, dir, map[string]string{"base": "one"})
		img := w.mustBuild(t, w.spec(t, dir, copyAll, name))
		lock, err := image.ReadLock(filepath.Join(t.TempDir(), image.LockName))
		if err != nil {
			t.Fatal(err)
		}
		resolve := func(ctx context.Context, platform string, update bool) (image.Base, error) {
			return w.engine.ResolveBase(ctx, name, platform, lock, update)
		}
		platform := "linux/" + w.engine.Info.Arch
		base, err := resolve(t.Context(), platform, false)
		if err != nil || !base.Local || base.Digest != img.ID {
			t.Fatalf("base %+v (%v), want %s", base, err, img.ID)
		}
		write(t, dir, map[string]string{"base": "two"})
		moved := w.mustBuild(t, w.spec(t, dir, copyAll, name))
		if _, err := resolve(t.Context(), platform, false); !errors.Is(err, image.ErrBaseMoved) {
			t.Errorf("after the name moved: %v, want ErrBaseMoved", err)
		}
		if base, err := resolve(t.Context(), platform, true); err != nil || base.Digest != moved.ID {
			t.Errorf("with update: %+v (%v), want %s", base, err, moved.ID)
		}
		if _, err := resolve(t.Context(), "linux/riscv64", false); !errors.Is(err, image.ErrPlatform) {
			t.Errorf("for another platform: %v, want ErrPlatform", err)
		}
	})
}

func TestBaseThatDoesNotExist(t *testing.T) {
	loopbackEngine(t, func(t *testing.T, w *workbench) {
		lock, err := image.ReadLock(filepath.Join(t.TempDir(), image.LockName))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{dockertest.Registry(t) + "/no/such:tag", "127.0.0.1:1/unreachable", "NOT A NAME"} {
			if _, err := w.engine.ResolveBase(t.Context(), name, "linux/amd64", lock, false); !errors.Is(err, image.ErrNoBase) || !strings.Contains(err.Error(), name) {
				t.Errorf("%s: %v, want ErrNoBase with the name", name, err)
			}
		}
		if len(lock.Bases) != 0 {
			t.Errorf("recorded: %v", lock.Bases)
		}
	})
}
