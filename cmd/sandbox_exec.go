package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hermesbox/hermesbox/internal/envd"
	"github.com/hermesbox/hermesbox/internal/redact"
)

// sandboxExecOptions are the flags of sandbox exec.
type sandboxExecOptions struct {
	commandOptions
	interactive, tty bool
}

func (o *sandboxExecOptions) AddFlags(flags *pflag.FlagSet) {
	o.commandOptions.AddFlags(flags)
	flags.BoolVarP(&o.interactive, "interactive", "i", false, "pass standard input on where it is a terminal too")
	flags.BoolVarP(&o.tty, "tty", "t", false, "run the command on this terminal, as connect does")
}

func newSandboxExec(app *app) *cobra.Command {
	var opts sandboxExecOptions
	c := &cobra.Command{
		Use:   "exec SANDBOX -- COMMAND [ARG...]",
		Short: "Run a command in a sandbox",
		Long: "Exec runs a command as it is, without a shell, and passes standard input (where that is no terminal), standard output, standard " +
			"error and the exit code on; 128 and the signal's number where a signal ended it. As root it has the environment of the Web UI. Interrupted, it kills the " +
			"command and what that started, and exits 130.\n\n" +
			"Secrets of the sandbox are masked in what the command writes; in binary data the mask is as long as the secret, and a warning tells of it.\n\n" +
			"When hermesbox itself fails, the last line on standard error begins with hermesbox: error. To tell the two apart for certain use --output json: " +
			"standard output has a document, with exit_code, stdout and stderr in it, exactly where the command ran to its end.",
		Example: "  hermesbox sandbox exec alice -- hermes skills list\n  tar -cf - data | hermesbox sandbox exec alice -- tar -xf - -C /workspace",
		Args:    commandArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := refuseEmpty(cmd.Flags(), "user", "workdir"); err != nil {
				return err
			}
			return runSandboxExec(cmd.Context(), app, args[0], args[1:], opts)
		},
	}
	opts.AddFlags(c.Flags())
	c.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usagef("%w", err).withHint("put -- before the command: %s", cmd.UseLine())
	})
	return c
}

// commandArgs wants a sandbox and a command.
func commandArgs(cmd *cobra.Command, args []string) error {
	if len(args) < 2 || args[0] == "" || args[1] == "" {
		return usagef("%s wants a sandbox and a command, got %q", cmd.CommandPath(), args).withHint("%s", cmd.UseLine())
	}
	return nil
}

func runSandboxExec(ctx context.Context, app *app, name string, argv []string, opts sandboxExecOptions) error {
	flags, err := opts.variables(app)
	if err != nil {
		return err
	}
	if opts.tty {
		if app.output == "json" {
			return usagef("--tty and --output json do not go together").withHint("leave one of them away")
		}
		return runOnTerminal(ctx, app, name, opts.commandOptions, argv)
	}
	t, err := app.target(ctx, name)
	if err != nil {
		return err
	}
	defer t.close()
	in, err := app.lookInside(ctx, t.service)
	if err != nil {
		return insideFailed(t.Title(), err)
	}
	service, err := t.serviceAs(opts.user)
	if err != nil {
		return err
	}
	defer service.Close()
	defer surviveBrokenPipe()()
	cmd := opts.command(in, flags, argv[0], argv[1:]...)
	return insideFailed(t.Title(), app.exec(ctx, service, cmd, opts.stdin(app.in)))
}

// stdin is what the command reads, nil for nothing.
func (o *sandboxExecOptions) stdin(in io.Reader) io.Reader {
	if in == nil || isTerminal(in) && !o.interactive {
		return nil
	}
	return in
}

// exec runs a command and passes everything on.
func (a *app) exec(ctx context.Context, service *envd.Client, cmd envd.Command, stdin io.Reader) error {
	if a.output == "json" {
		return a.execDocument(ctx, service, cmd, stdin)
	}
	kind := redact.Kind{Binary: true, Patience: 250 * time.Millisecond}
	out, errOut := a.secrets.Stream(a.rawOut, kind), a.secrets.Stream(a.rawErr, kind)
	exit, err := runFed(ctx, service, cmd, stdin, envd.Output{Stdout: out, Stderr: errOut})
	err = errors.Join(err, out.Close(), errOut.Close())
	if n := out.Masked(); n > 0 && !isTerminal(a.rawOut) {
		a.warn("%d secret(s) in the output of the command are masked: it is not byte for byte what the command wrote", n)
	}
	if err != nil {
		return err
	}
	return statusOf(exit)
}

// executed is a command that ran to its end.
type executed struct {
	ExitCode int    `json:"exit_code"`
	Signal   string `json:"signal"`
	// Stdout and Stderr are text; what is none has an empty text and the bytes
	// in the other field.
	Stdout     string `json:"stdout"`
	Stderr     string `json:"stderr"`
	StdoutB64  []byte `json:"stdout_b64,omitempty"`
	StderrB64  []byte `json:"stderr_b64,omitempty"`
	DurationMS int64  `json:"duration_ms"`
}

// documentLimit is how much of each stream a document holds.
const documentLimit = 16 << 20

// execDocument runs a command and prints what came of it.
func (a *app) execDocument(ctx context.Context, service *envd.Client, cmd envd.Command, stdin io.Reader) error {
	out, errOut := &limited{left: documentLimit}, &limited{left: documentLimit}
	begin := time.Now()
	exit, err := runFed(ctx, service, cmd, stdin, envd.Output{Stdout: out, Stderr: errOut})
	if errors.Is(err, errTooMuch) {
		return &failure{err: fmt.Errorf("the command wrote more than %d bytes, which is what a JSON document holds: %w", documentLimit, err), code: exitFailed, hint: "leave --output json away"}
	}
	if err != nil {
		return err
	}
	doc := executed{Signal: exit.Signal, DurationMS: time.Since(begin).Milliseconds()}
	doc.Stdout, doc.StdoutB64 = textOrBytes(out.Bytes())
	doc.Stderr, doc.StderrB64 = textOrBytes(errOut.Bytes())
	status := statusOf(exit)
	if code := exitStatus(0); errors.As(status, &code) {
		doc.ExitCode = int(code)
	}
	return errors.Join(a.printJSON(doc), status)
}

// textOrBytes gives what is text as text.
func textOrBytes(data []byte) (text string, other []byte) {
	if utf8.Valid(data) {
		return string(data), nil
	}
	return "", data
}

// runFed runs a command and feeds it. Other than the service's own Run it does
// not wait for an input that never ends: that of a CI job may not.
func runFed(ctx context.Context, service *envd.Client, cmd envd.Command, stdin io.Reader, out envd.Output) (envd.Exit, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	cmd.Stdin = stdin != nil
	p, err := service.Start(ctx, cmd)
	if err != nil {
		return envd.Exit{}, err
	}
	if stdin != nil {
		go func() {
			if err := p.Input(ctx, stdin); err != nil { // the command must not wait for the rest
				cancel(fmt.Errorf("passing standard input on: %w", err))
			}
		}()
	}
	exit, err := p.Wait(ctx, out)
	if err == nil || ctx.Err() != nil || errors.Is(err, envd.ErrCut) {
		return exit, err
	}
	// Nobody reads its output any more.
	err = errors.Join(err, service.KillTree(context.WithoutCancel(ctx), p.PID))
	if errors.Is(err, syscall.EPIPE) {
		return exit, exitStatus(128 + int(syscall.SIGPIPE))
	}
	return exit, err
}

// surviveBrokenPipe makes a write to a closed pipe an error instead of the end
// of this process, which would leave the command running.
func surviveBrokenPipe() (stop func()) {
	ignored := make(chan os.Signal, 1)
	signal.Notify(ignored, syscall.SIGPIPE)
	return func() { signal.Stop(ignored) }
}
