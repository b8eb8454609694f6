package term_test

import (
	"bytes"
	"errors"
	"os"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
	xterm "golang.org/x/term"

	"github.com/hermesbox/hermesbox/internal/term"
)

// open makes a terminal and its other end.
func open(t *testing.T) (*term.Terminal, *os.File, *os.File) {
	t.Helper()
	master, slave, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { master.Close(); slave.Close() })
	tty, err := term.Open(slave, slave)
	if err != nil {
		t.Fatal(err)
	}
	return tty, master, slave
}

func state(t *testing.T, f *os.File) *xterm.State {
	t.Helper()
	s, err := xterm.GetState(int(f.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// same compares two states of terminals, all of which is private.
func same(t *testing.T, a, b *xterm.State) bool {
	t.Helper()
	return cmp.Equal(a, b, cmp.Exporter(func(reflect.Type) bool { return true }))
}

func TestNoTerminal(t *testing.T) {
	t.Parallel()
	_, _, slave := open(t)
	file, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := term.Open(strings.NewReader(""), slave); !errors.Is(err, term.ErrNone) {
		t.Errorf("a reader: %v", err)
	}
	if _, err := term.Open(slave, &bytes.Buffer{}); !errors.Is(err, term.ErrNone) {
		t.Errorf("a buffer: %v", err)
	}
	if _, err := term.Open(file, slave); !errors.Is(err, term.ErrNone) {
		t.Errorf("a file: %v", err)
	}
}

func TestRawAndBack(t *testing.T) {
	t.Parallel()
	tty, _, slave := open(t)
	before := state(t, slave)
	if err := errors.Join(tty.Raw(), tty.Raw()); err != nil {
		t.Fatal(err)
	}
	if same(t, before, state(t, slave)) {
		t.Error("Raw changed nothing")
	}
	if err := errors.Join(tty.Restore(), tty.Restore()); err != nil {
		t.Fatal(err)
	}
	if !same(t, before, state(t, slave)) {
		t.Error("Restore did not put it back")
	}
}

func TestPanicPutsItBack(t *testing.T) {
	t.Parallel()
	tty, _, slave := open(t)
	before := state(t, slave)
	if err := tty.Raw(); err != nil {
		t.Fatal(err)
	}
	panicked := func() (p any) {
		defer func() { p = recover() }()
		defer tty.Guard()
		panic("boom")
	}()
	if panicked != "boom" || !same(t, before, state(t, slave)) {
		t.Errorf("panicked with %v; put back: %v", panicked, same(t, before, state(t, slave)))
	}
}

func TestContinuedIsRawAgain(t *testing.T) {
	tty, _, slave := open(t)
	before := state(t, slave)
	if err := tty.Raw(); err != nil {
		t.Fatal(err)
	}
	raw := state(t, slave)
	if err := xterm.Restore(int(slave.Fd()), before); err != nil { // as a shell does
		t.Fatal(err)
	}
	if err := syscall.Kill(os.Getpid(), syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(10 * time.Second); !same(t, raw, state(t, slave)); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it is not raw again")
		}
	}
	if err := tty.Restore(); err != nil {
		t.Fatal(err)
	}
}

func TestSize(t *testing.T) {
	tty, master, slave := open(t)
	if c, r := tty.Size(); c != 80 || r != 24 {
		t.Errorf("without a size: %d by %d", c, r)
	}
	changes := tty.Resized(t.Context())
	if err := unix.IoctlSetWinsize(int(master.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: 101, Row: 33}); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(os.Getpid(), syscall.SIGWINCH); err != nil { // it is not our controlling terminal
		t.Fatal(err)
	}
	<-changes
	if c, r := tty.Size(); c != 101 || r != 33 {
		t.Errorf("%d by %d, want 101 by 33", c, r)
	}
	slave.Close()
	if c, r := tty.Size(); c != 80 || r != 24 {
		t.Errorf("of a closed one: %d by %d", c, r)
	}
}

func TestReadWriteClear(t *testing.T) {
	t.Parallel()
	tty, master, _ := open(t)
	if err := tty.Raw(); err != nil {
		t.Fatal(err)
	}
	defer tty.Restore() //nolint:errcheck // tested elsewhere
	if _, err := master.WriteString("\x03"); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 100)
	if n, err := tty.Read(buf); err != nil || string(buf[:n]) != "\x03" {
		t.Errorf("read %q, %v", buf[:n], err)
	}
	if _, err := tty.Write([]byte("\x1b[?25lx\n")); err != nil {
		t.Fatal(err)
	}
	if err := tty.Clear(); err != nil {
		t.Fatal(err)
	}
	var got []byte
	for want := "\x1b[?25lx\n\x1b[?25h\x1b>\x1b[0m"; string(got) != want; {
		n, err := master.Read(buf)
		got = append(got, buf[:n]...)
		if err != nil || !strings.HasPrefix(want, string(got)) {
			t.Fatalf("shown %q, %v; want %q", got, err, want)
		}
	}
}
