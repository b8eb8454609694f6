package cluster

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/containerd/errdefs"
	"github.com/distribution/reference"
	dimage "github.com/docker/docker/api/types/image"
	"github.com/docker/docker/api/types/registry"
)

// image is what the Engine knows of a template's image.
type image struct {
	id     string
	digest string // of the manifest where the Engine knows it, else the ID
	info   string // as lists show it: name@digest
	size   int64
	config imageConfig
}

type imageConfig struct {
	Entrypoint, Cmd, Env []string
	WorkingDir           string
}

// pull finds the image on the Engine or pulls it. A local image is used as it is.
func (c *Cluster) pull(ctx context.Context, spec TemplateSpec) (image, error) {
	found, err := c.docker.ImageInspect(ctx, spec.Image)
	if errdefs.IsNotFound(err) {
		if err = c.fetch(ctx, spec); err == nil {
			found, err = c.docker.ImageInspect(ctx, spec.Image)
		}
	}
	if err != nil {
		return image{}, pullError(spec.Image, err)
	}
	return describe(spec.Image, found), nil
}

// pullError words a failure as CubeMaster does, which runs the docker command.
func pullError(ref string, err error) error {
	if _, perr := reference.ParseAnyReference(ref); perr != nil {
		return fault(CodeInternal, "docker pull %s failed: exit status 1: %s", ref, perr)
	}
	text := strings.TrimPrefix(err.Error(), "Error response from daemon: ")
	return fault(CodeInternal, "docker pull %s failed: exit status 1: Error response from daemon: %s", ref, text)
}

func (c *Cluster) fetch(ctx context.Context, spec TemplateSpec) error {
	auth, err := registryAuth(spec)
	if err != nil {
		return err
	}
	stream, err := c.docker.ImagePull(ctx, spec.Image, dimage.PullOptions{RegistryAuth: auth})
	if err != nil {
		return err
	}
	return errors.Join(drain(stream), stream.Close())
}

// drain reads a pull's messages to their end; one of them may be the failure.
func drain(stream io.Reader) error {
	for decoder := json.NewDecoder(stream); ; {
		var message struct{ Error string }
		err := decoder.Decode(&message)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("reading the pull: %w", err)
		case message.Error != "":
			return errors.New(message.Error)
		}
	}
}

func registryAuth(spec TemplateSpec) (string, error) {
	if spec.Username == "" && spec.Password == "" {
		return "", nil
	}
	text, err := json.Marshal(registry.AuthConfig{Username: spec.Username, Password: spec.Password})
	if err != nil {
		return "", fmt.Errorf("writing the credentials: %w", err)
	}
	return base64.URLEncoding.EncodeToString(text), nil
}

func describe(ref string, found dimage.InspectResponse) image {
	out := image{id: found.ID, digest: found.ID, info: ref, size: found.Size}
	for _, d := range found.RepoDigests {
		if name, digest, ok := strings.Cut(d, "@"); ok && strings.HasPrefix(ref, name) {
			out.digest = digest
		}
	}
	if !strings.Contains(ref, "sha256:") {
		out.info = ref + "@" + out.digest
	}
	if found.Config != nil {
		out.config = imageConfig{found.Config.Entrypoint, found.Config.Cmd, found.Config.Env, found.Config.WorkingDir}
	}
	return out
}

// check refuses images that cannot become a root file system.
func (i image) check(spec TemplateSpec) error {
	if len(i.config.Entrypoint) == 0 && len(i.config.Cmd) == 0 {
		return fault(CodeInternal, "docker create %s failed: exit status 1: Error response from daemon: No command specified", spec.Image)
	}
	for _, m := range spec.Overrides.Mounts {
		if m.ContainerPath == "/" {
			return fault(CodeInternal, "container_overrides.volume_mounts must not override / because writable rootfs is template-owned")
		}
	}
	return nil
}
