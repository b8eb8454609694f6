package cmd

import (
	"errors"
	"syscall"

	"github.com/containerd/errdefs"

	"github.com/hermesbox/hermesbox/buildctx"
	"github.com/hermesbox/hermesbox/image"
	"github.com/hermesbox/hermesbox/internal/config"
)

// advice is what errors of one kind mean to a user.
type advice struct {
	is   error
	code int
	hint string
}

// advices go from the most to the least telling.
var advices = []advice{
	{image.ErrNotPermitted, exitFailed, "let your user use Docker (group docker), or run hermesbox as one who may"},
	{image.ErrNoEngine, exitFailed, "start Docker, or name its address in DOCKER_HOST; hermesbox doctor looks further"},
	{image.ErrNoBuildkitd, exitFailed, "start it, or name another in image.builder or BUILDKIT_HOST; --builder docker takes an Engine"},
	{image.ErrDockerConfig, exitUsage, "see DOCKER_HOST, DOCKER_CONTEXT and the Docker configuration"},
	{image.ErrDockerfile, exitUsage, "name another with --file, or leave it away for the recipe that hermesbox brings"},
	{image.ErrPackage, exitUsage, "make one with npm pack, or leave --web-ui-package away to use the npm registry"},
	{image.ErrTooNew, exitUsage, "use Docker Engine 23 or later, or write the step without it"},
	{image.ErrSpec, exitUsage, ""},
	{image.ErrLock, exitUsage, "mend or remove " + image.LockName},
	{image.ErrUnauthorized, exitAuth, "log in to the registry with docker login, as a user who may push there"},
	{image.ErrPush, exitFailed, "what was built is still in the builder; run the same command again, nothing needs cleaning first"},
	{image.ErrBaseMoved, exitFailed, "--update-base takes the new one"},
	{image.ErrPlatform, exitFailed, "choose another --platform, or give the builder emulation for it (binfmt_misc)"},
	{image.ErrNoBase, exitFailed, "check --base, log in to its registry, or load the image into the Engine"},
	{image.ErrNoImage, exitFailed, "docker image ls lists what the Engine has; hermesbox build makes one"},
	{image.ErrName, exitFailed, "rename it, or exclude it in .dockerignore or context.exclude"},
	{image.ErrBuild, exitFailed, "the builder's output above names the step; --progress plain shows all of it"},
	{buildctx.ErrNotTar, exitFailed, "give a tar, plain or gzip, as hermesbox context tar or tar -C DIR -cf - . make it"},
	{buildctx.ErrTruncated, exitFailed, "make the tar anew; what wrote it may have stopped early"},
	{buildctx.ErrEmpty, exitFailed, "hermesbox context check says what was left out, and by which rule"},
}

// explain gives the exit code and the next step for an error of a stage.
// It is the one place where errors become advice.
func explain(err error) (code int, hint string) {
	if code, hint, ok := explainTyped(err); ok {
		return code, hint
	}
	for _, a := range advices {
		if errors.Is(err, a.is) {
			return a.code, a.hint
		}
	}
	return exitFailed, ""
}

func explainTyped(err error) (code int, hint string, ok bool) {
	var configErr *config.Error
	var ignoreErr *buildctx.IgnoreError
	var pathErr *buildctx.PathError
	var changedErr *buildctx.ChangedError
	switch {
	case errdefs.IsUnauthorized(err), errdefs.IsPermissionDenied(err) && errors.Is(err, image.ErrNoBase):
		return exitAuth, "log in to the registry with docker login", true
	case errors.As(err, &configErr):
		return exitUsage, configErr.Hint, true
	case errors.As(err, &ignoreErr):
		code, hint = explainIgnore(ignoreErr)
		return code, hint, true
	case errors.As(err, &pathErr):
		code, hint = explainPath(pathErr)
		return code, hint, true
	case errors.As(err, &changedErr):
		return exitFailed, "run it again when nothing writes to the source any more", true
	}
	return 0, "", false
}

func explainIgnore(err *buildctx.IgnoreError) (code int, hint string) {
	var system syscall.Errno
	switch {
	case errors.As(err, &system):
		return exitFailed, "make it readable, or remove it"
	case err.Line == 0 && err.Pattern == "":
		return exitUsage, "make it a file with a pattern on each line, or remove it"
	case err.Line == 0:
		return exitUsage, "mend that pattern; patterns follow Docker's rules for .dockerignore"
	}
	return exitUsage, "mend that line; lines follow Docker's rules for .dockerignore"
}

func explainPath(err *buildctx.PathError) (code int, hint string) {
	switch err.Reason {
	case buildctx.Missing, buildctx.NotDirectory:
		return exitUsage, "name the directory of a Hermes Agent checkout, or - for a tar on standard input"
	case buildctx.NoEntry:
		return exitUsage, "write the path as it is below the source; hermesbox context ls lists what is in the context"
	case buildctx.NotBelow:
		return exitUsage, "name a file or directory inside the source, relative to it"
	case buildctx.Unreadable:
		return exitFailed, "make it readable, or exclude it in .dockerignore or context.exclude"
	case buildctx.IsFifo, buildctx.IsDevice:
		return exitFailed, "remove it, or exclude it in .dockerignore or context.exclude"
	}
	return exitFailed, "make the tar anew, with hermesbox context tar or tar -C DIR -cf - ."
}
