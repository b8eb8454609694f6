package image

import (
	"cmp"
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/containerd/errdefs"
	"github.com/distribution/reference"
	"github.com/docker/docker/api/types/registry"
	"golang.org/x/sys/unix"

	"github.com/hermesbox/hermesbox/internal/check"
)

const (
	enoughDisk = 10 << 30 // bytes; a build writes the base, the venv and Node
	leastDisk  = 3 << 30
)

// DoctorSpec is what a build would use.
type DoctorSpec struct {
	Platform string // canonical
	Base     string // name; empty where the Dockerfile takes none
	Lock     *Lock
}

// CheckBuilder asks the Engine's BuildKit, or the buildkitd, whether it answers.
func (e *Engine) CheckBuilder(ctx context.Context) check.Result {
	remedy := "hermesbox needs BuildKit, which is part of Docker Engine 20.10 and later"
	if e.bare {
		remedy = "see what the buildkitd at " + e.Host + " logs"
	}
	bk, err := e.buildkit(ctx)
	if err != nil {
		return failing(remedy, "%v", err)
	}
	defer func() { _ = bk.Close() }() // it only read
	workers, err := bk.ListWorkers(ctx)
	if err != nil {
		return failing(remedy, "%v", err)
	}
	return passed("%d worker(s)", len(workers))
}

// CheckPlatform tells whether the builder runs a platform, and how.
func (e *Engine) CheckPlatform(ctx context.Context, platform string) check.Result {
	if e.Info.native(platform) {
		return passed("%s is the %s's own", platform, e.kind())
	}
	bk, err := e.buildkit(ctx)
	if err != nil {
		return failing("", "%v", err)
	}
	defer func() { _ = bk.Close() }() // it only read
	if err := checkPlatform(ctx, bk, platform); err != nil {
		arch := strings.Split(platform, "/")[1] // canonical: os/arch, or os/arch/variant
		return failing("give the builder emulation for it, as docker run --privileged --rm tonistiigi/binfmt --install "+arch+" does, or choose another --platform", "%v", err)
	}
	return check.Result{Status: check.Warn, Evidence: platform + " runs by emulation, which is slow", Remedy: "build on a machine of that kind where time matters"}
}

// CheckBase tells whether the base can be had, without recording it.
func (e *Engine) CheckBase(ctx context.Context, spec DoctorSpec) check.Result {
	if spec.Base == "" {
		return check.Result{Status: check.Skip, Evidence: "the Dockerfile takes no base"}
	}
	base, err := e.ResolveBase(ctx, spec.Base, spec.Platform, spec.Lock.copy(), false)
	switch {
	case errors.Is(err, ErrBaseMoved):
		return failing("hermesbox build --update-base takes the new one", "%v", err)
	case errors.Is(err, errCredentials):
		return failing(remedyHelper(spec.Base), "%v", err)
	case err != nil:
		return failing(e.remedyBase(), "%v", err)
	case !base.Local && !e.canHave(ctx, base, spec.Platform):
		return failing("log in to its registry, or hermesbox build --update-base", "%s, which the lock or the name pins, is not to be had", base.Ref)
	case base.Local:
		return check.Result{
			Status: check.Warn, Evidence: fmt.Sprintf("%s is only in the Engine (%s)", base.Name, base.Digest),
			Remedy: "fine for a trial; other machines cannot have the same base",
		}
	}
	return passed("%s is %s", base.Name, base.Digest)
}

// remedyBase is about a base that cannot be had.
func (e *Engine) remedyBase() string {
	if e.bare {
		return "log in to the registry with docker login, or name another base in image.base: a buildkitd takes bases from registries alone"
	}
	return "log in to the registry with docker login, load the image into the Engine, or name another base in image.base"
}

// canHave tells whether a pinned base is in the Engine or in its registry.
func (e *Engine) canHave(ctx context.Context, base Base, platform string) bool {
	if !e.bare {
		if _, err := e.API.ImageInspect(ctx, base.Ref); err == nil {
			return true
		}
	}
	named, err := reference.ParseDockerRef(base.Ref)
	if err != nil {
		return false
	}
	_, err = e.registryDigest(ctx, named, platform)
	return err == nil
}

// CheckPush tells whether an image of a name may be pushed, as far as that shows
// without a push: whether the name has a registry, whether there are credentials
// for it, and whether it takes them.
func (e *Engine) CheckPush(ctx context.Context, name string) check.Result {
	named, err := reference.ParseNormalizedNamed(name)
	if err != nil {
		return failing("correct image.name", "%q is no image name: %v", name, err)
	}
	domain := reference.Domain(named)
	if domain == "docker.io" && strings.HasPrefix(reference.Path(named), "library/") {
		return failing("name a repository with its registry in image.name, such as registry.example.com/team/hermes-studio", "%s names no registry that takes pushes", name)
	}
	auth, err := e.authOf(domain)
	if err != nil {
		return failing(remedyHelper(name), "%v", err)
	}
	if auth == (registry.AuthConfig{ServerAddress: auth.ServerAddress}) {
		return e.checkAnonymous(ctx, named)
	}
	err = e.login(ctx, auth, named)
	switch {
	case refused(err):
		return failing("docker login "+domain, "%s does not take the credentials of %s: %v", domain, cmp.Or(auth.Username, "the Docker configuration"), err)
	case err != nil:
		return failing("check the registry of image.name, and the network between it and the builder", "asking %s: %v", domain, err)
	}
	return passed("%s takes the credentials of %s", domain, cmp.Or(auth.Username, "the Docker configuration"))
}

// login tells whether a registry takes credentials. A buildkitd does not log in: it asks for an image.
func (e *Engine) login(ctx context.Context, auth registry.AuthConfig, named reference.Named) error {
	if e.bare {
		_, err := e.registryDigest(ctx, reference.TagNameOnly(named), "")
		if err != nil && missing(err) {
			return nil
		}
		return err
	}
	auth.ServerAddress = reference.Domain(named)
	if auth.ServerAddress == "docker.io" {
		auth.ServerAddress = dockerHub
	}
	_, err := e.API.RegistryLogin(ctx, auth)
	return err
}

// checkAnonymous is about a registry for which there are no credentials.
func (e *Engine) checkAnonymous(ctx context.Context, named reference.Named) check.Result {
	domain := reference.Domain(named)
	_, err := e.registryDigest(ctx, reference.TagNameOnly(named), "")
	if err != nil && !refused(err) && !missing(err) {
		return failing("check the registry of image.name, and the network between it and the builder", "asking %s: %v", domain, err)
	}
	return check.Result{Status: check.Warn, Evidence: "no credentials for " + domain, Remedy: "docker login " + domain + ", unless it takes pushes from everybody"}
}

// refused tells that a registry answered, and let nobody in.
func refused(err error) bool { return err != nil && errors.Is(pushError(err), ErrUnauthorized) }

// missing tells that a registry answered, and has no such image, or none for the platform. Old Engines say
// so in words only.
func missing(err error) bool {
	return errdefs.IsNotFound(err) || strings.Contains(err.Error(), "manifest unknown") || strings.Contains(err.Error(), "not found") ||
		strings.Contains(err.Error(), "no match for platform")
}

// remedyHelper is about a credential helper that does not work.
func remedyHelper(name string) string {
	domain := "its registry"
	if named, err := reference.ParseNormalizedNamed(name); err == nil {
		domain = reference.Domain(named)
	}
	return "install the credential helper that config.json names in credsStore or credHelpers, or see what is wrong with it; or take it out there, and docker login " + domain
}

// CheckCABundle looks at the certificates that a build is given; "" is none.
func CheckCABundle(path string) check.Result {
	if path == "" {
		return check.Result{Status: check.Skip, Evidence: "image.ca_bundle is not set: builds trust what the base trusts"}
	}
	bundle, err := readCABundle(path)
	if err != nil {
		return failing("name a PEM file of certificates in image.ca_bundle, or leave it away where no proxy inspects TLS", "%v", err)
	}
	all, over, last := 0, 0, time.Time{}
	for block, rest := pem.Decode(bundle.Value); block != nil; block, rest = pem.Decode(rest) {
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			continue // readers of bundles pass over what they do not know
		}
		all++
		if time.Now().After(cert.NotAfter) {
			over++
			last = cert.NotAfter
		}
	}
	const remedy = "get the new certificate from whoever runs the proxy, or set the clock of this machine"
	switch {
	case all == over:
		return failing(remedy, "every certificate in %s has expired, the last on %s", path, last.Format(time.DateOnly))
	case over*10 >= all: // a system's bundle keeps some old ones
		return check.Result{Status: check.Warn, Evidence: fmt.Sprintf("%d of %d certificates in %s have expired", over, all, path), Remedy: remedy}
	}
	return passed("%s: certificates: %d, of which %d have expired", path, all, over)
}

// CheckPackage looks at the Web UI's package that a build is given; "" is none.
func CheckPackage(path string) check.Result {
	if path == "" {
		return check.Result{Status: check.Skip, Evidence: "image.web_ui.package is not set: builds take it from the npm registry"}
	}
	if _, err := readPackage(path); err != nil {
		return failing("make one with npm pack hermes-web-ui and name it in image.web_ui.package, or leave that away to use the npm registry", "%v", err)
	}
	return passed("%s", path)
}

// CheckDisk looks at the space where the Engine keeps images, if that is on this machine.
func (e *Engine) CheckDisk() check.Result {
	if e.bare {
		return check.Result{Status: check.Skip, Evidence: "a buildkitd keeps no images, and does not tell where its cache is"}
	}
	var stat unix.Statfs_t
	if err := unix.Statfs(e.Info.Root, &stat); err != nil {
		return check.Result{Status: check.Skip, Evidence: fmt.Sprintf("%s is not on this machine, or not for this user to see", e.Info.Root)}
	}
	free := stat.Bavail * uint64(stat.Bsize)
	evidence := fmt.Sprintf("%.1f GB free in %s", float64(free)/1e9, e.Info.Root)
	switch {
	case free < leastDisk:
		return check.Result{Status: check.Fail, Evidence: evidence, Remedy: "make room: docker system df, docker builder prune"}
	case free < enoughDisk:
		return check.Result{Status: check.Warn, Evidence: evidence, Remedy: "a build with a large base may need more: docker system df"}
	}
	return check.Result{Status: check.Pass, Evidence: evidence}
}

// copy is a lock whose changes are not written.
func (l *Lock) copy() *Lock {
	return &Lock{path: l.path, Bases: maps.Clone(l.Bases), readOnly: true}
}
