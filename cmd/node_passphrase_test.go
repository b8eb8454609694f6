package cmd

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/term"
)

// onTerminal is an app whose input is a terminal, and the other end of it.
func onTerminal(t *testing.T, shown io.Writer) (a *app, keys io.ReadWriter, fd int) {
	t.Helper()
	master, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(master.Close(), tty.Close()); err != nil {
			t.Error(err)
		}
	})
	sys := System{In: tty, Out: io.Discard, Err: shown, Getenv: func(string) string { return "" }}
	return newApp(sys), master, int(tty.Fd())
}

func TestPassphrase(t *testing.T) {
	t.Parallel()
	var shown bytes.Buffer
	a, keys, _ := onTerminal(t, &shown)
	ask := a.passphrases(t.Context())
	if _, err := io.WriteString(keys, "correct horse\nbattery\n"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"correct horse", "battery"} {
		if got, err := ask("Passphrase for\x1b[2J '/k': "); err != nil || string(got) != want {
			t.Errorf("asked: %q, %v, want %q", got, err, want)
		}
	}
	if text := shown.String(); !strings.Contains(text, "Passphrase for") || strings.Contains(text, "\x1b") || strings.Contains(text, "horse") {
		t.Errorf("shown: %q", text)
	}
	if masked := a.secrets.String("it is correct horse"); strings.Contains(masked, "horse") {
		t.Errorf("a passphrase is not masked: %q", masked)
	}
}

// TestPassphraseInterrupted wants the terminal back as it was.
func TestPassphraseInterrupted(t *testing.T) {
	t.Parallel()
	a, keys, fd := onTerminal(t, io.Discard)
	before, err := term.GetState(fd)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	ask := a.passphrases(ctx)
	time.AfterFunc(200*time.Millisecond, func() { cancel(errInterrupted) })
	if _, err := ask("Passphrase: "); !errors.Is(err, errInterrupted) {
		t.Errorf("an interrupted question: %v", err)
	}
	if after, err := term.GetState(fd); err != nil || *after != *before {
		t.Errorf("the terminal is not as it was: %v", err)
	}
	if _, err := ask("Again: "); !errors.Is(err, errInterrupted) {
		t.Errorf("a question after the end: %v", err)
	}
	if _, err := io.WriteString(keys, "\n"); err != nil { // lets the reader go
		t.Fatal(err)
	}
}

func TestNoPassphraseWithoutTerminal(t *testing.T) {
	t.Parallel()
	a := newApp(System{In: strings.NewReader("x\n"), Out: io.Discard, Err: io.Discard, Getenv: func(string) string { return "" }})
	if a.passphrases(t.Context()) != nil {
		t.Error("a passphrase would be asked for without a terminal")
	}
}
