package main

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/client"

	"github.com/hermesbox/hermesbox/internal/cube"
)

// world is a local Cube of this run's own, in a process of its own.
type world struct {
	docker  *client.Client
	program string
	dir     string
	api     *cube.Client
	proxy   string // host:port
	serving *exec.Cmd
	images  []string // to be removed
}

// worldStatus is what local status tells.
type worldStatus struct {
	Running    bool   `json:"running"`
	APIURL     string `json:"api_url"`
	MasterAddr string `json:"master_addr"`
	Proxy      struct {
		IP   string `json:"ip"`
		Port int    `json:"port"`
	} `json:"proxy"`
}

// openWorld starts a local Cube. Close it.
func openWorld(ctx context.Context, program string) (*world, error) {
	docker, err := client.NewClientWithOpts(client.FromEnv, client.WithAPIVersionNegotiation())
	if err != nil {
		return nil, fmt.Errorf("opening Docker: %w", err)
	}
	dir, err := os.MkdirTemp("", "hermesbox-bench-cube-")
	if err != nil {
		return nil, errors.Join(fmt.Errorf("making a state directory: %w", err), docker.Close())
	}
	w := &world{docker: docker, program: program, dir: dir}
	if err := w.start(ctx); err != nil {
		return nil, errors.Join(err, w.close(ctx))
	}
	return w, nil
}

// project makes a directory to run up in, with a recipe.
func (w *world) project(dockerfile string) (dir, recipe string, err error) {
	dir = filepath.Join(w.dir, "work")
	if err := os.Mkdir(dir, 0o755); err != nil {
		return "", "", fmt.Errorf("making a directory: %w", err)
	}
	recipe = filepath.Join(dir, "Dockerfile")
	if err := os.WriteFile(recipe, []byte(dockerfile), 0o644); err != nil {
		return "", "", fmt.Errorf("writing the recipe: %w", err)
	}
	return dir, recipe, nil
}

func (w *world) start(ctx context.Context) error {
	shared := filepath.Join(w.dir, "shared")
	if err := os.Mkdir(shared, 0o755); err != nil {
		return fmt.Errorf("making the shared root: %w", err)
	}
	const free = "127.0.0.1:0"
	w.serving = exec.CommandContext(ctx, w.program, "local", "serve", "--state-dir", w.state(), "--shared-root", shared, "--api", free, "--master", free, "--proxy", free)
	if err := w.serving.Start(); err != nil {
		w.serving = nil
		return fmt.Errorf("starting the local Cube: %w", err)
	}
	var st worldStatus
	for end := time.Now().Add(time.Minute); !st.Running; time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			return errors.New("starting the local Cube: it does not answer")
		}
		text, err := exec.CommandContext(ctx, w.program, "local", "status", "--state-dir", w.state(), "--output", "json").Output()
		if err != nil {
			return fmt.Errorf("asking the local Cube: %w", err)
		}
		if err := json.Unmarshal(text, &st); err != nil {
			return fmt.Errorf("reading the local Cube's status: %w", err)
		}
	}
	w.proxy = net.JoinHostPort(st.Proxy.IP, strconv.Itoa(st.Proxy.Port))
	var err error
	w.api, err = cube.New(cube.Options{APIURL: st.APIURL, MasterAddr: st.MasterAddr})
	return err
}

// state is the directory that commands find with XDG_STATE_HOME set to w.dir.
func (w *world) state() string { return filepath.Join(w.dir, "hermesbox", "local") }

// close takes the local Cube down with all that it made.
func (w *world) close(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	var errs []error
	if w.api != nil {
		w.api.Close()
	}
	if w.serving != nil {
		errs = append(errs, exec.CommandContext(ctx, w.program, "local", "down", "--state-dir", w.state()).Run(), w.serving.Wait())
	}
	for _, ref := range w.images {
		_, err := w.docker.ImageRemove(ctx, ref, image.RemoveOptions{PruneChildren: true})
		errs = append(errs, err)
	}
	return errors.Join(append(errs, w.docker.Close(), os.RemoveAll(w.dir))...)
}

// place is a port of a sandbox, reached in different ways.
type place struct {
	address   string // the container's own
	published string // on loopback
	host      string // the Host header for the proxy
}

// sandbox makes a sandbox of an image, and tells where a port of it is.
func (w *world) sandbox(ctx context.Context, ref string, port int) (place, error) {
	job, err := w.api.SubmitTemplate(ctx, cube.TemplateRequest{
		Image: ref, WritableLayerSize: "1Gi", ExposedPorts: []int{port}, Probe: &cube.Probe{Port: port, Path: "/health"},
	})
	for err == nil && !job.Done() {
		time.Sleep(100 * time.Millisecond)
		job, err = w.api.GetJob(ctx, job.TemplateID, job.ID)
	}
	if err != nil {
		return place{}, err
	}
	made, err := w.api.CreateSandbox(ctx, cube.NewSandbox{TemplateID: job.TemplateID, Timeout: cube.Never})
	if err != nil {
		return place{}, fmt.Errorf("%s: %w", job.ErrorMessage, err)
	}
	found, err := w.docker.ContainerInspect(ctx, "hermesbox-"+made.ID)
	if err != nil {
		return place{}, fmt.Errorf("looking at the sandbox: %w", err)
	}
	p := place{host: fmt.Sprintf("%d-%s.localhost", port, made.ID)}
	for _, n := range found.NetworkSettings.Networks {
		p.address = net.JoinHostPort(n.IPAddress, strconv.Itoa(port))
	}
	for exposed, bindings := range found.NetworkSettings.Ports {
		if exposed.Int() == port && len(bindings) > 0 {
			p.published = net.JoinHostPort(bindings[0].HostIP, bindings[0].HostPort)
		}
	}
	return p, nil
}

// importSelf makes an image of this program, which then answers on port 9000. The program must be linked statically.
func (w *world) importSelf(ctx context.Context, self, ref string) error {
	text, err := os.ReadFile(self)
	if err != nil {
		return fmt.Errorf("reading this program: %w", err)
	}
	var b bytes.Buffer
	archive := tar.NewWriter(&b)
	err = archive.WriteHeader(&tar.Header{Name: "bench", Mode: 0o755, Size: int64(len(text))})
	if err == nil {
		_, err = archive.Write(text)
	}
	if err := errors.Join(err, archive.Close()); err != nil {
		return fmt.Errorf("packing this program: %w", err)
	}
	stream, err := w.docker.ImageImport(ctx, image.ImportSource{Source: &b, SourceName: "-"}, ref,
		image.ImportOptions{Changes: []string{`ENTRYPOINT ["/bench", "-answer", ":9000"]`}})
	if err != nil {
		return fmt.Errorf("importing %s: %w", ref, err)
	}
	w.images = append(w.images, ref)
	_, err = io.Copy(io.Discard, stream)
	return errors.Join(err, stream.Close())
}
