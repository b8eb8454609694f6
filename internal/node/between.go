package node

import (
	"bytes"
	"io"
)

// keptHead is how much of what comes before the begin mark is kept, for an
// error to tell.
const keptHead = 4 << 10

// between passes on what comes between two marks, and drops the rest: the
// banner of a login shell before, and whatever it starts after.
type between struct {
	to         io.Writer // may be nil
	begin, end string
	head       []byte // before begin, its last part
	held       []byte // might be the beginning of end
	begun      bool
	ended      bool
	err        error // of to
}

// Write fails once writing on has failed, which ends the script.
func (b *between) Write(p []byte) (int, error) {
	n := len(p)
	if !b.begun {
		p = b.seek(p)
	}
	if b.begun && !b.ended {
		b.take(p)
	}
	return n, b.err
}

// seek looks for begin and returns what follows it.
func (b *between) seek(p []byte) []byte {
	b.head = append(b.head, p...)
	if i := bytes.Index(b.head, []byte(b.begin)); i >= 0 {
		rest := b.head[i+len(b.begin):]
		b.head, b.begun = b.head[:i:i], true
		return rest
	}
	if extra := len(b.head) - keptHead; extra > 0 {
		b.head = append(b.head[:0], b.head[extra:]...)
	}
	return nil
}

// take passes on all that cannot belong to end.
func (b *between) take(p []byte) {
	if len(b.held) > 0 {
		p = append(b.held, p...)
	}
	if i := bytes.Index(p, []byte(b.end)); i >= 0 {
		b.ended, b.held = true, nil
		b.pass(p[:i])
		return
	}
	keep := overlap(p, b.end)
	b.pass(p[:len(p)-keep])
	b.held = append([]byte(nil), p[len(p)-keep:]...)
}

// overlap is the length of the longest end of p with which mark begins.
func overlap(p []byte, mark string) int {
	for n := min(len(p), len(mark)-1); n > 0; n-- {
		if string(p[len(p)-n:]) == mark[:n] {
			return n
		}
	}
	return 0
}

func (b *between) pass(p []byte) {
	if b.to == nil || b.err != nil || len(p) == 0 {
		return
	}
	_, b.err = b.to.Write(p)
}

// flush passes on what was held back, and tells how writing went.
func (b *between) flush() error {
	b.pass(b.held)
	b.held = nil
	return b.err
}
