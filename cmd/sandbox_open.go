package cmd

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/hermesbox/hermesbox/sandbox"
)

func newSandboxOpen(app *app) *cobra.Command {
	return &cobra.Command{
		Use:   "open SANDBOX",
		Short: "Open the Web UI of a sandbox in a browser",
		Long: "Open opens the Web UI in the browser of this machine, with the token in the address. Command lines can be read by others, so what the browser is started with is " +
			"an address on loopback that works once and leads on. The browser must reach the sandbox's host name; where it cannot, " +
			"see hermesbox sandbox forward.",
		Args: oneArg("a sandbox"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runSandboxOpen(cmd.Context(), app, args[0])
		},
	}
}

// browserTimeout is how long a browser may take to ask.
const browserTimeout = time.Minute

func runSandboxOpen(ctx context.Context, app *app, name string) error {
	opener, err := browser()
	if err != nil {
		return &failure{err: err, code: exitFailed, hint: fmt.Sprintf("hermesbox sandbox url %s --with-token prints the address", name)}
	}
	t, err := app.target(ctx, name)
	if err != nil {
		return err
	}
	defer t.close()
	address, token, err := t.webUI(ctx)
	full := withToken(address, token)
	if errors.Is(err, sandbox.ErrUsers) { // it will ask
		address, err = t.client.Route.WebUI(t.Sandbox), nil
		full = address
	}
	if err != nil {
		return err
	}
	if err := app.browse(ctx, opener, full, browserTimeout); err != nil {
		hint := fmt.Sprintf("hermesbox sandbox url %s --with-token prints the address", name)
		return &failure{err: err, code: exitFailed, hint: hint}
	}
	app.note("opened %s", address)
	return nil
}

// withToken is the address as a browser wants it.
func withToken(address, token string) string { return address + "#/?token=" + queryEscape(token) }

// browser is the program that opens an address.
func browser() (string, error) {
	name := "xdg-open"
	if runtime.GOOS == "darwin" {
		name = "open"
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("no program opens a browser: %w", err)
	}
	return path, nil
}

// browse has a browser open an address that no command line may show.
func (a *app) browse(ctx context.Context, opener, address string, timeout time.Duration) error {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, errNoBrowser)
	defer cancel()
	door, err := openDoor(ctx, address)
	if err != nil {
		return err
	}
	defer door.close()
	// It outlives this process, so it is given none of its streams and no ^C.
	cmd := exec.CommandContext(context.WithoutCancel(ctx), opener, door.address)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("starting %s: %w", opener, err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		select {
		case <-door.used:
			return nil
		case err := <-ended:
			if err != nil {
				return fmt.Errorf("%s: %w", opener, err)
			}
			ended = nil // it has told a browser, which may still come
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// errNoBrowser means that the address was not asked for in time.
var errNoBrowser = errors.New("no browser asked for the address")
