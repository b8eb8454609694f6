package image

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/distribution/reference"
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

// CheckBuilder asks the Engine's BuildKit whether it answers.
func (e *Engine) CheckBuilder(ctx context.Context) check.Result {
	bk, err := e.buildkit(ctx)
	if err != nil {
		return failing("hermesbox needs BuildKit, which is part of Docker Engine 20.10 and later", "%v", err)
	}
	defer func() { _ = bk.Close() }() // it only read
	workers, err := bk.ListWorkers(ctx)
	if err != nil {
		return failing("hermesbox needs BuildKit, which is part of Docker Engine 20.10 and later", "%v", err)
	}
	return passed("%d worker(s)", len(workers))
}

// CheckPlatform tells whether the builder runs a platform, and how.
func (e *Engine) CheckPlatform(ctx context.Context, platform string) check.Result {
	if e.Info.native(platform) {
		return passed("%s is the Engine's own", platform)
	}
	bk, err := e.buildkit(ctx)
	if err != nil {
		return failing("", "%v", err)
	}
	defer func() { _ = bk.Close() }() // it only read
	if err := checkPlatform(ctx, bk, platform); err != nil {
		return failing("give the builder emulation for it (binfmt_misc), or choose another --platform", "%v", err)
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
	case err != nil:
		return failing("log in to the registry with docker login, load the image into the Engine, or name another base in image.base", "%v", err)
	case !base.Local && !e.canHave(ctx, base):
		return failing("log in to its registry, or hermesbox build --update-base", "%s, which the lock or the name pins, is neither in the Engine nor to be had from its registry", base.Ref)
	case base.Local:
		return check.Result{
			Status: check.Warn, Evidence: fmt.Sprintf("%s is only in the Engine (%s)", base.Name, base.Digest),
			Remedy: "fine for a trial; other machines cannot have the same base",
		}
	}
	return passed("%s is %s", base.Name, base.Digest)
}

// canHave tells whether a pinned base is in the Engine or in its registry.
func (e *Engine) canHave(ctx context.Context, base Base) bool {
	if _, err := e.API.ImageInspect(ctx, base.Ref); err == nil {
		return true
	}
	named, err := reference.ParseDockerRef(base.Ref)
	if err != nil {
		return false
	}
	_, err = e.registryDigest(ctx, named)
	return err == nil
}

// CheckDisk looks at the space where the Engine keeps images, if that is on this machine.
func (e *Engine) CheckDisk() check.Result {
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
