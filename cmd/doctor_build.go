package cmd

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/hermesbox/hermesbox/image"
	"github.com/hermesbox/hermesbox/internal/check"
	"github.com/hermesbox/hermesbox/internal/config"
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

// examine runs the checks; without an Engine the others are skipped because of it.
func examine(ctx context.Context, app *app, builder string, spec image.DoctorSpec) (checks []check.Check, err error) {
	var engine *image.Engine
	checks = append(checks, check.Run("docker", "a Docker Engine answers", func() check.Result {
		engine, err = connect(ctx, app, builder)
		return dockerResult(engine, err)
	}))
	if engine == nil {
		return append(checks, withEngine(ctx, spec, func(func(*image.Engine) check.Result) check.Result {
			return check.Result{Status: check.Skip, Because: "docker", Evidence: "not judged because docker did not pass"}
		})...), nil
	}
	defer func() { err = errors.Join(err, engine.Close()) }()
	return append(checks, withEngine(ctx, spec, func(ask func(*image.Engine) check.Result) check.Result { return ask(engine) })...), nil
}

// withEngine are the checks that need an Engine; judge gives each what to ask it.
func withEngine(ctx context.Context, spec image.DoctorSpec, judge func(func(*image.Engine) check.Result) check.Result) []check.Check {
	run := func(id, title string, ask func(*image.Engine) check.Result) check.Check {
		return check.Run(id, title, func() check.Result { return judge(ask) })
	}
	return []check.Check{
		run("buildkit", "its BuildKit answers", func(e *image.Engine) check.Result { return e.CheckBuilder(ctx) }),
		run("platform", "it builds for the platform", func(e *image.Engine) check.Result { return e.CheckPlatform(ctx, spec.Platform) }),
		run("base", "the base image can be had", func(e *image.Engine) check.Result { return e.CheckBase(ctx, spec) }),
		run("disk", "there is room for images", (*image.Engine).CheckDisk),
	}
}

func dockerResult(engine *image.Engine, err error) check.Result {
	if err != nil {
		hint := failed(err).hint
		if errors.Is(err, image.ErrNoEngine) {
			hint = "start Docker, or name its address in DOCKER_HOST"
		}
		return check.Result{Status: check.Fail, Evidence: err.Error(), Remedy: hint}
	}
	store := "graph driver store"
	if engine.Info.ContainerdStore {
		store = "containerd store"
	}
	return check.Result{Status: check.Pass, Evidence: fmt.Sprintf("Engine %s at %s, %s", engine.Info.Version, engine.Host, store)}
}
