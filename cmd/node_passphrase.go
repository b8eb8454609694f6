package cmd

import (
	"context"
	"fmt"
	"os"
	"sync"

	"golang.org/x/term"
)

// passphrases asks for the passphrases of keys, one after the other; nil where
// there is no terminal to ask on.
func (a *app) passphrases(ctx context.Context) func(prompt string) ([]byte, error) {
	f, ok := a.in.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return nil
	}
	var one sync.Mutex
	return func(prompt string) ([]byte, error) {
		one.Lock()
		defer one.Unlock()
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		fmt.Fprintf(a.rawErr, "%s", printable(prompt)) // at once: the masking holds back what has no line end
		secret, err := readHidden(ctx, int(f.Fd()))
		fmt.Fprintln(a.rawErr)
		a.secrets.Add(string(secret))
		return secret, err
	}
}

// readHidden reads a line that is not shown. Where ctx ends the terminal is put
// back, and the goroutine that reads is left to the next line.
func readHidden(ctx context.Context, fd int) ([]byte, error) {
	before, err := term.GetState(fd)
	if err != nil {
		return nil, fmt.Errorf("reading the terminal's state: %w", err)
	}
	type line struct {
		secret []byte
		err    error
	}
	read := make(chan line, 1)
	go func() {
		secret, err := term.ReadPassword(fd)
		read <- line{secret, err}
	}()
	select {
	case l := <-read:
		return l.secret, l.err
	case <-ctx.Done():
		_ = term.Restore(fd, before) // the run ends anyway
		return nil, context.Cause(ctx)
	}
}
