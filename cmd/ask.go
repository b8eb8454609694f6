package cmd

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
)

// errDeclined ends a command whose question was answered with no.
var errDeclined = errors.New("nothing was changed")

// confirm asks before something is deleted or overwritten. Elsewhere than on a
// terminal it takes --yes.
func (a *app) confirm(ctx context.Context, question string) error {
	if a.yes {
		return nil
	}
	if !isTerminal(a.in) {
		return usagef("%s needs --yes where no terminal can be asked", question).withHint("add --yes if that is what you want")
	}
	fmt.Fprintf(a.err, "hermesbox: %s? [y/N] ", question)
	answer, err := readLine(ctx, a.in)
	if err != nil {
		return err
	}
	if word := strings.ToLower(strings.TrimSpace(answer)); word != "y" && word != "yes" {
		return errDeclined
	}
	return nil
}

// readLine reads one line, or gives up when ctx ends; the reader then stays
// with a terminal that this process is about to leave.
func readLine(ctx context.Context, in io.Reader) (string, error) {
	type outcome struct {
		line string
		err  error
	}
	done := make(chan outcome, 1)
	go func() {
		line, err := bufio.NewReader(in).ReadString('\n')
		done <- outcome{line, err}
	}()
	select {
	case <-ctx.Done():
		return "", context.Cause(ctx)
	case o := <-done:
		if o.err != nil && !errors.Is(o.err, io.EOF) {
			return "", fmt.Errorf("reading the answer: %w", o.err)
		}
		return o.line, nil
	}
}
