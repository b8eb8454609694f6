package image

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/image"
)

// ErrNoImage means that the Engine has no image of this name.
var ErrNoImage = errors.New("no such image")

// Details is what image inspect prints: the image and what its configuration says.
type Details struct {
	Image
	Tags         []string `json:"tags"`
	RepoDigests  []string `json:"repo_digests"`
	Size         int64    `json:"size"` // bytes, as the Engine counts
	Created      string   `json:"created"`
	Entrypoint   []string `json:"entrypoint"`
	Cmd          []string `json:"cmd"`
	User         string   `json:"user"`
	ExposedPorts []string `json:"exposed_ports"`
}

// Inspect describes an image by any name the Engine resolves, short IDs
// included; for a buildkitd by its name in a registry. The error wraps
// ErrNoImage where there is none.
func (e *Engine) Inspect(ctx context.Context, ref string) (Image, error) {
	if e.bare {
		return e.served(ctx, ref, "")
	}
	found, err := e.inspect(ctx, ref)
	if err != nil {
		return Image{}, err
	}
	return imageOf(ref, found), nil
}

// Details describes an Engine's image in full; errors are as for Inspect.
func (e *Engine) Details(ctx context.Context, ref string) (Details, error) {
	found, err := e.inspect(ctx, ref)
	if err != nil {
		return Details{}, err
	}
	d := Details{
		Image: imageOf(ref, found), Tags: found.RepoTags, RepoDigests: found.RepoDigests, Size: found.Size, Created: found.Created,
	}
	if found.Config != nil {
		d.Entrypoint, d.Cmd, d.User = found.Config.Entrypoint, found.Config.Cmd, found.Config.User
		d.ExposedPorts = exposed(found)
	}
	return d, nil
}

func (e *Engine) inspect(ctx context.Context, ref string) (image.InspectResponse, error) {
	found, err := e.API.ImageInspect(ctx, ref)
	switch {
	case errdefs.IsNotFound(err):
		return found, fmt.Errorf("%w: %s", ErrNoImage, ref)
	case errdefs.IsInvalidArgument(err):
		return found, fmt.Errorf("%w: %s: %w", ErrNoImage, ref, err)
	case err != nil:
		return found, fmt.Errorf("inspecting image %s: %w", ref, err)
	}
	return found, nil
}

// heldBy begins the names that local Cubes give to the images of their templates. They are nobody's to use.
const heldBy = "hermesbox-local/"

func imageOf(ref string, found image.InspectResponse) Image {
	img := Image{Name: ref, ID: found.ID, Platform: imagePlatform(found), Labels: map[string]string{}}
	for _, name := range found.RepoTags {
		if !strings.HasPrefix(name, heldBy) {
			img.Name = name
			break
		}
	}
	if found.Config != nil && found.Config.Labels != nil {
		img.Labels = found.Config.Labels
	}
	return img
}
