package buildctx

import (
	"context"
	"io"
)

// feed reads a stream ahead, so that a reader of standard input can be interrupted while nobody writes to it. The
// goroutine of a Read that never returns is left behind: nothing can end it but the stream.
type feed struct {
	ctx    func() error
	done   <-chan struct{}
	chunks chan fed
	free   chan []byte
	now    fed
	at     int
}

type fed struct {
	data []byte
	err  error
}

// newFeed reads r until it ends or ctx does.
func newFeed(ctx context.Context, r io.Reader) *feed {
	f := &feed{ctx: ctx.Err, done: ctx.Done(), chunks: make(chan fed), free: make(chan []byte, 2)}
	f.free <- make([]byte, readBuffer)
	f.free <- make([]byte, readBuffer)
	go f.run(r)
	return f
}

func (f *feed) run(r io.Reader) {
	for {
		select {
		case buf := <-f.free:
			n, err := r.Read(buf[:readBuffer])
			select {
			case f.chunks <- fed{buf[:n], err}:
			case <-f.done:
				return
			}
			if err != nil {
				return
			}
		case <-f.done:
			return
		}
	}
}

func (f *feed) Read(p []byte) (int, error) {
	for f.at == len(f.now.data) {
		if f.now.err != nil {
			return 0, f.now.err
		}
		if f.now.data != nil {
			f.free <- f.now.data
		}
		select {
		case f.now = <-f.chunks:
			f.at = 0
		case <-f.done:
			return 0, f.ctx()
		}
	}
	n := copy(p, f.now.data[f.at:])
	f.at += n
	return n, nil
}
