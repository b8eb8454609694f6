package buildctx

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
)

const (
	// streamSmall is the size up to which a file's content is kept from hashing until it is written. A larger one is
	// read a second time: its header, with a time made from the content, comes before the content.
	streamSmall = 128 << 10
	// streamBuffer is the least size of a buffer, so that most serve again for most files.
	streamBuffer = 8 << 10
	// streamQueue bounds how far the walk runs ahead of the writer. It must exceed hashBatch: files wait for the rest
	// of their batch, and a full queue of waiting files would never empty.
	streamQueue = 4 * hashBatch
)

// Stream loads a directory as Load does and writes its tar to w on the way, with one read of every small file. It writes
// what WriteTar would. Where it fails, what was written has no end marker. The caller closes the tree.
func Stream(ctx context.Context, dir string, opts Options, w io.Writer) (*Tree, error) {
	root, err := resolveRoot(dir)
	if err != nil {
		return nil, err
	}
	rules, odd, err := diskRules(root, opts)
	if err != nil {
		return nil, err
	}
	s := startSink(ctx, root, w)
	tree, err := load(ctx, root, rules, odd, s)
	if failed := s.wait(); err == nil && failed != nil {
		err = fmt.Errorf("writing tar: %w", failed)
	}
	if err == nil {
		err = s.tar.close()
	}
	if err != nil {
		return nil, fmt.Errorf("streaming %s: %w", dir, err)
	}
	return tree, nil
}

// streamItem is an entry on its way to the writer.
type streamItem struct {
	sink    *sink
	path    string
	node    *node
	target  string
	content []byte        // of a small file
	failed  bool          // the file could not be hashed
	ready   chan struct{} // closed when node, content and failed are set; nil of what needs no hashing
}

// sink writes entries in the order of the walk while workers fill in the files.
type sink struct {
	root  string
	tar   *tarWriter
	queue chan *streamItem
	held  []*streamItem // directories that are only carried if something in them is
	free  chan []byte   // buffers of contents that were written
	done  chan struct{}
	err   error
}

func startSink(ctx context.Context, root string, w io.Writer) *sink {
	s := &sink{
		root: root, tar: newTarWriter(w), queue: make(chan *streamItem, streamQueue),
		free: make(chan []byte, streamQueue), done: make(chan struct{}),
	}
	go func() {
		defer close(s.done)
		for item := range s.queue {
			if item.ready != nil {
				<-item.ready
			}
			if s.err == nil {
				s.err = s.write(ctx, item)
			}
			s.recycle(item)
		}
	}()
	return s
}

func (s *sink) recycle(item *streamItem) {
	if item.content == nil {
		return
	}
	select {
	case s.free <- item.content:
	default:
	}
	item.content = nil
}

// buffer returns a buffer of a length, a used one where that is large enough.
func (s *sink) buffer(length int) []byte {
	select {
	case b := <-s.free:
		if cap(b) >= length {
			return b[:length]
		}
	default:
	}
	return make([]byte, max(length, streamBuffer))[:length]
}

// wait returns the first error of writing, after everything is written.
func (s *sink) wait() error {
	close(s.queue)
	<-s.done
	return s.err
}

func (s *sink) push(item *streamItem) {
	for _, dir := range s.held {
		s.queue <- dir
	}
	s.held = s.held[:0]
	s.queue <- item
}

// file queues a file that a worker will fill in.
func (s *sink) file(path string, n *node) *streamItem {
	item := &streamItem{sink: s, path: path, node: n, ready: make(chan struct{})}
	s.push(item)
	return item
}

func (s *sink) link(path string, n *node, target string) {
	s.push(&streamItem{path: path, node: n, target: target})
}

func (s *sink) dir(path string, n *node, hold bool) {
	item := &streamItem{path: path, node: n}
	if hold {
		s.held = append(s.held, item)
		return
	}
	s.push(item)
}

// drop forgets a directory in which nothing was carried.
func (s *sink) drop() { s.held = s.held[:len(s.held)-1] }

func (s *sink) write(ctx context.Context, item *streamItem) error {
	if item.failed {
		return fmt.Errorf("%q could not be read", item.path)
	}
	e := newEntry(item.node, item.path, item.target)
	if err := s.tar.header(e); err != nil || e.Size == 0 {
		return err
	}
	if item.content != nil {
		return s.tar.content(item.content)
	}
	f, err := openVerified(s.root, item.path, item.node)
	if err != nil {
		return err
	}
	return s.tar.copy(ctx, f, e.Size)
}

// take reads a small file whole, keeps it for the writer and hashes it.
func (h *hasher) take(fd int, item *streamItem, size int64, path func() string) error {
	buf := item.sink.buffer(int(size) + 1)
	total := 0
	for total < len(buf) {
		n, err := read(fd, buf[total:])
		if err != nil {
			return &PathError{Path: path(), Reason: Unreadable, Detail: "cannot be read", Err: err}
		}
		total += n
		if n == 0 || int64(total) == size { // asked for one byte more, a regular file gives less at its end only
			break
		}
	}
	if err := sizeError(int64(total), size, path); err != nil {
		return err
	}
	h.sniff(buf[:total], 0, path)
	item.content, item.node.sum = buf[:total], sha256.Sum256(buf[:total])
	return nil
}

func sizeError(total, size int64, path func() string) error {
	switch {
	case total < size:
		return &ChangedError{Path: path(), What: "shrank while it was read"}
	case total > size:
		return &ChangedError{Path: path(), What: "grew while it was read"}
	}
	return nil
}
