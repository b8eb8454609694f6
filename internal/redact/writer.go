package redact

import (
	"io"
	"os"
	"sync"
)

// Writer returns a writer that masks what goes through it to w. Close writes
// what was held back and leaves w open. Writing after Close is os.ErrClosed.
// It is safe for concurrent use as far as whole writes may come in any order.
func (r *Redactor) Writer(w io.Writer) io.WriteCloser {
	return &writer{redactor: r, to: w}
}

type writer struct {
	redactor *Redactor
	to       io.Writer

	mu     sync.Mutex
	masker masker
	held   []byte
	closed bool
}

// Write reports all of p as written, since what is held back is written later.
func (w *writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return 0, os.ErrClosed
	}
	w.held = append(w.held, p...)
	if err := w.flush(false); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Close writes the rest.
func (w *writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return nil
	}
	w.closed = true
	return w.flush(true)
}

// flush writes what can no longer become a secret.
func (w *writer) flush(final bool) error {
	out, taken := w.masker.mask(w.redactor.index.Load(), nil, w.held, final)
	w.held = append(w.held[:0], w.held[taken:]...)
	if len(out) == 0 {
		return nil
	}
	_, err := w.to.Write(out)
	return err
}
