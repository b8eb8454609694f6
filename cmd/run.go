// Package cmd is the command line of hermesbox: it parses flags, builds the
// clients that a command needs, prints results and turns errors into words and
// exit codes. It holds no logic of a stage; that is in the packages it calls.
//
// Standard output carries data only. Progress, warnings and errors go to
// standard error. No command exits the process: [Run] returns the exit code.
package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// System is what a process gives to a run: its streams and environment.
type System struct {
	In     io.Reader
	Out    io.Writer
	Err    io.Writer
	Getenv func(string) string
}

// Exit codes, a promise to users.
const (
	exitDone        = 0
	exitFailed      = 1
	exitUsage       = 2
	exitChecks      = 3
	exitAuth        = 4
	exitPartly      = 5
	exitInterrupted = 130
)

// errInterrupted is the cause of a context that a signal ended; errTerminated
// is that of SIGTERM, by which a service is asked to end. errStopped is a server
// that was interrupted and has said so itself.
var (
	errInterrupted = errors.New("interrupted")
	errTerminated  = fmt.Errorf("terminated: %w", errInterrupted)
	errStopped     = errors.New("stopped")
)

// Run executes one command line (without the program's name) and returns its
// exit code. An interrupt or a termination signal cancels ctx and ends in 130;
// a second one ends the process at once.
func Run(ctx context.Context, sys System, args []string) int {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer onSignal(cancel)()
	app := newApp(sys)
	root := newRoot(app)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err != nil && !errors.Is(err, errStopped) && errors.Is(context.Cause(ctx), errInterrupted) {
		err = errInterrupted // a command that was done all the same is done
	}
	code := exitInterrupted
	if !errors.Is(err, errStopped) {
		code = app.report(err)
	}
	if err := app.close(); err != nil && code == exitDone {
		return exitFailed
	}
	return code
}

// onSignal cancels with errInterrupted or errTerminated at the first signal;
// the next one ends the process. The caller calls stop.
func onSignal(cancel context.CancelCauseFunc) (stop func()) {
	signals, done := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case <-done:
		case s := <-signals:
			signal.Stop(signals)
			if s == syscall.SIGTERM {
				cancel(errTerminated)
				return
			}
			cancel(errInterrupted)
		}
	}()
	return func() {
		signal.Stop(signals)
		close(done)
		<-ended
	}
}
