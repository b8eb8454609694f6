package image

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/containerd/errdefs"
	"github.com/distribution/reference"
	"github.com/docker/docker/api/types"
	dockerimage "github.com/docker/docker/api/types/image"
	"github.com/docker/docker/pkg/jsonmessage"
	"golang.org/x/term"
)

var (
	// ErrPush means that a registry did not take the image, or serves another.
	ErrPush = errors.New("push failed")
	// ErrUnauthorized means that a registry refused the credentials, or their absence.
	ErrUnauthorized = errors.New("not authorized by the registry")
)

// Push sends an image of an Engine under each of its tags to their registries, as the
// Engine's user with the credentials of the Docker configuration. The digest of
// the returned image is the one under which the first registry serves the
// platform manifest, asked for after the push. Out gets the progress; nil for
// none. A push that broke needs no cleaning: the next sends what is missing.
// The error wraps ErrUnauthorized or ErrPush.
func (e *Engine) Push(ctx context.Context, img Image, tags []string, out io.Writer) (Image, error) {
	for i, tag := range tags {
		named, err := reference.ParseDockerRef(tag)
		if err != nil {
			return img, fmt.Errorf("%w: tag %q: %w", ErrSpec, tag, err)
		}
		digest, err := e.pushOne(ctx, named, out)
		if err != nil {
			return img, fmt.Errorf("pushing %s: %w", tag, err)
		}
		if i == 0 {
			img.Name, img.Digest = reference.FamiliarName(named), digest
		}
	}
	return img, nil
}

// pushOne pushes one tag and returns the digest that its registry serves.
func (e *Engine) pushOne(ctx context.Context, named reference.Named, out io.Writer) (string, error) {
	auth, err := e.encodedAuth(reference.Domain(named))
	if err != nil {
		return "", err
	}
	stream, err := e.API.ImagePush(ctx, named.String(), dockerimage.PushOptions{RegistryAuth: auth})
	if err != nil {
		return "", pushError(err)
	}
	pushed, err := readPush(maskMessages(stream, e.Secrets), out)
	if err := errors.Join(err, stream.Close()); err != nil {
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		return "", pushError(err)
	}
	return pushed, e.readBack(ctx, named, pushed, auth)
}

// readPush shows the Engine's progress and takes the digest out of it.
func readPush(stream io.Reader, out io.Writer) (digest string, err error) {
	if out == nil {
		out = io.Discard
	}
	var fd uintptr
	file, isFile := out.(*os.File)
	if isFile {
		fd = file.Fd()
	}
	err = jsonmessage.DisplayJSONMessagesStream(stream, out, fd, isFile && term.IsTerminal(int(fd)), func(message jsonmessage.JSONMessage) {
		var result types.PushResult
		if message.Aux != nil && json.Unmarshal(*message.Aux, &result) == nil && result.Digest != "" {
			digest = result.Digest
		}
	})
	if err == nil && digest == "" {
		err = errors.New("the Engine named no digest")
	}
	return digest, err
}

// readBack asks the registry for what was pushed: it must be one manifest, not
// an index, and have the digest that the Engine named.
func (e *Engine) readBack(ctx context.Context, named reference.Named, digest, auth string) error {
	served, err := e.API.DistributionInspect(ctx, named.String(), auth)
	if err != nil {
		return pushError(fmt.Errorf("reading it back: %w", err))
	}
	switch {
	case served.Descriptor.Digest.String() != digest:
		return fmt.Errorf("%w: the registry serves %s, pushed was %s", ErrPush, served.Descriptor.Digest, digest)
	case isIndex(served.Descriptor.MediaType):
		return fmt.Errorf("%w: the registry serves an index (%s), not the platform manifest", ErrPush, digest)
	}
	return nil
}

// pushError tells a refusal from a failure. In the middle of a push the Engine
// passes a registry's refusal on as text.
func pushError(err error) error {
	text := strings.ToLower(err.Error())
	refused := errdefs.IsUnauthorized(err) || errdefs.IsPermissionDenied(err)
	for _, sign := range []string{"unauthorized", "authentication required", "no basic auth credentials", "denied", "http 401", "http 403", "401 unauthorized", "403 forbidden", "status: 401", "status: 403"} {
		refused = refused || strings.Contains(text, sign)
	}
	if refused {
		return fmt.Errorf("%w: %w", ErrUnauthorized, err)
	}
	return fmt.Errorf("%w: %w", ErrPush, err)
}
