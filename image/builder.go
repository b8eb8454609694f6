package image

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"

	bkclient "github.com/moby/buildkit/client"
	_ "github.com/moby/buildkit/util/grpcutil/encoding/proto" // names that are not UTF-8 pass only through this codec

	"github.com/hermesbox/hermesbox/internal/redact"
)

// Builder builds images in an Engine, or in a buildkitd, which pushes them too.
type Builder struct {
	Engine   *Engine
	Progress io.Writer // for the builder's progress
	Mode     string    // auto, tty, plain, quiet or rawjson
	Note     func(format string, args ...any)
	Secrets  *redact.Redactor // masks the progress; nil knows none
}

// Build makes the image and tags it; a buildkitd pushes it under its tags, as
// Push does an Engine's. An interrupted build tags nothing and
// returns within two seconds. What was sent is what the tree's digest names,
// or the error says which file is not (a *buildctx.ChangedError, where it changed).
func (b *Builder) Build(ctx context.Context, spec Spec) (Image, error) {
	if err := spec.Check(); err != nil {
		return Image{}, err
	}
	extras, err := makeExtras(spec.Tree, spec.WebUIPackage)
	if err != nil {
		return Image{}, err
	}
	recipeDigest, err := recipeOf(spec, extras).digest()
	if err != nil {
		return Image{}, err
	}
	bk, err := b.Engine.buildkit(ctx)
	if err != nil {
		return Image{}, err
	}
	if err := errors.Join(b.Engine.checkSyntax(spec.Dockerfile), b.checkPlatform(ctx, bk, spec)); err != nil {
		return Image{}, errors.Join(err, bk.Close())
	}
	labels := spec.Origin.labels(spec.Tree.Digest(), recipeDigest, spec.Base)
	solving, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	response, err := b.solve(solving, bk, spec, newSentFS(spec.Tree, extras, cancel), labels)
	if err != nil {
		return Image{}, err
	}
	if b.Engine.bare {
		return b.Engine.pushed(ctx, response, spec)
	}
	id, err := exportedID(response)
	if err != nil {
		return Image{}, err
	}
	return b.tag(ctx, id, spec.Tags)
}

// tag names the image, all tags or, where ctx has ended before, none.
func (b *Builder) tag(ctx context.Context, id string, tags []string) (Image, error) {
	if ctx.Err() != nil {
		return Image{}, context.Cause(ctx)
	}
	ctx = context.WithoutCancel(ctx)
	for _, tag := range tags {
		if err := b.Engine.API.ImageTag(ctx, id, tag); err != nil {
			return Image{}, fmt.Errorf("tagging %s: %w", tag, err)
		}
	}
	img, err := b.Engine.Inspect(ctx, id)
	img.Name = tags[0]
	return img, err
}

func (b *Builder) checkPlatform(ctx context.Context, bk *bkclient.Client, spec Spec) error {
	if b.Engine.Info.native(spec.Platform) {
		return nil
	}
	if err := checkPlatform(ctx, bk, spec.Platform); err != nil {
		return err
	}
	b.Note("the %s runs %s/%s; building for %s by emulation, which is slow", b.Engine.kind(), b.Engine.Info.OS, b.Engine.Info.Arch, spec.Platform)
	return nil
}

// buildkit opens the BuildKit inside the Engine, or the buildkitd.
func (e *Engine) buildkit(ctx context.Context) (*bkclient.Client, error) {
	if e.bare {
		bk, err := bkclient.New(ctx, e.Host)
		if err != nil {
			return nil, fmt.Errorf("%w at %s: %w", ErrNoBuildkitd, e.Host, err)
		}
		return bk, nil
	}
	hijack := func(path string) func(context.Context, string, map[string][]string) (net.Conn, error) {
		return func(ctx context.Context, proto string, meta map[string][]string) (net.Conn, error) {
			return e.API.DialHijack(ctx, path, proto, meta)
		}
	}
	bk, err := bkclient.New(ctx, "",
		bkclient.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return hijack("/grpc")(ctx, "h2c", nil) }),
		bkclient.WithSessionDialer(hijack("/session")),
	)
	if err != nil {
		return nil, fmt.Errorf("connecting to the Engine's BuildKit: %w", err)
	}
	return bk, nil
}
