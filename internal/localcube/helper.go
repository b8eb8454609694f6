package localcube

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/mount"
	"github.com/docker/docker/client"
	"github.com/docker/docker/pkg/stdcopy"

	"github.com/hermesbox/hermesbox/internal/localcube/cluster"
)

// Helper works on the shared root as root does on a cluster's node: in a
// container that sees it at /data/shared, and nothing else of the machine. So
// the caller need not be root, nor own what sandboxes wrote there.
type Helper struct {
	Docker     *client.Client
	Image      string // any image on the Engine that has what is to be run
	SharedRoot string // the user's directory
}

// Run runs a command to its end and returns its exit code. stdin may be nil;
// so may an output that nobody wants. The container is gone when Run returns;
// where this process is killed it goes with its command, or with Down.
func (h Helper) Run(ctx context.Context, argv []string, stdin io.Reader, stdout, stderr io.Writer) (code int, err error) {
	if len(argv) == 0 {
		return 0, errors.New("running a helper: no command")
	}
	made, err := h.Docker.ContainerCreate(ctx,
		&container.Config{
			Image: h.Image, Entrypoint: argv[:1], Cmd: argv[1:], User: "0:0", WorkingDir: "/", NetworkDisabled: true, OpenStdin: stdin != nil, StdinOnce: true,
			AttachStdin: stdin != nil, AttachStdout: true, AttachStderr: true, Labels: cluster.HelperLabels(),
		},
		&container.HostConfig{
			NetworkMode: "none", AutoRemove: true, Mounts: []mount.Mount{{Type: mount.TypeBind, Source: h.SharedRoot, Target: cluster.SharedPrefix}},
		}, nil, nil, "")
	if err != nil {
		return 0, fmt.Errorf("making a helper of image %s: %w", h.Image, err)
	}
	defer func() { err = errors.Join(err, h.remove(ctx, made.ID)) }()
	return h.follow(ctx, made.ID, stdin, or(stdout), or(stderr))
}

func or(w io.Writer) io.Writer {
	if w == nil {
		return io.Discard
	}
	return w
}

// follow starts the container, feeds it, and waits for its end.
func (h Helper) follow(ctx context.Context, id string, stdin io.Reader, stdout, stderr io.Writer) (int, error) {
	stream, err := h.Docker.ContainerAttach(ctx, id, container.AttachOptions{Stream: true, Stdin: stdin != nil, Stdout: true, Stderr: true})
	if err != nil {
		return 0, fmt.Errorf("attaching to the helper: %w", err)
	}
	defer stream.Close()
	defer context.AfterFunc(ctx, stream.Close)() // reading does not look at ctx
	done, failed := h.Docker.ContainerWait(ctx, id, container.WaitConditionNextExit)
	if err := h.Docker.ContainerStart(ctx, id, container.StartOptions{}); err != nil {
		return 0, fmt.Errorf("starting the helper: %w", err)
	}
	var feeding sync.WaitGroup
	feeding.Go(func() { _ = feed(stream.Conn, stdin, stream.CloseWrite) }) // a command need not read its input
	_, err = stdcopy.StdCopy(stdout, stderr, stream.Reader)
	stream.Close()
	feeding.Wait()
	if err = errors.Join(err, ctx.Err()); err != nil {
		return 0, fmt.Errorf("reading the helper's output: %w", err)
	}
	select {
	case end := <-done:
		return int(end.StatusCode), nil
	case err := <-failed:
		return 0, fmt.Errorf("waiting for the helper: %w", err)
	}
}

func feed(to io.Writer, stdin io.Reader, end func() error) error {
	if stdin == nil {
		return nil
	}
	_, err := io.Copy(to, stdin)
	return errors.Join(err, end())
}

func (h Helper) remove(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer cancel()
	err := h.Docker.ContainerRemove(ctx, id, container.RemoveOptions{Force: true, RemoveVolumes: true})
	if err == nil || errdefs.IsNotFound(err) {
		return nil
	}
	if !errdefs.IsConflict(err) { // not: the Engine is at it
		return fmt.Errorf("removing the helper: %w", err)
	}
	done, failed := h.Docker.ContainerWait(ctx, id, container.WaitConditionRemoved)
	select {
	case <-done:
		return nil
	case err := <-failed:
		if errdefs.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("waiting until the helper is gone: %w", err)
	}
}
