package cluster

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/filters"
	dimage "github.com/docker/docker/api/types/image"
)

// holdRepository is where the images of our templates have names of ours.
func (c *Cluster) holdRepository() string { return "hermesbox-local/" + c.instance() }

var tagForm = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$`)

// holdName is the name by which a template holds its image. An id that a client
// gave need not be fit for a tag.
func (c *Cluster) holdName(template string) string {
	if !tagForm.MatchString(template) {
		sum := sha256.Sum256([]byte(template))
		template = hex.EncodeToString(sum[:16])
	}
	return c.holdRepository() + ":" + template
}

// hold names an image by its template, so that it stays when its own name moves
// to another one and is not dangling for a prune. An image without any name is
// not held: with a last name that is ours it would go, and it is the user's.
func (c *Cluster) hold(ctx context.Context, template, image string) error {
	found, err := c.docker.ImageInspect(ctx, image)
	if err == nil && len(found.RepoTags)+len(found.RepoDigests) > 0 {
		err = c.docker.ImageTag(ctx, found.ID, c.holdName(template))
	}
	if err != nil {
		return fmt.Errorf("holding image %s: %w", image, err)
	}
	return nil
}

// letGo takes a template's name from its image; one without other names goes.
func (c *Cluster) letGo(ctx context.Context, name string) error {
	_, err := c.docker.ImageRemove(ctx, name, dimage.RemoveOptions{Force: true}) // by force: a container of the user's may use it
	if err != nil && !errdefs.IsNotFound(err) {
		return fmt.Errorf("letting image %s go: %w", name, err)
	}
	return nil
}

// held lists the names of ours that images have.
func (c *Cluster) held(ctx context.Context) (map[string]bool, error) {
	list, err := c.docker.ImageList(ctx, dimage.ListOptions{Filters: filters.NewArgs(filters.Arg("reference", c.holdRepository()))})
	if err != nil {
		return nil, fmt.Errorf("listing the images: %w", err)
	}
	names := map[string]bool{}
	for _, summary := range list {
		for _, name := range summary.RepoTags {
			if strings.HasPrefix(name, c.holdRepository()+":") {
				names[name] = true
			}
		}
	}
	return names, nil
}

// settleHolds makes the names those of the templates: what a killed predecessor
// or somebody else left too many or too few. An image that is gone is not missed
// before a sandbox is made of it.
func (c *Cluster) settleHolds(ctx context.Context) error {
	names, err := c.held(ctx)
	if err != nil {
		return err
	}
	for template, image := range c.images() {
		name := c.holdName(template)
		if names[name] {
			delete(names, name)
		} else if herr := c.hold(ctx, template, image); !errdefs.IsNotFound(herr) {
			err = errors.Join(err, herr)
		}
	}
	for name := range names {
		err = errors.Join(err, c.letGo(ctx, name))
	}
	return err
}

// images are those of the templates, and of sandboxes whose template was lost.
func (c *Cluster) images() map[string]string {
	list := map[string]string{}
	for _, b := range c.all() {
		list[b.spec.Template] = b.spec.Image
	}
	c.store.view(func(s *state) {
		for id, t := range s.Templates {
			if t.ImageID != "" {
				list[id] = t.ImageID
			}
		}
	})
	return list
}

// letAllGo is settleHolds without templates.
func (c *Cluster) letAllGo(ctx context.Context) error {
	names, err := c.held(ctx)
	for name := range names {
		err = errors.Join(err, c.letGo(ctx, name))
	}
	return err
}

// letGoOf takes the name of a template that is gone.
func (c *Cluster) letGoOf(template string) error {
	gone := true
	c.store.view(func(s *state) { gone = s.Templates[template] == nil })
	if !gone {
		return nil
	}
	ctx, cancel := c.detached(c.ctx)
	defer cancel()
	return c.letGo(ctx, c.holdName(template))
}
