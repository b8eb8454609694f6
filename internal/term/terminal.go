package term

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"golang.org/x/term"
)

// ErrNone means that a stream is no terminal.
var ErrNone = errors.New("no terminal")

// Terminal is a terminal for reading and writing. Both may be used while it is
// raw; the other methods are safe for concurrent use.
type Terminal struct {
	in, out *os.File
	modes   modes

	mu     sync.Mutex
	saved  *term.State // nil while it is as it was
	stop   func()
	hangup func()
}

// Open takes the streams of a process. Where one is no terminal, that is
// [ErrNone].
func Open(in io.Reader, out io.Writer) (*Terminal, error) {
	i, o := file(in), file(out)
	if i == nil || o == nil {
		return nil, ErrNone
	}
	return &Terminal{in: i, out: o}, nil
}

// file is the terminal that a stream is, or nil.
func file(stream any) *os.File {
	f, ok := stream.(*os.File)
	if !ok || f == nil || !term.IsTerminal(int(f.Fd())) {
		return nil
	}
	return f
}

// Read reads what is typed.
func (t *Terminal) Read(p []byte) (int, error) { return t.in.Read(p) }

// Write shows p.
func (t *Terminal) Write(p []byte) (int, error) {
	t.modes.watch(p)
	return t.out.Write(p)
}

// Size is how many columns and rows it has; 80 by 24 where it does not tell.
func (t *Terminal) Size() (columns, rows int) {
	columns, rows, err := term.GetSize(int(t.out.Fd()))
	if err != nil || columns <= 0 || rows <= 0 {
		return 80, 24
	}
	return columns, rows
}

// OnHangup has do called where a hangup ends the process while the terminal is
// raw. The process lives until do returns.
func (t *Terminal) OnHangup(do func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.hangup = do
}

// Raw hands every key over as it is typed, ^C too, until Restore.
func (t *Terminal) Raw() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.saved != nil {
		return nil
	}
	saved, err := term.MakeRaw(int(t.in.Fd()))
	if err != nil {
		return fmt.Errorf("making the terminal raw: %w", err)
	}
	t.saved, t.stop = saved, t.followSignals()
	return nil
}

// again makes it raw once more: a shell that stopped and continued this process
// has set it to its own liking.
func (t *Terminal) again() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.saved != nil {
		_, _ = term.MakeRaw(int(t.in.Fd())) // it could be done before
	}
}

// Restore puts it back as it was before Raw.
func (t *Terminal) Restore() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.saved == nil {
		return nil
	}
	saved := t.saved
	t.saved = nil
	t.stop()
	if err := term.Restore(int(t.in.Fd()), saved); err != nil {
		return fmt.Errorf("restoring the terminal: %w", err)
	}
	return nil
}

// Clear undoes what programs have set on the screen and did not take back,
// because they were cut off: another screen, a hidden cursor, reports of the
// mouse, colours.
func (t *Terminal) Clear() error {
	if _, err := io.WriteString(t.out, t.modes.undo()); err != nil {
		return fmt.Errorf("restoring the terminal: %w", err)
	}
	return nil
}

// Guard is deferred in each goroutine that runs while the terminal is raw: a
// panic then still puts it back.
func (t *Terminal) Guard() {
	if p := recover(); p != nil {
		_ = t.Restore() // the panic matters more
		panic(p)
	}
}
