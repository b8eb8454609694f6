// Package term is the terminal that hermesbox runs on: its size, its raw mode,
// and what programs leave behind on it.
//
// It knows nothing of what is shown there. Terminals that are not on the
// streams of the process, such as /dev/tty, are none of its business.
//
// Invariants: a terminal that was made raw is put back when its owner says so,
// when the process is ended by a hangup or a quit, and when a goroutine that is
// guarded panics; putting it back twice does nothing.
package term
