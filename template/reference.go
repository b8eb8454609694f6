package template

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/distribution/reference"

	"github.com/hermesbox/hermesbox/image"
)

// ErrUnreachableImage means that Cube has no way to an image.
var ErrUnreachableImage = errors.New("the image is out of reach for Cube")

var errUpperCase = errors.New("repository name must be lowercase")

// Place is where the Engine that has the image stands, as Cube sees it.
type Place int

// The places.
const (
	Elsewhere Place = iota // Cube pulls from a registry
	LocalCube              // the local Cube runs on that Engine
	OwnEngine              // it is CubeMaster's own Engine
)

var (
	imageID   = regexp.MustCompile(`^(sha256:)?[0-9a-f]{64}$`)
	contextID = regexp.MustCompile(`:ctx-[0-9a-f]{12}$`)
)

// checkReference refuses what Docker would, but for the name of a registry
// that is spoken to without TLS, which Cube takes since 0.7.0. An image ID is
// a reference too.
func checkReference(ref string) error {
	if imageID.MatchString(ref) {
		return nil
	}
	named, err := reference.ParseNormalizedNamed(strings.TrimPrefix(ref, "http://"))
	if err != nil {
		return err
	}
	// Old Engines take a first word without dot or port for part of the name, new ones for a registry.
	if host := reference.Domain(named); !strings.ContainsAny(host, ".:") && strings.ToLower(host) != host {
		return errUpperCase
	}
	return nil
}

// Pinned tells whether a reference stands for one image for ever.
func Pinned(ref string) bool {
	return imageID.MatchString(ref) || strings.Contains(ref, "@sha256:") || contextID.MatchString(ref)
}

// Reference is how Cube gets at an image that was built: by its digest in a
// registry, by its ID on the local Cube, or under ContextTag in CubeMaster's
// own Engine. The error wraps ErrUnreachableImage.
func Reference(img image.Image, place Place) (string, error) {
	switch {
	case place == LocalCube:
		return img.ID, nil
	case img.Digest != "":
		return img.Ref(), nil
	case place == OwnEngine:
		return ContextTag(img)
	}
	return "", fmt.Errorf("%w: %s was not pushed to a registry", ErrUnreachableImage, img.ID)
}

// ContextTag is name:ctx-<12 hex>, where the digits stand for the context and
// the recipe that the image was built from.
func ContextTag(img image.Image) (string, error) {
	named, err := reference.ParseNormalizedNamed(img.Name)
	if err != nil {
		return "", fmt.Errorf("naming the image %q: %w", img.Name, err)
	}
	context, recipe := img.Labels[image.LabelContext], img.Labels[image.LabelRecipe]
	if context == "" || recipe == "" {
		return "", fmt.Errorf("%w: %s has no label %s or %s, so that a tag could not tell it from the next", ErrUnreachableImage, img.Name, image.LabelContext, image.LabelRecipe)
	}
	sum := sha256.Sum256([]byte(context + "\n" + recipe))
	return reference.FamiliarName(named) + ":ctx-" + hex.EncodeToString(sum[:])[:12], nil
}

// IsImageID tells whether a reference is an Engine's name for an image, which
// no registry knows.
func IsImageID(ref string) bool { return imageID.MatchString(ref) }
