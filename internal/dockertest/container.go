package dockertest

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/pkg/stdcopy"
)

// A Container is running, or has run, on an Engine for one test.
type Container struct {
	ID     string
	engine Engine
}

// A Result is what a command in a container left behind.
type Result struct {
	Stdout, Stderr string
	Code           int
}

// Start creates and starts a container; it is removed, volumes included, when
// the test ends. Its log is shown if the test failed.
func (e Engine) Start(t testing.TB, config container.Config, host container.HostConfig) *Container {
	t.Helper()
	made, err := e.Client.ContainerCreate(t.Context(), &config, &host, nil, nil, "")
	if err != nil {
		t.Fatalf("creating a container of %s on Engine %s: %v", config.Image, e.Name, err)
	}
	c := &Container{ID: made.ID, engine: e}
	t.Cleanup(func() { c.remove(t) })
	if err := e.Client.ContainerStart(t.Context(), c.ID, container.StartOptions{}); err != nil {
		t.Fatalf("starting a container of %s on Engine %s: %v", config.Image, e.Name, err)
	}
	return c
}

// Exec runs a command as root, with the image's environment, and returns what
// it wrote. A command that cannot be run at all fails the test; an exit code
// does not.
func (c *Container) Exec(t testing.TB, argv ...string) Result {
	t.Helper()
	result, err := c.exec(t.Context(), argv)
	if err != nil {
		t.Fatalf("running %s on Engine %s: %v", strings.Join(argv, " "), c.engine.Name, err)
	}
	return result
}

// Wait returns the exit code of the container's own process once it ended.
func (c *Container) Wait(t testing.TB) int {
	t.Helper()
	done, failed := c.engine.Client.ContainerWait(t.Context(), c.ID, container.WaitConditionNotRunning)
	select {
	case end := <-done:
		return int(end.StatusCode)
	case err := <-failed:
		t.Fatalf("waiting for container %s: %v", c.ID, err)
		return -1
	}
}

// Log returns what the container's processes wrote so far, both streams in one.
func (c *Container) Log(t testing.TB) string {
	t.Helper()
	log, err := c.log(t.Context())
	if err != nil {
		t.Fatalf("reading the log of container %s: %v", c.ID, err)
	}
	return log
}

// RemoveImage has an image removed when the test ends, if it is there then.
func (e Engine) RemoveImage(t testing.TB, ref string) {
	t.Helper()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
		defer cancel()
		_, err := e.Client.ImageRemove(ctx, ref, image.RemoveOptions{Force: true, PruneChildren: true})
		if err != nil && !errdefs.IsNotFound(err) {
			t.Errorf("removing image %s on Engine %s: %v", ref, e.Name, err)
		}
	})
}

func (c *Container) exec(ctx context.Context, argv []string) (Result, error) {
	api := c.engine.Client
	made, err := api.ContainerExecCreate(ctx, c.ID, container.ExecOptions{Cmd: argv, AttachStdout: true, AttachStderr: true})
	if err != nil {
		return Result{}, fmt.Errorf("creating the exec: %w", err)
	}
	conn, err := api.ContainerExecAttach(ctx, made.ID, container.ExecAttachOptions{})
	if err != nil {
		return Result{}, fmt.Errorf("starting the exec: %w", err)
	}
	defer conn.Close()
	var stdout, stderr bytes.Buffer
	if _, err := stdcopy.StdCopy(&stdout, &stderr, conn.Reader); err != nil {
		return Result{}, fmt.Errorf("reading its output: %w", err)
	}
	end, err := api.ContainerExecInspect(ctx, made.ID)
	if err != nil {
		return Result{}, fmt.Errorf("reading its exit code: %w", err)
	}
	return Result{Stdout: stdout.String(), Stderr: stderr.String(), Code: end.ExitCode}, nil
}

func (c *Container) log(ctx context.Context) (string, error) {
	r, err := c.engine.Client.ContainerLogs(ctx, c.ID, container.LogsOptions{ShowStdout: true, ShowStderr: true})
	if err != nil {
		return "", fmt.Errorf("opening the log: %w", err)
	}
	defer func() { _ = r.Close() }() // only read from
	var out bytes.Buffer
	if _, err := stdcopy.StdCopy(&out, &out, r); err != nil {
		return "", fmt.Errorf("reading the log: %w", err)
	}
	return out.String(), nil
}

// remove is a cleanup: the test's own context has ended by then.
func (c *Container) remove(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
	defer cancel()
	if t.Failed() {
		log, err := c.log(ctx)
		t.Logf("log of container %.12s (error: %v):\n%s", c.ID, err, log)
	}
	err := c.engine.Client.ContainerRemove(ctx, c.ID, container.RemoveOptions{Force: true, RemoveVolumes: true})
	if err != nil && !errdefs.IsNotFound(err) {
		t.Errorf("removing container %.12s on Engine %s: %v", c.ID, c.engine.Name, err)
	}
}
