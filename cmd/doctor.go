package cmd

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/hermesbox/hermesbox/image"
	"github.com/hermesbox/hermesbox/internal/check"
	"github.com/hermesbox/hermesbox/internal/config"
)

// diagnosis is what doctor prints as JSON.
type diagnosis struct {
	Status check.Status  `json:"status"`
	Checks []check.Check `json:"checks"`
}

func newDoctor(app *app) *cobra.Command {
	return &cobra.Command{
		Use:   "doctor [SOURCE]",
		Short: "Look at everything that hermesbox needs, and say what is missing",
		Long: `Doctor looks at the whole chain, at all of it at once: Docker, its BuildKit, the platform,
the base image and the disk; the registry, certificates and packages that a build is
given; the source and git; the Cube of the configuration, whether it lets us in, its
version, nodes and clock; the name and the proxy by which sandboxes are reached; the outbound
policy and the model endpoints; each node; the public skills; a browser.

What is not configured is skipped. Each finding says what to do. It exits 3 where
something is missing, and waits for nobody longer than a minute. It changes nothing; on
nodes it tries the file system out in a directory of its own, which it removes.`,
		Example: "  hermesbox doctor\n  hermesbox --cube local doctor --output json ~/src/hermes-agent",
		Args:    maxArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runDoctor(cmd.Context(), app, app.out, args)
		},
	}
}

func runDoctor(ctx context.Context, app *app, out io.Writer, args []string) error {
	if len(args) > 0 && args[0] == stdinSource {
		return usagef("doctor reads no tar").withHint("name the directory of a Hermes Agent checkout")
	}
	loaded, err := app.config()
	if err != nil {
		return err
	}
	spec, err := doctorSpec(loaded)
	if err != nil {
		return err
	}
	checks := together(ctx, app.exams(loaded, spec, args)...)
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	for i, c := range checks {
		checks[i].Remedy = visible(app.repeatable(c.Remedy))
	}
	found := diagnosis{Status: check.Worst(checks), Checks: checks}
	if app.output == "json" {
		err = app.printJSON(found)
	} else {
		err = printChecks(out, visibleChecks(checks))
	}
	if err == nil && found.Status == check.Fail {
		return errChecks
	}
	return err
}

// exams are all that doctor looks at, in the order in which it is printed.
func (a *app) exams(loaded *config.Loaded, spec image.DoctorSpec, args []string) []exam {
	cfg := loaded.Config
	return []exam{
		func(ctx context.Context) []check.Check { return a.examineEngine(ctx, cfg, spec) },
		one("ca-bundle", "the certificates for builds are good", "see whether its disk answers", func(context.Context) check.Result { return image.CheckCABundle(cfg.Image.CABundle) }),
		one("web-ui-package", "the Web UI's package is one", "see whether its disk answers", func(context.Context) check.Result { return image.CheckPackage(cfg.Image.WebUI.Package) }),
		func(ctx context.Context) []check.Check { return a.examineSource(ctx, loaded, args) },
		func(ctx context.Context) []check.Check { return a.examineCube(ctx, cfg) },
		one("egress", "the outbound policy can work", "", func(context.Context) check.Result { return examineEgress(loaded) }),
		one("models", "the model endpoints answer", "see whether curl gets an answer there", func(ctx context.Context) check.Result { return a.examineModels(ctx, loaded) }),
		func(ctx context.Context) []check.Check { return a.examineNodes(ctx, cfg) },
		one("skills", "the public skills are fit for Hermes", "see whether the disk of skills.source answers", func(context.Context) check.Result { return examineSkills(loaded) }),
		one("browser", "sandbox open finds a browser", "", func(context.Context) check.Result { return a.examineBrowser() }),
	}
}
