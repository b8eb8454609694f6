package dockertest

import (
	"context"
	"strings"
	"testing"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/google/go-cmp/cmp"
)

func TestContainer(t *testing.T) {
	t.Parallel()
	Each(t, func(t *testing.T, e Engine) {
		e.NeedBase(t)
		var id string
		t.Run("run", func(t *testing.T) {
			c := e.Start(t, container.Config{Image: BaseImage, Entrypoint: []string{"sleep", "60"}}, container.HostConfig{})
			id = c.ID
			got := c.Exec(t, "sh", "-c", "echo out; echo err >&2; exit 3")
			if diff := cmp.Diff(Result{Stdout: "out\n", Stderr: "err\n", Code: 3}, got); diff != "" {
				t.Errorf("Exec (-want +got):\n%s", diff)
			}
			if got := c.Exec(t, "nonexistent"); got.Code == 0 {
				t.Errorf("Exec of a missing program: %+v", got)
			}
		})
		if _, err := e.Client.ContainerInspect(t.Context(), id); !errdefs.IsNotFound(err) {
			t.Errorf("the container outlived its test: %v", err)
		}
	})
}

func TestContainerEnds(t *testing.T) {
	t.Parallel()
	Each(t, func(t *testing.T, e Engine) {
		e.NeedBase(t)
		c := e.Start(t, container.Config{Image: BaseImage, Entrypoint: []string{"sh", "-c", "echo said; exit 4"}}, container.HostConfig{})
		if got := c.Wait(t); got != 4 {
			t.Errorf("Wait: %d, want 4", got)
		}
		if got := c.Log(t); got != "said\n" {
			t.Errorf("Log: %q", got)
		}
		if _, err := c.exec(t.Context(), []string{"true"}); err == nil {
			t.Error("a command ran in a container that has ended")
		}
		gone := &Container{ID: "nonexistent", engine: e}
		if _, err := gone.log(t.Context()); err == nil {
			t.Error("a container that never was has a log")
		}
	})
}

func TestRemoveImage(t *testing.T) {
	t.Parallel()
	Each(t, func(t *testing.T, e Engine) {
		e.NeedBase(t)
		ref := "hermesbox-dockertest/" + strings.ToLower(strings.ReplaceAll(t.Name(), "/", "-")) + ":remove"
		t.Run("tag", func(t *testing.T) {
			e.RemoveImage(t, ref)
			if err := e.Client.ImageTag(t.Context(), BaseImage, ref); err != nil {
				t.Fatal(err)
			}
		})
		if _, err := e.Client.ImageInspect(t.Context(), ref); !errdefs.IsNotFound(err) {
			t.Errorf("the image outlived its test: %v", err)
		}
		if _, err := e.Client.ImageInspect(context.WithoutCancel(t.Context()), BaseImage); err != nil {
			t.Errorf("removing a tag removed the image: %v", err)
		}
	})
}
