package cmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// The sources of sandbox logs.
const (
	sourceWebUI   = "webui"
	sourceGateway = "gateway"
	sourceService = "command-service"
)

var logSources = []string{sourceWebUI, sourceGateway, sourceService}

// sandboxLogsOptions are the flags of sandbox logs.
type sandboxLogsOptions struct {
	source string
	follow bool
	tail   int
}

func (o *sandboxLogsOptions) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.source, "source", sourceWebUI, "whose `log`: "+strings.Join(logSources, ", "))
	flags.BoolVarP(&o.follow, "follow", "f", false, "go on with what is written from now on, until interrupted")
	flags.IntVar(&o.tail, "tail", 200, "`number` of lines from the end of each file; -1 for all")
}

func (o *sandboxLogsOptions) check(output string) error {
	switch {
	case !slices.Contains(logSources, o.source):
		return usagef("--source %q is none", o.source).withHint("use %s", strings.Join(logSources, ", "))
	case o.tail < -1:
		return usagef("--tail %d is no number of lines", o.tail).withHint("use 0 or more, or -1 for all")
	case o.follow && output == "json":
		return usagef("--follow and --output json do not go together").withHint("leave one of them away")
	}
	return nil
}

func newSandboxLogs(app *app) *cobra.Command {
	var opts sandboxLogsOptions
	c := &cobra.Command{
		Use:   "logs SANDBOX",
		Short: "Print what a sandbox has logged",
		Long: "Logs prints the end of the logs of the Web UI, of the Hermes gateway, or of the sandbox itself as Cube keeps it (command-service). " +
			"With more than one file each line begins with the file's name. Secrets are masked, tokens that a log announces among them; " +
			"control characters are written as escapes, colours are left out.",
		Args: oneArg("a sandbox"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runSandboxLogs(cmd.Context(), app, args[0], opts)
		},
	}
	opts.AddFlags(c.Flags())
	return c
}

func runSandboxLogs(ctx context.Context, app *app, name string, opts sandboxLogsOptions) error {
	if err := opts.check(app.output); err != nil {
		return err
	}
	t, err := app.target(ctx, name)
	if err != nil {
		return err
	}
	defer t.close()
	if opts.source == sourceService && t.State != "" && t.State != "running" {
		return t.serviceLogs(ctx, opts) // a look does not wake it; what is masked is what hermesbox knows
	}
	if _, err := app.lookInside(ctx, t.service); err != nil {
		return insideFailed(t.Title(), err)
	}
	if opts.source == sourceService {
		return t.serviceLogs(ctx, opts)
	}
	return t.fileLogs(ctx, opts)
}

// fileLogs prints files of the sandbox.
func (t *target) fileLogs(ctx context.Context, opts sandboxLogsOptions) error {
	files, err := t.logFiles(ctx, opts.source)
	if err != nil {
		return insideFailed(t.Title(), err)
	}
	if len(files) == 0 {
		return &failure{err: fmt.Errorf("%s has no log of %s yet", t.Title(), opts.source), code: exitFailed, hint: logHint(opts.source)}
	}
	out := newLogPrinter(t.app, files)
	following, stop := t.whileRunning(ctx, opts.follow)
	err = errors.Join(t.tail(following, files, opts, out), out.finish())
	stop()
	return insideFailed(t.Title(), t.followed(ctx, opts, err))
}

// logHint is the next step where there is nothing to print.
func logHint(source string) string {
	if source == sourceGateway {
		return "the Web UI starts the gateway: see --source webui"
	}
	return "the Web UI writes it once it was started; --source command-service is the sandbox's own log"
}
