package image

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/containerd/errdefs"
	"github.com/containerd/platforms"
	"github.com/distribution/reference"
	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/api/types/registry"
)

var (
	// ErrNoBase means that neither the Engine nor a registry has the base.
	ErrNoBase = errors.New("base image not found")
	// ErrBaseMoved means that the Engine's base is another than the locked one.
	ErrBaseMoved = errors.New("base image is not the locked one")
	// ErrPlatform means that an image or a builder cannot serve the platform.
	ErrPlatform = errors.New("platform not available")
)

// Base is a resolved base image.
type Base struct {
	Name   string // as given
	Ref    string // what the Dockerfile's BASE receives
	Digest string // registry digest, or the image ID where only the Engine has it
	Local  bool   // only the Engine has it

	layers string // digest over the layers of a local one
}

// ResolveBase finds what a base name stands for now: the lock's word where it
// has one, else the Engine's own image, else the registry's. With update the
// lock is passed over and the registry asked first. It records the result.
func (e *Engine) ResolveBase(ctx context.Context, name, platform string, lock *Lock, update bool) (Base, error) {
	named, err := reference.ParseDockerRef(name)
	if err != nil {
		return Base{}, fmt.Errorf("%w: %q is no image name: %w", ErrNoBase, name, err)
	}
	if locked, ok := lock.Bases[baseKey(name, platform)]; ok && !update {
		return e.lockedBase(ctx, name, named, platform, locked)
	}
	base, err := e.findBase(ctx, name, named, platform, update)
	if err != nil {
		return Base{}, err
	}
	entry := LockedBase{Digest: base.Digest}
	if base.Local {
		entry = LockedBase{ID: base.Digest, Layers: base.layers}
	}
	return base, lock.Set(baseKey(name, platform), entry)
}

func baseKey(name, platform string) string { return name + " " + platform }

// lockedBase is the base that the lock names, if it can still be had.
func (e *Engine) lockedBase(ctx context.Context, name string, named reference.Named, platform string, locked LockedBase) (Base, error) {
	if locked.Digest != "" {
		return pinned(name, named, locked.Digest), nil
	}
	if e.bare {
		return Base{}, fmt.Errorf("%w: %s is an image of an Engine alone in %s, and a buildkitd has none", ErrNoBase, name, LockName)
	}
	base, err := e.engineBase(ctx, name, named, platform)
	if err != nil {
		return Base{}, err
	}
	if base.Digest != locked.ID && base.layers != locked.Layers {
		return Base{}, fmt.Errorf("%w: %s is %s in the Engine, the lock has %s", ErrBaseMoved, name, base.Digest, locked.ID)
	}
	return base, nil
}

func pinned(name string, named reference.Named, digest string) Base {
	return Base{Name: name, Ref: reference.FamiliarName(named) + "@" + digest, Digest: digest}
}

func (e *Engine) findBase(ctx context.Context, name string, named reference.Named, platform string, update bool) (Base, error) {
	if canonical, ok := named.(reference.Canonical); ok {
		return pinned(name, named, canonical.Digest().String()), nil
	}
	local, localErr := e.engineBase(ctx, name, named, platform)
	if localErr == nil && !update {
		return local, nil
	}
	if localErr != nil && !errors.Is(localErr, ErrNoBase) {
		return Base{}, localErr
	}
	digest, err := e.registryDigest(ctx, named, platform)
	switch {
	case err == nil:
		return pinned(name, named, digest), nil
	case localErr == nil:
		return local, nil
	}
	return Base{}, fmt.Errorf("%w: %s: %w", ErrNoBase, name, err)
}

// engineBase is the base as the Engine has it under its name; a buildkitd has none.
func (e *Engine) engineBase(ctx context.Context, name string, named reference.Named, platform string) (Base, error) {
	if e.bare {
		return Base{}, ErrNoBase
	}
	found, err := e.API.ImageInspect(ctx, named.String())
	if errdefs.IsNotFound(err) {
		return Base{}, fmt.Errorf("%w in the Engine: %s", ErrNoBase, name)
	}
	if err != nil {
		return Base{}, fmt.Errorf("inspecting base image %s: %w", name, err)
	}
	if digest := e.servedDigest(ctx, found, named); digest != "" {
		return pinned(name, named, digest), nil
	}
	if got := imagePlatform(found); !samePlatform(got, platform) {
		return Base{}, fmt.Errorf("%w: base image %s is %s, the build is for %s", ErrPlatform, name, got, platform)
	}
	layers := "sha256:" + hexSum([]byte(strings.Join(found.RootFS.Layers, "\n")))
	return Base{Name: name, Ref: reference.FamiliarString(named), Digest: found.ID, Local: true, layers: layers}, nil
}

// servedDigest is the digest under which a registry serves the image, if one does.
// The containerd store gives every image a digest under its name, pulled or not;
// there only the registry can tell.
func (e *Engine) servedDigest(ctx context.Context, found image.InspectResponse, named reference.Named) string {
	for _, full := range found.RepoDigests {
		ref, err := reference.ParseDockerRef(full)
		canonical, ok := ref.(reference.Canonical)
		if err != nil || !ok || canonical.Name() != named.Name() {
			continue
		}
		digest := canonical.Digest().String()
		if digest != found.ID {
			return digest
		}
		ctx, cancel := context.WithTimeout(ctx, dialTimeout)
		defer cancel()
		if served, err := e.registryDigest(ctx, canonical, ""); err == nil && served == digest {
			return digest
		}
		return ""
	}
	return ""
}

// registryDigest asks the registry, through the Engine, as its user. A buildkitd
// wants to see an image for the platform there, "" for its own.
func (e *Engine) registryDigest(ctx context.Context, named reference.Named, platform string) (string, error) {
	if e.bare {
		found, err := e.resolve(ctx, named, platform)
		switch {
		case err == nil:
			return found.Digest.String(), nil
		case refused(err):
			err = fmt.Errorf("%w: %w", ErrUnauthorized, err)
		}
		return "", fmt.Errorf("asking the registry: %w", err)
	}
	auth, err := e.encodedAuth(reference.Domain(named))
	if err != nil {
		return "", err
	}
	found, err := e.API.DistributionInspect(ctx, named.String(), auth)
	if err != nil {
		return "", fmt.Errorf("asking the registry: %w", err)
	}
	return found.Descriptor.Digest.String(), nil
}

// dockerHub is the key of Docker Hub's credentials.
const dockerHub = "https://index.docker.io/v1/"

// encodedAuth is the credential for a registry, as the Engine's API takes it.
func (e *Engine) encodedAuth(domain string) (string, error) {
	auth, err := e.authOf(domain)
	if err != nil {
		return "", err
	}
	return registry.EncodeAuthConfig(auth)
}

// errCredentials means that the Docker configuration does not give credentials,
// for want of a helper for one.
var errCredentials = errors.New("reading credentials")

// authOf is the credential for a registry; one without a name has none.
func (e *Engine) authOf(domain string) (registry.AuthConfig, error) {
	if domain == "docker.io" {
		domain = dockerHub
	}
	cred, err := e.Config.GetAuthConfig(domain)
	if err != nil {
		return registry.AuthConfig{}, fmt.Errorf("%w for %s: %w", errCredentials, domain, err)
	}
	return registry.AuthConfig{
		Username: cred.Username, Password: cred.Password, Auth: cred.Auth,
		ServerAddress: cred.ServerAddress, IdentityToken: cred.IdentityToken, RegistryToken: cred.RegistryToken,
	}, nil
}

func imagePlatform(found image.InspectResponse) string {
	return strings.TrimSuffix(found.Os+"/"+found.Architecture+"/"+found.Variant, "/")
}

// samePlatform compares two platform names, however they spell their default variant.
func samePlatform(a, b string) bool {
	pa, errA := platforms.Parse(a)
	pb, errB := platforms.Parse(b)
	return errA == nil && errB == nil && platforms.OnlyStrict(pb).Match(pa)
}
