package cmd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"

	"github.com/hermesbox/hermesbox/image"
	"github.com/hermesbox/hermesbox/internal/config"
	"github.com/hermesbox/hermesbox/template"
)

// setImage fills in how Cube gets at ref: as it is where that is one for a
// registry, else as what the Engine's image of that name is to Cube.
func (a *app) setImage(ctx context.Context, spec *template.Spec, cfg config.Config, local bool, ref string) (err error) {
	spec.Image = ref
	if !local && template.Pinned(ref) && !template.IsImageID(ref) {
		return nil
	}
	engine, err := connect(ctx, a, cfg.Image.Builder)
	if !local && !template.IsImageID(ref) {
		return a.resolveTag(ctx, spec, engine, err)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, engine.Close()) }()
	img, err := engine.Inspect(ctx, ref)
	if errors.Is(err, image.ErrNoImage) && local && !template.IsImageID(ref) {
		return nil // the local Cube pulls it
	}
	if err == nil {
		spec.Image, err = referTo(ctx, a, engine, img, cfg, local)
	}
	return err
}

// resolveTag finds out what a tag stands for now, so that a template of what it
// stood for before is not used again. That needs an Engine to ask a registry
// with, which there may not be; then the tag is all there is to go by.
func (a *app) resolveTag(ctx context.Context, spec *template.Spec, engine *image.Engine, err error) error {
	if err == nil {
		spec.ImageDigest, err = engine.Resolve(ctx, spec.Image)
		err = errors.Join(err, engine.Close())
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		a.warn("%s is a tag, which may move, and no registry tells what it stands for now (%v): a template of it is used again while the tag is spelled alike", spec.Image, err)
	}
	return nil
}

// referTo names a built image to Cube. For CubeMaster's own Engine that takes a tag.
func referTo(ctx context.Context, app *app, engine *image.Engine, img image.Image, cfg config.Config, local bool) (string, error) {
	place := placeOf(cfg, local, engine.Host)
	if template.IsImageID(img.Name) {
		img.Name = cfg.Image.Name
	}
	ref, err := template.Reference(img, place)
	if err != nil {
		return "", cubeFailed(err)
	}
	if place != template.OwnEngine || template.IsImageID(ref) || img.Digest != "" {
		return ref, nil
	}
	app.warn("the image is in no registry: registering it as %s from CubeMaster's own Engine, where docker image prune -a would remove it; old versions of Cube pull it all the same, and fail", ref)
	if err := engine.API.ImageTag(ctx, img.ID, ref); err != nil {
		return "", fmt.Errorf("tagging the image as %s: %w", ref, err)
	}
	return ref, nil
}

// placeOf tells where an Engine stands, as Cube sees it.
func placeOf(cfg config.Config, local bool, engineHost string) template.Place {
	switch {
	case local && cfg.Image.Builder == "docker":
		return template.LocalCube
	case local:
		return template.Elsewhere // the local Cube has another Engine than the builder
	case cfg.Cube.MasterAddr != "" && sameMachine(hostOf(cfg.Cube.MasterAddr), hostOf(engineHost)):
		return template.OwnEngine
	}
	return template.Elsewhere
}

// hostOf is the host of an address; empty for a socket of this machine.
func hostOf(address string) string {
	if !strings.Contains(address, "://") {
		address = "tcp://" + address
	}
	u, err := url.Parse(address)
	if err != nil || u.Scheme == "unix" || u.Scheme == "npipe" {
		return ""
	}
	return u.Hostname()
}

// sameMachine compares two hosts, either of which may be this machine by
// another of its addresses.
func sameMachine(a, b string) bool { return a == b || isHere(a) && isHere(b) }

// isHere tells whether a host is this machine. Names are not resolved.
func isHere(host string) bool {
	if host == "" || host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	if ip == nil || ip.IsLoopback() {
		return ip != nil
	}
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return false
	}
	for _, a := range addresses {
		if n, ok := a.(*net.IPNet); ok && n.IP.Equal(ip) {
			return true
		}
	}
	return false
}
