package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"

	"github.com/hermesbox/hermesbox/internal/answer"
	"github.com/hermesbox/hermesbox/internal/node"
)

// hold is default.sh at work: it has the lock of the node until it is told to
// commit or its input ends, which a lost connection and a killed client do too.
type hold struct {
	script nodeScript
	node   string
	input  *io.PipeWriter
	cancel context.CancelFunc
	ready  chan struct{} // closed once the place is there, or the script has nothing more to say
	done   chan error    // what running it came to

	mu   sync.Mutex
	out  answer.Buffer
	read int // of out

	id, place, said string
}

// holdDefault starts default.sh. It must be released.
func holdDefault(ctx context.Context, n node.Node, l Layout, s Seed) *hold {
	word := map[bool]string{true: "yes", false: "no"}[s.Refresh]
	in, input := io.Pipe()
	h := &hold{
		node: n.Name(), input: input, ready: make(chan struct{}), done: make(chan error, 1), out: answer.Buffer{Left: answerLimit},
		script: nodeScript{
			name: "default.sh", place: Place{Layout: l, Home: DefaultHome}, stdin: in,
			args: []string{l.Root, random(), word, strconv.Itoa(int(seedPatience / time.Second)), s.Template},
		},
	}
	// Not the caller's: an interrupt must leave the time to delete the sandbox and to clean up.
	ctx, h.cancel = context.WithTimeout(context.WithoutCancel(ctx), seedPatience+time.Minute)
	context.AfterFunc(ctx, h.closeInput)
	go func() { h.done <- h.script.run(ctx, n, h) }()
	return h
}

// Write takes the script's answers as they come.
func (h *hold) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	n, err := h.out.Write(p)
	for {
		a, size := answer.First(h.out.Bytes()[h.read:])
		if size == 0 {
			return n, err
		}
		h.read += size
		switch {
		case a.Key == "ready" && !h.isReady():
			close(h.ready)
		case a.Key == "end":
			h.closeInput() // or running it would wait for us to say more
		}
	}
}

func (h *hold) isReady() bool {
	select {
	case <-h.ready:
		return true
	default:
		return false
	}
}

// wait waits for the place, or finds out that there is a default home.
func (h *hold) wait(ctx context.Context) (exists bool, err error) {
	select {
	case <-h.ready:
		return false, h.readSoFar()
	case <-ctx.Done():
		h.cancel()
		return false, context.Cause(ctx)
	case err := <-h.done:
		h.done <- nil // for release
		if err == nil {
			err = h.readAll()
		}
		return h.said == "exists", err
	}
}

// readSoFar reads what came before the place was there.
func (h *hold) readSoFar() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	all, err := answer.Parse(append(h.out.Bytes()[:h.read:h.read], "end\x00\x00"...))
	for _, a := range all {
		if err == nil {
			err = h.take(a)
		}
	}
	if err == nil && (h.id == "" || h.place == "") {
		err = fmt.Errorf("%w: it names no place", answer.Err)
	}
	return err
}

func (h *hold) readAll() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.script.read(h.node, h.out.Bytes(), h.take)
}

func (h *hold) take(a answer.Pair) error {
	switch a.Key {
	case "id":
		h.id = a.Value
	case "place":
		h.place = a.Value
	case "default":
		h.said = a.Value
	case "ready":
	default:
		return a.Odd()
	}
	return nil
}

// blame puts the end of the script before what else failed: with the script the
// place went, and Cube says no more than that it is not there.
func (h *hold) blame(other error) error {
	select {
	case ended := <-h.done:
		h.done <- nil // for release
		if ended != nil {
			return fmt.Errorf("%w; after that: %v", ended, other) //nolint:errorlint // who asks what to do is to hear of the first
		}
	default:
	}
	return other
}

// commit has the place become the default home.
func (h *hold) commit() error {
	_, err := io.WriteString(h.input, "commit\n")
	h.closeInput()
	ended := <-h.done
	h.done <- nil // for release
	if ended != nil {
		return ended
	}
	if read := h.readAll(); read != nil {
		return read
	}
	if h.said != "made" {
		return errors.Join(err, fmt.Errorf("%w: it gave up with %.40q", answer.Err, h.said))
	}
	return nil
}

// release ends the script, which then gives up the lock and removes the place,
// and waits for that.
func (h *hold) release() {
	h.closeInput()
	<-h.done //nolint:errcheck // what is to be said of it was said by wait or commit
	h.cancel()
}

// closeInput tells the script that nothing more comes.
func (h *hold) closeInput() { _ = h.input.Close() } // of a pipe, which never fails
