package procs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// The texts are the real service's answers.
var (
	errNoStdin  = errors.New("error writing to stdin: stdin not enabled or closed")
	errNotTTY   = errors.New("error writing to tty: tty not assigned to process — input should be written to the stdin, not the tty")
	errIsTTY    = errors.New("error writing to stdin: tty assigned to process — input should be written to the pty, not the stdin")
	errCloseTTY = errors.New("error closing stdin: cannot close stdin for PTY process — send Ctrl+D (0x04) instead")
	errResize   = errors.New("error resizing tty: tty not assigned to process")
)

// input is the writable end of a process, used by one caller at a time.
type input struct {
	turn chan struct{} // holds a token while nobody writes
	file *os.File
	name string
}

func newInput(f *os.File, name string) *input {
	in := &input{turn: make(chan struct{}, 1), file: f, name: name}
	in.turn <- struct{}{}
	return in
}

// acquire fails for a caller whose time is up, even where nobody writes.
func (in *input) acquire(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case <-in.turn:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (in *input) release() { in.turn <- struct{}{} }

// write blocks while the other end is full, until ctx ends or the process does.
func (in *input) write(ctx context.Context, b []byte) error {
	if err := in.acquire(ctx); err != nil {
		return err
	}
	defer in.release()
	expired := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(expired)
		_ = in.file.SetWriteDeadline(time.Now()) // fails only on a closed file, which ends the write too
	})
	_, err := in.file.Write(b)
	if !stop() {
		<-expired
		_ = in.file.SetWriteDeadline(time.Time{}) // the next writer must not meet this one's deadline
	}
	switch {
	case errors.Is(err, os.ErrClosed):
		return errNoStdin
	case errors.Is(err, os.ErrDeadlineExceeded):
		return ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("error writing to %s: %w", in.name, err)
	}
	return nil
}

// close waits for its turn, so that what was sent before is written; closing twice is fine.
func (in *input) close(ctx context.Context) error {
	if err := in.acquire(ctx); err != nil {
		return err
	}
	defer in.release()
	return in.abandon()
}

// abandon closes at once: a blocked write fails.
func (in *input) abandon() error {
	if err := in.file.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		return fmt.Errorf("error closing %s: %w", in.name, err)
	}
	return nil
}
