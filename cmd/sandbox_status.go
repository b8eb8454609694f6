package cmd

import (
	"fmt"
	"strings"

	"github.com/hermesbox/hermesbox/internal/envd"
)

// exitStatus ends hermesbox with the exit code of a command in a sandbox. The
// command has said what there was to say, so nothing is printed.
type exitStatus int

func (s exitStatus) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

// statusOf is the exit status of a command that ended, nil for success. One
// that a signal ended has 128 and the signal's number, as shells have it.
func statusOf(exit envd.Exit) error {
	switch {
	case exit.OK():
		return nil
	case exit.Signal == "":
		return exitStatus(exit.Code & 0xff)
	}
	if number := signalNumber(exit.Signal); number > 0 {
		return exitStatus(128 + number)
	}
	return &failure{err: fmt.Errorf("the command ended by a signal that is not known: %s", exit.Signal), code: exitFailed}
}

// linuxSignals are the words of the command service for the signals of Linux,
// which other systems number otherwise.
var linuxSignals = strings.Split("hangup,interrupt,quit,illegal instruction,trace/breakpoint trap,aborted,bus error,floating point exception,"+
	"killed,user defined signal 1,segmentation fault,user defined signal 2,broken pipe,alarm clock,terminated,stack fault,child exited,"+
	"continued,stopped (signal),stopped,stopped (tty input),stopped (tty output),urgent I/O condition,CPU time limit exceeded,"+
	"file size limit exceeded,virtual timer expired,profiling timer expired,window changed,I/O possible,power failure,bad system call", ",")

// signalNumber is the number of a signal in Linux, 0 where it is not known.
func signalNumber(word string) int {
	word = strings.TrimSuffix(word, " (core dumped)")
	for i, known := range linuxSignals {
		if word == known {
			return i + 1
		}
	}
	var number int
	if _, err := fmt.Sscanf(word, "signal %d", &number); err == nil && number > 0 && number < 65 {
		return number
	}
	return 0
}
