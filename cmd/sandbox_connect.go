package cmd

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/hermesbox/hermesbox/internal/envd"
	"github.com/hermesbox/hermesbox/internal/redact"
	"github.com/hermesbox/hermesbox/internal/term"
)

// connectScript becomes the user's login shell, or what it is given.
//
//go:embed sandbox_connect.sh
var connectScript string

// locale are the variables that say how text is shown, besides TERM.
var locale = []string{
	"COLORTERM", "LANG", "LANGUAGE", "LC_ALL", "LC_ADDRESS", "LC_COLLATE", "LC_CTYPE", "LC_IDENTIFICATION", "LC_MEASUREMENT",
	"LC_MESSAGES", "LC_MONETARY", "LC_NAME", "LC_NUMERIC", "LC_PAPER", "LC_TELEPHONE", "LC_TIME",
}

func newSandboxConnect(app *app) *cobra.Command {
	var opts commandOptions
	c := &cobra.Command{
		Use:   "connect SANDBOX",
		Short: "Open a shell in a sandbox",
		Long: "Connect opens the user's login shell on this terminal: every key goes to the sandbox, ^C and ^D too, and its exit code is hermesbox's. " +
			"TERM and the locale go along. Secrets of the sandbox are masked on the screen as far as they come in one piece; sandbox url --with-token shows the token.\n\n" +
			"It ends with the shell, or when the connection is lost; the terminal is then put back as it was.",
		Args: oneArg("a sandbox"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := refuseEmpty(cmd.Flags(), "user", "workdir"); err != nil {
				return err
			}
			return runOnTerminal(cmd.Context(), app, args[0], opts, nil)
		},
	}
	opts.AddFlags(c.Flags())
	return c
}

// runOnTerminal runs a command, or a shell where there is none, on the
// terminal of this process.
func runOnTerminal(ctx context.Context, app *app, name string, opts commandOptions, argv []string) error {
	screen, err := term.Open(app.in, app.rawOut)
	if err != nil {
		return usagef("standard input and output are to be a terminal: %w", err).
			withHint("hermesbox sandbox exec %s -- COMMAND works without one", name)
	}
	flags, err := opts.variables(app)
	if err != nil {
		return err
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
	cmd := opts.command(in, flags, "/bin/sh", append([]string{"-c", connectScript, "sh"}, argv...)...)
	for _, name := range append([]string{"TERM"}, locale...) {
		if _, given := cmd.Env[name]; !given && app.getenv(name) != "" {
			cmd.Env[name] = app.getenv(name)
		}
	}
	return insideFailed(t.Title(), app.attach(ctx, service, screen, cmd))
}

// attach runs a command on a terminal until it ends. However it ends, the
// terminal is put back first.
func (a *app) attach(ctx context.Context, service *envd.Client, screen *term.Terminal, cmd envd.Command) error {
	columns, rows := screen.Size()
	cmd.Terminal = &envd.Size{Columns: columns, Rows: rows}
	p, err := service.Start(ctx, cmd)
	if err != nil {
		return err
	}
	exit, err := a.session(ctx, service, p, screen)
	if err != nil {
		return errors.Join(err, screen.Clear())
	}
	return statusOf(exit)
}

// session passes keys, output and sizes between a terminal and a process.
func (a *app) session(ctx context.Context, service *envd.Client, p *envd.Process, screen *term.Terminal) (envd.Exit, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if err := screen.Raw(); err != nil {
		cancel(err)
		_, err := p.Wait(ctx, envd.Output{})
		return envd.Exit{}, err
	}
	defer screen.Guard()
	defer context.AfterFunc(ctx, func() { _ = screen.Restore() })() // killing the command may take its time
	hangUp := sync.OnceFunc(func() { hangUpProcess(ctx, service, p.PID) })
	screen.OnHangup(hangUp)
	go passKeys(ctx, cancel, p, screen, hangUp)
	go passSizes(ctx, service, p.PID, screen)
	go endWithProcess(ctx, service, p.PID, screen)
	shown := a.secrets.Stream(screen, redact.Kind{Screen: true, Patience: 25 * time.Millisecond})
	exit, err := p.Wait(ctx, envd.Output{Stdout: shown})
	return exit, errors.Join(err, shown.Close(), screen.Restore())
}

// goneScript ends when the process $1 has ended, reaped or not.
const goneScript = `while read -r _ _ state _ <"/proc/$1/stat" && [ "$state" != Z ]; do sleep 1; done 2>/dev/null`

// endWithProcess ends the stream of a process that has ended while its jobs
// still have the terminal: the command service waits for those, which keys
// reach no more. They live on.
func endWithProcess(ctx context.Context, service *envd.Client, pid int, screen *term.Terminal) {
	defer screen.Guard()
	watch := envd.Command{Path: "/bin/sh", Args: []string{"-c", goneScript, "sh", strconv.Itoa(pid)}, Dir: "/"}
	exit, err := service.Run(ctx, watch, nil, envd.Output{})
	if err == nil && exit.OK() && sleep(ctx, 500*time.Millisecond) { // what it wrote last
		_ = service.Signal(ctx, pid, envd.Kill) // it reaches nothing, and ends the stream
	}
}

// hangupScript tells the process $1 that its terminal is gone, and waits a moment until it has ended.
const hangupScript = `kill -HUP "$1" 2>/dev/null
for _ in 1 2 3 4 5 6 7 8 9 10; do
	{ read -r _ _ state _ <"/proc/$1/stat"; } 2>/dev/null && [ "$state" != Z ] || exit 0
	sleep 0.1
done`

// hangupPatience is how long this process lives on after its terminal has gone.
const hangupPatience = 5 * time.Second

// hangUpProcess does for a process what its own kernel would where its terminal
// were here: a shell ends, and so do its jobs, but not those that do not mind.
func hangUpProcess(ctx context.Context, service *envd.Client, pid int) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), hangupPatience)
	defer cancel()
	tell := envd.Command{Path: "/bin/sh", Args: []string{"-c", hangupScript, "sh", strconv.Itoa(pid)}, Dir: "/"}
	_, _ = service.Run(ctx, tell, nil, envd.Output{}) // nobody is left to be told
}

// passKeys types into the process what is typed here, until it ends.
func passKeys(ctx context.Context, lost context.CancelCauseFunc, p *envd.Process, screen *term.Terminal, hangUp func()) {
	defer screen.Guard()
	buf := make([]byte, 32<<10)
	for {
		n, err := screen.Read(buf)
		if sending := p.Send(ctx, buf[:n]); sending != nil && !errors.Is(sending, envd.ErrNotFound) && ctx.Err() == nil {
			var answered *envd.Error
			if !errors.As(sending, &answered) || answered.Code != "internal" { // it is just ending: Wait will tell
				lost(fmt.Errorf("%w: %w", envd.ErrCut, sending))
				return
			}
		}
		if err != nil {
			if ctx.Err() == nil {
				hangUp()
			}
			lost(fmt.Errorf("reading the terminal: %w", err))
			return
		}
	}
}

// passSizes tells the process of each new size.
func passSizes(ctx context.Context, service *envd.Client, pid int, screen *term.Terminal) {
	defer screen.Guard()
	changes := screen.Resized(ctx)
	for {
		columns, rows := screen.Size()                                        // it may have changed during the start too
		_ = service.Resize(ctx, pid, envd.Size{Columns: columns, Rows: rows}) // the next one may work
		select {
		case <-ctx.Done():
			return
		case <-changes:
		}
	}
}
