package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hermesbox/hermesbox/image"
	"github.com/hermesbox/hermesbox/internal/config"
)

// buildOptions are the flags of build.
type buildOptions struct {
	tags         []string
	file         string
	platform     string
	target       string
	buildArgs    []string
	secrets      []string
	push         bool
	metadataFile string
	iidFile      string
	noCache      bool
	pull         bool
	base         string
	updateBase   bool
	builder      string
	caBundle     string
	webUIPackage string
}

// AddFlags declares the flags; those of docker buildx keep its spelling.
func (o *buildOptions) AddFlags(flags *pflag.FlagSet) {
	flags.StringArrayVarP(&o.tags, "tag", "t", nil, "`name` for the image, with or without a tag (repeatable)")
	flags.StringVarP(&o.file, "file", "f", "", "Dockerfile `path` (default: the recipe that hermesbox brings)")
	flags.StringVar(&o.platform, "platform", "", "`platform` to build for (default linux/amd64)")
	flags.StringVar(&o.target, "target", "", "`stage` of the Dockerfile to build")
	flags.StringArrayVar(&o.buildArgs, "build-arg", nil, "build argument, `NAME=VALUE`, or NAME for the caller's value (repeatable)")
	flags.StringArrayVar(&o.secrets, "secret", nil, "secret for the build, `id=NAME[,src=FILE|,env=VARIABLE]` (repeatable)")
	flags.BoolVar(&o.push, "push", false, "push the image to the registry that its name has")
	flags.StringVar(&o.metadataFile, "metadata-file", "", "write what was built to `file`, as JSON")
	flags.StringVar(&o.iidFile, "iidfile", "", "write the image ID to `file`")
	flags.BoolVar(&o.noCache, "no-cache", false, "use no cached step")
	flags.BoolVar(&o.pull, "pull", false, "ask the registry for base images, also where the Engine has them")
	flags.StringVar(&o.base, "base", "", "base `image` that the Dockerfile's ARG BASE receives")
	flags.BoolVar(&o.updateBase, "update-base", false, "resolve the base anew and move "+image.LockName)
	flags.StringVar(&o.builder, "builder", "", "`builder`: docker, ssh://[user@]host[:port] for an Engine there, or tcp://host:port or unix:///path of a buildkitd (with --push)")
	flags.StringVar(&o.caBundle, "ca-bundle", "", "PEM `file` of a TLS-inspecting proxy; a secret, never in the image")
	flags.StringVar(&o.webUIPackage, "web-ui-package", "", "local hermes-web-ui `tarball` in place of the npm registry's")
}

// overrides are the flags that stand for configuration keys.
func (o *buildOptions) overrides(getenv func(string) string) ([]config.Override, error) {
	set := plainOverrides(map[string][2]string{
		"--file":           {"image.dockerfile", o.file},
		"--platform":       {"image.platform", o.platform},
		"--base":           {"image.base", o.base},
		"--builder":        {"image.builder", o.builder},
		"--ca-bundle":      {"image.ca_bundle", o.caBundle},
		"--web-ui-package": {"image.web_ui.package", o.webUIPackage},
	})
	if o.push {
		set = append(set, config.Override{Key: "image.push", Value: "true", Flag: "--push"})
	}
	var args []string
	for _, arg := range o.buildArgs {
		name, _, given := strings.Cut(arg, "=")
		if name == "" {
			return nil, usagef("--build-arg %q has no name", arg).withHint("write --build-arg NAME=VALUE")
		}
		if !given {
			value := getenv(name)
			if value == "" {
				continue // as docker buildx: a variable that is not set sets nothing
			}
			arg = name + "=" + value
		}
		args = append(args, arg)
	}
	if len(args) > 0 {
		set = append(set, config.Override{Key: "image.build_args", Values: args, Flag: "--build-arg"})
	}
	return set, nil
}

// plainOverrides are those of flag → key and value whose value is given.
func plainOverrides(flags map[string][2]string) []config.Override {
	var set []config.Override
	for flag, kv := range flags {
		if kv[1] != "" {
			set = append(set, config.Override{Key: kv[0], Value: kv[1], Flag: flag})
		}
	}
	return set
}

func newBuild(app *app) *cobra.Command {
	var opts buildOptions
	cmd := &cobra.Command{
		Use:   "build [SOURCE|-]",
		Short: "Build the image from a Hermes Agent checkout",
		Long: `Build makes the clean context of SOURCE (a directory, or - for a tar on standard
input), sends it to the builder and prints the image ID.`,
		Example: "  hermesbox build ~/src/hermes-agent\n  hermesbox build -t hermes-studio:test --base sandbox-code:local .",
		Args:    maxArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runBuild(cmd.Context(), app, app.out, args, opts)
		},
	}
	opts.AddFlags(cmd.Flags())
	return cmd
}

// runBuild is the whole of build. What is asked for is checked before the source
// is read, and the source before the Engine is reached.
func runBuild(ctx context.Context, app *app, out io.Writer, args []string, opts buildOptions) (err error) {
	set, err := opts.overrides(app.getenv)
	if err != nil {
		return err
	}
	loaded, err := app.config(set...)
	if err != nil {
		return err
	}
	spec, err := buildSpec(app, loaded.Config, opts)
	if err != nil {
		return err
	}
	app.note("building %s for %s from %s", spec.Tags[0], spec.Platform, sourceLabel(source(args, loaded.Config)))
	if err := readSource(ctx, app, &spec, args, loaded.Config, opts); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, spec.Tree.Close()) }()
	engine, err := connect(ctx, app, loaded.Config.Image.Builder)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, engine.Close()) }()
	if err := resolveBase(ctx, app, engine, &spec, loaded, opts); err != nil {
		return err
	}
	builder := image.Builder{Engine: engine, Progress: app.display(), Mode: app.progress, Note: app.note, Secrets: app.secrets}
	img, err := builder.Build(ctx, spec)
	if err != nil {
		return err
	}
	if loaded.Config.Image.Push && img.Digest == "" { // a buildkitd has pushed it
		if img, err = engine.Push(ctx, img, spec.Tags, app.pushProgress()); err != nil {
			return err
		}
	}
	return printImage(app, engine, out, img, opts)
}

// readSource fills in the tree, which the caller closes, and what it says of itself.
func readSource(ctx context.Context, app *app, spec *image.Spec, args []string, cfg config.Config, opts buildOptions) error {
	src := source(args, cfg)
	tree, err := app.loadTree(ctx, src, cfg, opts.metadataFile, opts.iidFile)
	if err != nil {
		return err
	}
	app.sayTree(tree)
	spec.Tree = tree
	if spec.Origin, err = image.ReadOrigin(ctx, tree, spec.Epoch); err != nil {
		return errors.Join(err, tree.Close())
	}
	if spec.Origin.NoGit != "" {
		app.warn("no label %s: git says of %s: %s", image.LabelRevision, src, spec.Origin.NoGit)
	}
	if spec.Origin.Modified {
		app.warn("%s has changes that are in no commit; the label %s names HEAD", src, image.LabelRevision)
	}
	return nil
}

// connect opens the Engine or the buildkitd that builds.
func connect(ctx context.Context, app *app, builder string) (engine *image.Engine, err error) {
	if isBuildkitd(builder) {
		engine, err = image.ConnectBuildkitd(ctx, builder, app.getenv)
	} else {
		engine, err = image.Connect(ctx, strings.TrimPrefix(builder, "docker"), app.getenv)
	}
	if err != nil {
		return nil, err
	}
	engine.Secrets = app.secrets
	return engine, nil
}

// isBuildkitd tells whether a builder is a buildkitd, not an Engine.
func isBuildkitd(builder string) bool {
	return builder != "docker" && !strings.HasPrefix(builder, "ssh://")
}

// checkBuilder refuses a build whose image nobody would keep.
func checkBuilder(cfg config.Image) error {
	if !isBuildkitd(cfg.Builder) || cfg.Push {
		return nil
	}
	return usagef("builder %q: a bare buildkitd keeps no images, and this one is not pushed", cfg.Builder).
		withHint("add --push (image.push: true), or use an Engine: --builder docker, or ssh://host for one on another machine")
}

// buildSpec turns flags and configuration into what is wanted, without a look at the source.
func buildSpec(app *app, cfg config.Config, opts buildOptions) (image.Spec, error) {
	spec := image.Spec{
		Tags: opts.tags, Target: opts.target, CABundle: cfg.Image.CABundle, WebUIPackage: cfg.Image.WebUI.Package,
		Epoch: app.getenv("SOURCE_DATE_EPOCH"), NoCache: opts.noCache, Pull: opts.pull,
	}
	if len(spec.Tags) == 0 {
		spec.Tags = []string{cfg.Image.Name}
	}
	err := checkBuilder(cfg.Image)
	if err != nil {
		return spec, err
	}
	if spec.Platform, err = image.ParsePlatform(cfg.Image.Platform); err != nil {
		return spec, err
	}
	if spec.Dockerfile, err = image.LoadDockerfile(cfg.Image.Dockerfile); err != nil {
		return spec, err
	}
	if !spec.Dockerfile.HasManifest {
		app.warn("%s does not copy .hermesbox/manifest: hermesbox cannot verify the source in this image", dockerfileLabel(spec.Dockerfile))
	}
	if err := spec.Check(); err != nil {
		return spec, err
	}
	if err := checkBuild(cfg, spec, opts); err != nil {
		return spec, err
	}
	spec.BuildArgs = buildArgs(cfg.Image, spec.Dockerfile)
	spec.Secrets, err = readSecrets(opts.secrets, app.getenv)
	if spec.CABundle != "" && slices.ContainsFunc(spec.Secrets, func(s image.Secret) bool { return s.ID == image.CABundleSecret }) {
		return spec, usagef("--secret id=%s is what --ca-bundle passes", image.CABundleSecret).withHint("give one of the two")
	}
	for _, secret := range spec.Secrets {
		app.secret(strings.TrimSpace(string(secret.Value)))
	}
	return spec, err
}

// checkBuild refuses flags that contradict one another or the Dockerfile, and
// output files that could not be written after the build.
func checkBuild(cfg config.Config, spec image.Spec, opts buildOptions) error {
	if opts.base != "" && !spec.Dockerfile.HasBase {
		return usagef("--base %s: %s has no ARG BASE before its first FROM", opts.base, dockerfileLabel(spec.Dockerfile)).
			withHint("add ARG BASE and FROM ${BASE}, or leave --base away")
	}
	if base, ok := cfg.Image.BuildArgs["BASE"]; ok && spec.Dockerfile.HasBase {
		return usagef("build argument BASE=%s: hermesbox resolves and locks the base itself", base).withHint("name it with --base or image.base")
	}
	for _, file := range []string{opts.iidFile, opts.metadataFile} {
		if file == "" {
			continue
		}
		if err := image.CheckWritable(file); err != nil {
			return err
		}
	}
	return nil
}

// buildArgs are the arguments given, and those that configuration keys stand
// for where the Dockerfile takes them.
func buildArgs(cfg config.Image, dockerfile *image.Dockerfile) map[string]string {
	args := map[string]string{}
	if dockerfile.Declares("HERMES_EXTRAS") {
		args["HERMES_EXTRAS"] = strings.Join(cfg.HermesExtras, ",")
	}
	if dockerfile.Declares("WEB_UI_VERSION") {
		args["WEB_UI_VERSION"] = cfg.WebUI.Version
	}
	for name, value := range cfg.BuildArgs {
		args[name] = value
	}
	return args
}

// resolveBase fills in the base where the Dockerfile takes one.
func resolveBase(ctx context.Context, app *app, engine *image.Engine, spec *image.Spec, loaded *config.Loaded, opts buildOptions) error {
	if !spec.Dockerfile.HasBase {
		return nil
	}
	lock, err := image.ReadLock(filepath.Join(projectDir(loaded), image.LockName))
	if err != nil {
		return err
	}
	base, err := engine.ResolveBase(ctx, loaded.Config.Image.Base, spec.Platform, lock, opts.updateBase)
	if err != nil {
		return err
	}
	app.note("base %s (%s)", base.Name, base.Digest)
	spec.Base = base
	return nil
}

func dockerfileLabel(d *image.Dockerfile) string {
	if d.Path == "" {
		return "the embedded Dockerfile"
	}
	return d.Path
}

// printImage writes the files that were asked for, then the one line that the next command takes.
func printImage(app *app, engine *image.Engine, out io.Writer, img image.Image, opts buildOptions) error {
	if opts.iidFile != "" {
		if err := image.WriteFile(opts.iidFile, []byte(img.ID)); err != nil {
			return err
		}
	}
	if opts.metadataFile != "" {
		if err := engine.WriteMetadata(opts.metadataFile, img); err != nil {
			return err
		}
	}
	if app.output == "json" {
		return app.printJSON(img)
	}
	_, err := fmt.Fprintln(out, img.Ref())
	return err
}
