package image

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/containerd/platforms"
	"github.com/distribution/reference"
	bkclient "github.com/moby/buildkit/client"
	"github.com/moby/buildkit/client/llb/sourceresolver"
	gateway "github.com/moby/buildkit/frontend/gateway/client"
	"github.com/moby/buildkit/session"
	"github.com/moby/buildkit/solver/pb"
	"github.com/opencontainers/go-digest"
	ocispecs "github.com/opencontainers/image-spec/specs-go/v1"
)

// ErrNoBuildkitd means that no buildkitd that can be used answers at the address in use.
var ErrNoBuildkitd = errors.New("no buildkitd answers")

// ConnectBuildkitd opens the buildkitd at tcp://host:port or unix:///path, 0.11
// or later. It keeps no images: what it builds it pushes, and what it is asked
// for by name it asks the registries for, as the user of the Docker
// configuration. The error wraps ErrNoBuildkitd or ErrDockerConfig.
func ConnectBuildkitd(ctx context.Context, address string, getenv func(string) string) (*Engine, error) {
	cfg, err := loadDockerConfig(getenv)
	if err != nil {
		return nil, err
	}
	e := &Engine{Host: address, Config: cfg, bare: true}
	bk, err := e.buildkit(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = bk.Close() }() // it only read
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	workers, err := bk.ListWorkers(ctx)
	if err == nil {
		e.Info, err = infoOf(workers)
	}
	if err != nil {
		return nil, fmt.Errorf("%w at %s: %w", ErrNoBuildkitd, address, err)
	}
	return e, nil
}

// infoOf is what a buildkitd's workers say of it. Before 0.11 they tell no version.
func infoOf(workers []*bkclient.WorkerInfo) (EngineInfo, error) {
	switch {
	case len(workers) == 0 || len(workers[0].Platforms) == 0:
		return EngineInfo{}, errors.New("it has no worker")
	case workers[0].BuildkitVersion.Version == "":
		return EngineInfo{}, errors.New("it is older than 0.11")
	}
	own := workers[0].Platforms[0] // its machine's comes first
	return EngineInfo{Version: workers[0].BuildkitVersion.Version, OS: own.OS, Arch: own.Architecture}, nil
}

// served asks a registry, through the buildkitd, for an image. For an index
// that is its image for the platform, "" for the buildkitd's own, and the
// index's digest. The error wraps ErrNoImage where the registry shows none.
func (e *Engine) served(ctx context.Context, ref, platform string) (Image, error) {
	named, err := reference.ParseDockerRef(ref)
	if err != nil || strings.HasPrefix(ref, "sha256:") {
		return Image{}, fmt.Errorf("%w: %q names none in a registry", ErrNoImage, ref)
	}
	found, err := e.resolve(ctx, named, platform)
	switch {
	case err == nil:
		return imageServed(named, found)
	case refused(err):
		return Image{}, fmt.Errorf("%w: %w: %s: %w", ErrNoImage, ErrUnauthorized, ref, err)
	case missing(err):
		return Image{}, fmt.Errorf("%w: %s: %w", ErrNoImage, ref, err)
	}
	return Image{}, fmt.Errorf("asking the registry for %s: %w", ref, err)
}

// imageServed reads the configuration that a registry serves for a name.
func imageServed(named reference.Named, found *sourceresolver.ResolveImageResponse) (Image, error) {
	var config ocispecs.Image
	if err := json.Unmarshal(found.Config, &config); err != nil {
		return Image{}, fmt.Errorf("reading the configuration of %s: %w", named, err)
	}
	img := Image{
		Name: reference.FamiliarName(named), ID: digest.FromBytes(found.Config).String(), Digest: found.Digest.String(),
		Platform: strings.TrimSuffix(config.OS+"/"+config.Architecture+"/"+config.Variant, "/"), Labels: map[string]string{},
	}
	if config.Config.Labels != nil {
		img.Labels = config.Config.Labels
	}
	return img, nil
}

// resolve has the buildkitd ask a registry, whatever it has itself.
func (e *Engine) resolve(ctx context.Context, named reference.Named, platform string) (found *sourceresolver.ResolveImageResponse, err error) {
	ask := sourceresolver.ResolveImageOpt{ResolveMode: pb.AttrImageResolveModeForcePull}
	if platform != "" {
		p, err := platforms.Parse(platform)
		if err != nil {
			return nil, fmt.Errorf("%w: platform %q: %w", ErrSpec, platform, err)
		}
		ask.Platform = &p
	}
	bk, err := e.buildkit(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = bk.Close() }() // it only read
	ctx, cancel := context.WithTimeout(ctx, 3*dialTimeout)
	defer cancel()
	_, err = bk.Build(ctx, bkclient.SolveOpt{Session: []session.Attachable{e.credentials()}}, "", func(ctx context.Context, c gateway.Client) (*gateway.Result, error) {
		meta, err := c.ResolveSourceMetadata(ctx, &pb.SourceOp{Identifier: "docker-image://" + named.String()}, sourceresolver.Opt{ImageOpt: &ask})
		if err != nil {
			return nil, err
		}
		found = meta.Image
		return gateway.NewResult(), nil
	}, nil)
	if err == nil && found == nil {
		err = fmt.Errorf("the buildkitd at %s tells nothing of %s", e.Host, named)
	}
	return found, err
}

// pushed is the image that a buildkitd built and pushed, read back from the registries.
func (e *Engine) pushed(ctx context.Context, response map[string]string, spec Spec) (img Image, err error) {
	made, err := pushedManifest(response)
	if err != nil {
		return Image{}, err
	}
	for i, tag := range spec.Tags {
		got, err := e.served(ctx, tag, spec.Platform)
		switch {
		case err != nil:
			return Image{}, fmt.Errorf("pushing %s: %w", tag, pushError(fmt.Errorf("reading it back: %w", err)))
		case got.Digest != made:
			return Image{}, fmt.Errorf("pushing %s: %w: the registry serves %s, pushed was %s", tag, ErrPush, got.Digest, made)
		case i == 0:
			img = got
		}
	}
	return img, nil
}

// pushedManifest is the digest of the platform manifest that a buildkitd says it pushed.
func pushedManifest(response map[string]string) (string, error) {
	content, err := base64.StdEncoding.DecodeString(response["containerimage.descriptor"])
	if err != nil {
		return "", fmt.Errorf("%w: the builder's descriptor of the image: %w", ErrBuild, err)
	}
	var made ocispecs.Descriptor
	if err := json.Unmarshal(content, &made); err != nil {
		return "", fmt.Errorf("%w: the builder's descriptor of the image: %w", ErrBuild, err)
	}
	if isIndex(made.MediaType) {
		return "", fmt.Errorf("%w: the builder pushed an index (%s), not the platform manifest", ErrPush, made.Digest)
	}
	return made.Digest.String(), nil
}

// isIndex tells whether a media type is that of a list of manifests.
func isIndex(mediaType string) bool {
	return strings.Contains(mediaType, "index") || strings.Contains(mediaType, "manifest.list")
}

// explainPush tells what is wrong with a push from what is wrong with a build.
func explainPush(err error) error {
	if strings.Contains(err.Error(), "failed to push") {
		return pushError(err)
	}
	return err
}
