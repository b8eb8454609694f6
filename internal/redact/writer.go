package redact

import (
	"errors"
	"io"
	"os"
	"sync"
	"time"
)

// Kind is what goes through a Stream. The zero value is text that is read when
// it is whole.
type Kind struct {
	// Binary is for what may be no text. From the first NUL byte on a mask is
	// as long as what it masks, so that nothing behind it moves, and addresses
	// are left alone: what looks like one need not be.
	Binary bool
	// Screen is for a terminal that programs draw on: a mask is as wide as what
	// it masks.
	Screen bool
	// Patience is how long a few bytes are held back that may begin a secret,
	// and a twentieth of how long many are; then they are shown, and of a secret
	// that they do begin only the rest is masked. 0 holds them until more comes.
	Patience time.Duration
}

// few is how many bytes somebody who types may have before the next key.
const few = 8

// Stream masks what goes through it to a writer. Close writes what was held
// back and leaves that writer open. Writing after Close is os.ErrClosed. It is
// safe for concurrent use as far as whole writes may come in any order.
type Stream struct {
	redactor *Redactor
	to       io.Writer

	mu     sync.Mutex
	masker masker
	held   []byte
	closed bool
	writes int
	timer  *time.Timer
	failed error // of a write that nobody waited for
}

// Writer returns a Stream of text.
func (r *Redactor) Writer(w io.Writer) io.WriteCloser { return r.Stream(w, Kind{}) }

// Stream returns a Stream to w.
func (r *Redactor) Stream(w io.Writer, k Kind) *Stream {
	return &Stream{redactor: r, to: w, masker: masker{kind: k}}
}

// Write reports all of p as written, since what is held back is written later.
func (s *Stream) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return 0, os.ErrClosed
	}
	s.held = append(s.held, p...)
	if err := errors.Join(s.failed, s.flush(false)); err != nil {
		return 0, err
	}
	s.wait()
	return len(p), nil
}

// Close writes the rest.
func (s *Stream) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	if s.timer != nil {
		s.timer.Stop()
	}
	return errors.Join(s.failed, s.flush(true))
}

// Masked is how many times something was masked so far.
func (s *Stream) Masked() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.masker.count
}

// wait sees to it that what is held back is not held for ever.
func (s *Stream) wait() {
	if s.timer != nil {
		s.timer.Stop()
	}
	s.writes++
	patience := s.masker.kind.Patience
	if patience == 0 || len(s.held) == s.masker.shown {
		return
	}
	if len(s.held) > few {
		patience *= 20
	}
	round := s.writes
	s.timer = time.AfterFunc(patience, func() { s.giveUp(round) })
}

// giveUp shows what is held back, unless something followed. It is kept in mind:
// where it was the beginning of a secret, the rest of that will be masked.
func (s *Stream) giveUp(round int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed && round == s.writes {
		_, err := s.to.Write(s.held[s.masker.shown:])
		s.failed = errors.Join(s.failed, err)
		s.masker.shown = len(s.held)
	}
}

// flush writes what can no longer become a secret.
func (s *Stream) flush(final bool) error {
	out, taken := s.masker.mask(s.redactor.index.Load(), nil, s.held, final)
	s.held = append(s.held[:0], s.held[taken:]...)
	if len(out) == 0 {
		return nil
	}
	_, err := s.to.Write(out)
	return err
}
