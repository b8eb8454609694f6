package image

import (
	"context"
	"errors"
	"fmt"

	"github.com/distribution/reference"
)

// Current looks for what a build of the spec would make: the image that the
// Engine, or for a buildkitd the registry, has under the spec's first tag, if its labels name the same context
// and recipe. The reason says why it is not that; nothing is changed. The
// image's digest is set where a registry has it.
func (e *Engine) Current(ctx context.Context, spec Spec) (img Image, ok bool, reason string, err error) {
	recipe, err := spec.recipeDigest()
	if err != nil {
		return Image{}, false, "", err
	}
	tag := spec.Tags[0]
	img, err = e.named(ctx, tag, spec.Platform)
	if errors.Is(err, ErrNoImage) {
		return Image{}, false, "the " + e.keeper() + " has no image " + tag, nil
	}
	if err != nil {
		return Image{}, false, "", err
	}
	switch {
	case img.Labels[LabelContext] == "":
		return img, false, tag + " was not built by hermesbox", nil
	case img.Labels[LabelContext] != spec.Tree.Digest():
		return img, false, "the context changed", nil
	case img.Labels[LabelRecipe] != recipe:
		return img, false, "the recipe changed: Dockerfile, base, arguments or what is sent beside the source", nil
	}
	for _, other := range spec.Tags[1:] {
		also, err := e.named(ctx, other, spec.Platform)
		switch {
		case err != nil && !errors.Is(err, ErrNoImage):
			return img, false, "", err
		case also.ID != img.ID, also.Digest != img.Digest:
			return img, false, "the image is not tagged " + other, nil
		}
	}
	if e.bare {
		return img, true, "", nil
	}
	img, err = e.Pushed(ctx, tag)
	if err != nil {
		return img, false, "", err
	}
	if img.Digest != "" && !e.serves(ctx, img.Ref()) {
		img.Name, img.Digest = tag, "" // deleted in the registry since
	}
	return img, true, "", nil
}

// named is the image of a name, for whoever keeps the images. An Engine's has that
// name, and its digest is not asked for.
func (e *Engine) named(ctx context.Context, tag, platform string) (Image, error) {
	if e.bare {
		return e.served(ctx, tag, platform)
	}
	found, err := e.inspect(ctx, tag)
	img := imageOf(tag, found)
	img.Name = tag
	return img, err
}

// keeper is who keeps the images.
func (e *Engine) keeper() string {
	if e.bare {
		return "registry"
	}
	return "Engine"
}

// Pushed is Inspect, with the digest under which a registry has the image of
// this name, where one has it.
func (e *Engine) Pushed(ctx context.Context, ref string) (Image, error) {
	if e.bare {
		return e.served(ctx, ref, "")
	}
	found, err := e.inspect(ctx, ref)
	if err != nil {
		return Image{}, err
	}
	img := imageOf(ref, found)
	// An image ID is no name, and has no registry.
	if named, err := reference.ParseDockerRef(ref); err == nil {
		img.Digest = e.servedDigest(ctx, found, named)
		if img.Digest != "" {
			img.Name = reference.FamiliarName(named)
		}
	}
	return img, nil
}

// serves asks a registry whether it has a reference with a digest.
func (e *Engine) serves(ctx context.Context, ref string) bool {
	_, err := e.Resolve(ctx, ref)
	return err == nil
}

// Resolve asks a registry, through the Engine, for the digest that a reference
// stands for now.
func (e *Engine) Resolve(ctx context.Context, ref string) (string, error) {
	named, err := reference.ParseDockerRef(ref)
	if err != nil {
		return "", fmt.Errorf("%w: %q is no image name: %w", ErrSpec, ref, err)
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	return e.registryDigest(ctx, named, "")
}

// PeekBase is ResolveBase without recording the result.
func (e *Engine) PeekBase(ctx context.Context, name, platform string, lock *Lock, update bool) (Base, error) {
	return e.ResolveBase(ctx, name, platform, lock.copy(), update)
}

// recipeDigest is the digest that a build of the spec would label its image with.
func (s Spec) recipeDigest() (string, error) {
	extras, err := makeExtras(s.Tree, s.WebUIPackage)
	if err != nil {
		return "", err
	}
	return recipeOf(s, extras).digest()
}
