package term

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// followSignals puts the terminal back before a signal ends the process, and
// makes it raw again after the process was stopped and continued.
func (t *Terminal) followSignals() (stop func()) {
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGCONT)
	done := make(chan struct{})
	go func() {
		for {
			select {
			case <-done:
				return
			case s := <-signals:
				t.signal(s)
			}
		}
	}()
	return func() {
		signal.Stop(signals)
		close(done)
	}
}

func (t *Terminal) signal(s os.Signal) {
	if s == syscall.SIGCONT {
		t.again()
		return
	}
	if s == syscall.SIGHUP {
		signal.Ignore(s) // a shell sends another one after the kernel's
	}
	_ = t.Restore() // nobody is left to be told
	if s == syscall.SIGHUP {
		t.hungUp()
	}
	signal.Reset(s)
	if number, ok := s.(syscall.Signal); ok {
		_ = syscall.Kill(os.Getpid(), number) // it ends this process
	}
}

func (t *Terminal) hungUp() {
	t.mu.Lock()
	do := t.hangup
	t.mu.Unlock()
	if do != nil {
		do()
	}
}

// Resized tells that the size may have changed, until ctx ends. Changes that
// come faster than they are read are told once.
func (t *Terminal) Resized(ctx context.Context) <-chan os.Signal {
	changes := make(chan os.Signal, 1)
	signal.Notify(changes, syscall.SIGWINCH)
	context.AfterFunc(ctx, func() { signal.Stop(changes) })
	return changes
}
