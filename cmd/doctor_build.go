package cmd

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/hermesbox/hermesbox/image"
	"github.com/hermesbox/hermesbox/internal/check"
	"github.com/hermesbox/hermesbox/internal/config"
	"github.com/hermesbox/hermesbox/template"
)

// doctorSpec is what a build with this configuration would use.
func doctorSpec(loaded *config.Loaded) (image.DoctorSpec, error) {
	platform, err := image.ParsePlatform(loaded.Config.Image.Platform)
	if err != nil {
		return image.DoctorSpec{}, err
	}
	dockerfile, err := image.LoadDockerfile(loaded.Config.Image.Dockerfile)
	if err != nil {
		return image.DoctorSpec{}, err
	}
	lock, err := image.ReadLock(filepath.Join(projectDir(loaded), image.LockName))
	if err != nil {
		return image.DoctorSpec{}, err
	}
	spec := image.DoctorSpec{Platform: platform, Lock: lock}
	if dockerfile.HasBase {
		spec.Base = loaded.Config.Image.Base
	}
	return spec, nil
}

// examineEngine looks at the Engine; without one the other checks are skipped because of it.
func (a *app) examineEngine(ctx context.Context, cfg config.Config, spec image.DoctorSpec) []check.Check {
	opened := hand[*image.Engine]()
	docker := judge(ctx, "docker", "a Docker Engine answers", "restart Docker: it takes connections and says nothing", func(ctx context.Context) check.Result {
		engine, err := connect(ctx, a, cfg.Image.Builder)
		if err == nil {
			opened <- engine
		}
		return dockerResult(engine, err)
	})
	engine, ok := opened.take()
	if ok {
		defer engine.Close() //nolint:errcheck // it was only looked at
	}
	after := func(id, title, stuck string, ask func(context.Context) check.Result) exam {
		return one(id, title, stuck, func(ctx context.Context) check.Result {
			if !ok {
				return skipBecause("docker")
			}
			return ask(ctx)
		})
	}
	return append([]check.Check{docker}, together(ctx,
		after("buildkit", "its BuildKit answers", "restart Docker: its BuildKit hangs", func(ctx context.Context) check.Result { return engine.CheckBuilder(ctx) }),
		after("platform", "it builds for the platform", "restart Docker: its BuildKit hangs", func(ctx context.Context) check.Result { return engine.CheckPlatform(ctx, spec.Platform) }),
		after("base", "the base image can be had", "see whether docker pull "+shellWord(spec.Base)+" ends: its registry or a credential helper hangs", func(ctx context.Context) check.Result { return engine.CheckBase(ctx, spec) }),
		after("disk", "there is room for images", "see whether df ends: a disk hangs", func(context.Context) check.Result { return engine.CheckDisk() }),
		after("registry", "images get to Cube", "see whether docker login ends: the registry or a credential helper hangs", func(ctx context.Context) check.Result { return checkRegistry(ctx, cfg, engine) }),
	)...)
}

func dockerResult(engine *image.Engine, err error) check.Result {
	if err != nil {
		return check.Result{Status: check.Fail, Evidence: err.Error(), Remedy: dockerRemedy(err)}
	}
	if engine.API == nil {
		return check.Result{Status: check.Pass, Evidence: fmt.Sprintf("buildkitd %s at %s", engine.Info.Version, engine.Host)}
	}
	store := "graph driver store"
	if engine.Info.ContainerdStore {
		store = "containerd store"
	}
	return check.Result{Status: check.Pass, Evidence: fmt.Sprintf("Engine %s at %s, %s", engine.Info.Version, engine.Host, store)}
}

func dockerRemedy(err error) string {
	switch text := err.Error(); {
	case errors.Is(err, image.ErrNoBuildkitd):
		return "start it, or name another in image.builder or BUILDKIT_HOST; docker is the local Engine"
	case errors.Is(err, image.ErrNotPermitted):
		return `sudo usermod -aG docker "$USER" and log in anew, or run hermesbox as one who may`
	case errors.Is(err, image.ErrNoEngine) && strings.Contains(text, "ssh://"):
		return "see whether ssh gets there by hand, and docker version works there: hermesbox uses the ssh program, its keys and its known_hosts"
	case errors.Is(err, context.DeadlineExceeded):
		return "restart Docker, which takes connections and says nothing, or name another address in DOCKER_HOST"
	case errors.Is(err, image.ErrNoEngine):
		return "start Docker, or name its address in DOCKER_HOST"
	case errors.Is(err, image.ErrDockerConfig) && strings.Contains(text, "context not found"):
		return "docker context ls names those there are: set DOCKER_CONTEXT to one, or unset it and docker context use default"
	case errors.Is(err, image.ErrDockerConfig) && strings.Contains(text, "DOCKER_HOST"):
		return "write DOCKER_HOST as unix:///var/run/docker.sock, tcp://HOST:2376 or ssh://HOST, or unset it"
	case errors.Is(err, image.ErrDockerConfig) && strings.Contains(text, "reading "):
		return "mend the file that it names: it is JSON; docker login writes it anew where it is moved away"
	}
	return firstOf(failed(err).hint, "see whether docker version works, and DOCKER_HOST names a Docker Engine")
}

// checkRegistry tells how what is built gets to Cube.
func checkRegistry(ctx context.Context, cfg config.Config, engine *image.Engine) check.Result {
	local := cfg.Cube.Engine == "local"
	switch {
	case cfg.Image.Push:
		return engine.CheckPush(ctx, cfg.Image.Name)
	case isBuildkitd(cfg.Image.Builder):
		return check.Result{
			Status: check.Fail, Evidence: "image.push is not set, and the buildkitd at " + engine.Host + " keeps no images",
			Remedy: "set image.push: true and image.name to a repository, or give build --push -t registry.example.com/team/hermes-studio",
		}
	case noCube(cfg.Cube):
		return skip("image.push is not set")
	case placeOf(cfg, local, engine.Host) != template.Elsewhere:
		return skip("image.push is not set, and Cube has the images of this Engine")
	}
	return check.Result{
		Status: check.Warn, Evidence: "image.push is not set, and Cube cannot have what is only in the Engine at " + engine.Host,
		Remedy: "set image.push: true and image.name to a repository, or give up --push -t registry.example.com/team/hermes-studio",
	}
}
