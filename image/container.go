package image

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/pkg/stdcopy"
)

const (
	cleanupTimeout = 30 * time.Second
	outputLimit    = 1 << 20 // bytes kept of what a command prints
)

// testContainer is a container that a test made and removes.
type testContainer struct {
	engine *Engine
	id     string
}

// createContainer makes a container with no network but its own loopback; an
// entrypoint of nil keeps the image's own.
func (e *Engine) createContainer(ctx context.Context, imageID string, entrypoint []string) (*testContainer, error) {
	cfg := &container.Config{Image: imageID, Labels: map[string]string{"hermesbox.image-test": "1"}}
	if entrypoint != nil {
		cfg.Entrypoint, cfg.Cmd, cfg.User = entrypoint, []string{}, "root"
	}
	created, err := e.API.ContainerCreate(ctx, cfg, &container.HostConfig{NetworkMode: "none"}, nil, nil, "")
	if err != nil {
		return nil, fmt.Errorf("creating container: %w", err)
	}
	return &testContainer{engine: e, id: created.ID}, nil
}

func (c *testContainer) start(ctx context.Context) error {
	if err := c.engine.API.ContainerStart(ctx, c.id, container.StartOptions{}); err != nil {
		return fmt.Errorf("starting container: %w", err)
	}
	return nil
}

// remove ends the container, also after ctx has ended.
func (c *testContainer) remove(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
	defer cancel()
	return c.engine.API.ContainerRemove(ctx, c.id, container.RemoveOptions{Force: true, RemoveVolumes: true})
}

// running tells whether the container runs, and if not, how it ended.
func (c *testContainer) running(ctx context.Context) (bool, string) {
	found, err := c.engine.API.ContainerInspect(ctx, c.id)
	if err != nil {
		return false, err.Error()
	}
	if found.State.Running {
		return true, ""
	}
	return false, fmt.Sprintf("the container ended with exit code %d: %s", found.State.ExitCode, c.lastLog(ctx))
}

func (c *testContainer) lastLog(ctx context.Context) string {
	logs, err := c.engine.API.ContainerLogs(ctx, c.id, container.LogsOptions{ShowStdout: true, ShowStderr: true, Tail: "5"})
	if err != nil {
		return err.Error()
	}
	var out bytes.Buffer
	_, err = stdcopy.StdCopy(&out, &out, logs)
	return oneLine(out.String(), errors.Join(err, logs.Close()))
}

// command is one run inside a container.
type command struct {
	args  []string
	env   []string
	stdin string
	limit time.Duration
}

// result is what a command left.
type result struct {
	code           int
	stdout, stderr string
}

// exec runs a command as root and waits for it. An error means that it did not
// run to its end.
func (c *testContainer) exec(ctx context.Context, cmd command) (result, error) {
	ctx, cancel := context.WithTimeout(ctx, cmd.limit)
	defer cancel()
	api := c.engine.API
	made, err := api.ContainerExecCreate(ctx, c.id, container.ExecOptions{
		User: "root", Cmd: cmd.args, Env: cmd.env, AttachStdin: cmd.stdin != "", AttachStdout: true, AttachStderr: true,
	})
	if err != nil {
		return result{}, fmt.Errorf("running %s: %w", cmd.args[0], err)
	}
	stream, err := api.ContainerExecAttach(ctx, made.ID, container.ExecAttachOptions{})
	if err != nil {
		return result{}, fmt.Errorf("running %s: %w", cmd.args[0], err)
	}
	defer stream.Close()
	stop := context.AfterFunc(ctx, stream.Close)
	defer stop()
	if cmd.stdin != "" {
		if _, err := io.WriteString(stream.Conn, cmd.stdin); err != nil {
			return result{}, fmt.Errorf("running %s: %w", cmd.args[0], err)
		}
		if err := stream.CloseWrite(); err != nil {
			return result{}, fmt.Errorf("running %s: %w", cmd.args[0], err)
		}
	}
	stdout, stderr := limitedBuffer{}, limitedBuffer{}
	_, err = stdcopy.StdCopy(&stdout, &stderr, stream.Reader)
	if ctx.Err() != nil {
		return result{}, fmt.Errorf("running %s: no end within %s", cmd.args[0], cmd.limit)
	}
	if err != nil {
		return result{}, fmt.Errorf("running %s: %w", cmd.args[0], err)
	}
	ended, err := api.ContainerExecInspect(ctx, made.ID)
	if err != nil {
		return result{}, fmt.Errorf("running %s: %w", cmd.args[0], err)
	}
	return result{ended.ExitCode, stdout.String(), stderr.String()}, nil
}

// limitedBuffer keeps the first outputLimit bytes and takes the rest away.
type limitedBuffer struct{ bytes.Buffer }

func (b *limitedBuffer) Write(p []byte) (int, error) {
	room := max(0, outputLimit-b.Len())
	b.Buffer.Write(p[:min(room, len(p))])
	return len(p), nil
}

// oneLine makes evidence of output: the last lines, joined, and an error if any.
func oneLine(text string, err error) string {
	lines := strings.FieldsFunc(strings.TrimSpace(text), func(r rune) bool { return r == '\n' || r == '\r' })
	lines = lines[max(0, len(lines)-5):]
	if err != nil {
		lines = append(lines, err.Error())
	}
	return strings.Join(lines, " | ")
}
