package procs

import (
	"sync"

	"github.com/hermesbox/hermesbox/scripts/standin/envd/spec/process"
)

// fan hands the events of one process to all who listen, in one order for all, and throws them away
// where nobody does. A listener that is slow to take them slows the process down; nothing is lost.
type fan struct {
	turn sync.Mutex // held while one event goes out

	mu        sync.Mutex
	listeners map[*listener]struct{}
	end       *process.ProcessEvent
}

// listener takes events until its owner leaves; an end event is the last one.
type listener struct {
	events chan *process.ProcessEvent
	left   chan struct{}
	leave  func()
}

// listen adds a listener. After the end it gets just the end event.
func (f *fan) listen() *listener {
	l := &listener{events: make(chan *process.ProcessEvent, 1), left: make(chan struct{})}
	f.mu.Lock()
	defer f.mu.Unlock()
	l.leave = sync.OnceFunc(func() {
		close(l.left)
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.listeners, l)
	})
	if f.end != nil {
		l.events <- f.end
		return l
	}
	if f.listeners == nil {
		f.listeners = map[*listener]struct{}{}
	}
	f.listeners[l] = struct{}{}
	return l
}

func (f *fan) present() []*listener {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := make([]*listener, 0, len(f.listeners))
	for l := range f.listeners {
		all = append(all, l)
	}
	return all
}

// publish returns once every present listener has taken the event or left.
func (f *fan) publish(e *process.ProcessEvent) {
	f.turn.Lock()
	defer f.turn.Unlock()
	f.give(e, f.present())
}

func (f *fan) give(e *process.ProcessEvent, all []*listener) {
	for _, l := range all {
		select {
		case l.events <- e:
		case <-l.left:
		}
	}
}

// finish publishes the end event and keeps it for those who come later.
func (f *fan) finish(end *process.ProcessEvent) {
	f.turn.Lock()
	defer f.turn.Unlock()
	f.mu.Lock()
	f.end = end
	f.mu.Unlock()
	f.give(end, f.present())
}
