package cmd

import (
	"context"
	"errors"
	"io"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hermesbox/hermesbox/internal/check"
	"github.com/hermesbox/hermesbox/internal/config"
	"github.com/hermesbox/hermesbox/sandbox"
	"github.com/hermesbox/hermesbox/sandbox/verify"
)

// verifyOptions are the flags of verify.
type verifyOptions struct {
	only, skip     []string
	template, node string
	list           bool
}

func (o *verifyOptions) AddFlags(flags *pflag.FlagSet) {
	flags.StringSliceVar(&o.only, "only", nil, "make these checks alone: `ids`, separated by commas")
	flags.StringSliceVar(&o.skip, "skip", nil, "leave these checks out: `ids`, separated by commas")
	flags.StringVar(&o.template, "template", "", "without SANDBOX: `template` to verify, an id or a name (default: CUBE_TEMPLATE_ID, else the newest READY one of template.name)")
	flags.StringVar(&o.node, "node", "", "without SANDBOX: configured `node` to use")
	flags.BoolVar(&o.list, "list", false, "list the checks and what each needs, and do nothing")
}

func newVerify(app *app) *cobra.Command {
	var opts verifyOptions
	cmd := &cobra.Command{
		Use:   "verify [SANDBOX]",
		Short: "Prove that a sandbox works, from inside and outside",
		Long: `Verify checks a sandbox from inside, through its command service, and from outside, through the
proxy and on its node. Each check passes, warns, fails or is skipped with a reason; one that cannot
be judged because another failed says so. It exits 3 where a check fails.

Without SANDBOX it makes sandboxes of its own, on a home and a workspace that nobody else has, and
removes all of it whatever happens. Then it also proves that a rebuilt sandbox goes on where the
first ended, and that nothing of it is seen from elsewhere.

It writes nothing into a home or workspace but marks, which it removes. --output junit writes XML
for CI systems. docs/verification.md tells for each check how the fact is found by hand.`,
		Example: `  hermesbox verify
  hermesbox verify alice --skip agent-turn
  hermesbox verify --output junit >report.xml`,
		Args:        maxArgs(1),
		Annotations: map[string]string{moreFormats: "junit"},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := refuseEmpty(cmd.Flags(), "template", "node"); err != nil {
				return err
			}
			if opts.list {
				return printCheckList(app, app.out)
			}
			if len(args) == 0 {
				return runVerify(cmd.Context(), app, app.out, opts, "")
			}
			if args[0] == "" {
				return usagef("SANDBOX is empty").withHint("name a sandbox, or leave it away")
			}
			return runVerify(cmd.Context(), app, app.out, opts, args[0])
		},
	}
	opts.AddFlags(cmd.Flags())
	return cmd
}

// runVerify verifies a sandbox, or a template where none is named.
func runVerify(ctx context.Context, app *app, out io.Writer, opts verifyOptions, nameOrID string) error {
	if err := verify.CheckIDs(opts.only, opts.skip); err != nil {
		return verifyFailed(err)
	}
	if nameOrID != "" && (opts.template != "" || opts.node != "") {
		return usagef("--template and --node are for a sandbox of verify's own").withHint("leave SANDBOX away, or the flags")
	}
	report, err := app.verified(ctx, opts, nameOrID)
	if len(report.Checks) > 0 { // also where something could not be removed afterwards
		err = errors.Join(err, app.printReport(out, report))
	}
	if err != nil {
		return verifyFailed(err)
	}
	if report.Status == check.Fail {
		return errChecks
	}
	return nil
}

func (a *app) verified(ctx context.Context, opts verifyOptions, nameOrID string) (verify.Report, error) {
	loaded, err := a.config()
	if err != nil {
		return verify.Report{}, err
	}
	if nameOrID == "" {
		return a.verifyTemplate(ctx, loaded.Config, opts)
	}
	t, err := a.target(ctx, nameOrID)
	if err != nil {
		return verify.Report{}, err
	}
	defer t.close()
	if _, err := a.lookInside(ctx, t.service); err != nil && a.verbose {
		a.note("%v", err) // the checks tell more
	}
	o, err := t.verifyOptions(ctx, t.Template, opts)
	if err != nil {
		return verify.Report{}, err
	}
	a.note("verifying sandbox %s", printable(t.Title()))
	return verify.Run(ctx, t.client, t.Sandbox, o)
}

// verifyTemplate verifies a template with sandboxes that live only for that.
func (a *app) verifyTemplate(ctx context.Context, cfg config.Config, opts verifyOptions) (verify.Report, error) {
	if err := checkNode(cfg, opts.node); err != nil {
		return verify.Report{}, err
	}
	spec := sandbox.Spec{Node: opts.node}
	all, err := a.makeSandboxes(ctx, cfg, opts.template, &spec)
	if err != nil {
		return verify.Report{}, err
	}
	defer all.close()
	return all.smoke(ctx, spec, opts)
}

// smoke verifies with sandboxes that live only for that.
func (s *sandboxes) smoke(ctx context.Context, spec sandbox.Spec, opts verifyOptions) (verify.Report, error) {
	if spec.Template == "" {
		spec.Template = s.client.Latest.ID
	}
	if spec.Template == "" {
		return verify.Report{}, sandbox.ErrNoTemplate
	}
	o, err := s.verifyOptions(ctx, spec.Template, opts)
	if err != nil {
		return verify.Report{}, err
	}
	o.Notes, o.Where = s.runNotes()
	defer surviveBrokenPipe()() // nobody reading what is told is no reason to leave sandboxes behind
	whole, stop := hungUp(ctx)
	defer stop()
	report, err := verify.Smoke(whole, s.client, spec, o)
	if whole.Err() != nil && ctx.Err() == nil {
		err = errors.Join(errTerminated, err)
	}
	return report, err
}

// hungUp is ctx that also ends with the terminal, which otherwise ends this
// process at once, unless it was started with nohup.
func hungUp(ctx context.Context) (whole context.Context, stop func()) {
	if signal.Ignored(syscall.SIGHUP) {
		return ctx, func() {}
	}
	return signal.NotifyContext(ctx, syscall.SIGHUP)
}

// verifyFailed gives an error of a verification its exit code and the next step.
func verifyFailed(err error) error {
	if errors.Is(err, verify.ErrCheck) {
		return usagef("%w", err).withHint("hermesbox verify --list tells what each check is about")
	}
	return sandboxFailed(err)
}
