package buildctx

import (
	"bufio"
	"context"
	"fmt"
	"io"
)

// WriteTar writes the tree as a tar that depends on nothing but the tree: entries in order, owner and group 0, derived
// times in whole seconds, no attributes, and names as they are, UTF-8 or not. Every file is verified as by [Tree.Open].
// A tar that could not be finished has no end marker.
func (t *Tree) WriteTar(ctx context.Context, w io.Writer) error {
	out := newTarWriter(w)
	for e := range t.Entries() {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := t.writeMember(ctx, out, e); err != nil {
			return fmt.Errorf("writing tar: %w", err)
		}
	}
	return out.close()
}

func (t *Tree) writeMember(ctx context.Context, out *tarWriter, e Entry) error {
	if err := out.header(e); err != nil || e.Kind != File {
		return err
	}
	f, err := t.Open(e.Path)
	if err != nil {
		return err
	}
	return out.copy(ctx, f, e.Size)
}

// tarWriter writes a tar. The errors of what it wraps stick, so that close tells of every one.
type tarWriter struct {
	out *bufio.Writer
	buf []byte
	hdr []byte
}

func newTarWriter(w io.Writer) *tarWriter {
	return &tarWriter{out: bufio.NewWriterSize(w, readBuffer), buf: make([]byte, readBuffer)}
}

// header begins an entry.
func (w *tarWriter) header(e Entry) error {
	var err error
	if w.hdr, err = appendHeader(w.hdr[:0], e); err != nil {
		return err
	}
	_, err = w.out.Write(w.hdr)
	return err
}

// content writes the whole content of the entry at hand.
func (w *tarWriter) content(b []byte) error {
	if _, err := w.out.Write(b); err != nil {
		return err
	}
	_, err := w.out.Write(padding(int64(len(b))))
	return err
}

// copy writes the content of the entry at hand, which f gives with exactly size bytes or an error, and closes f.
func (w *tarWriter) copy(ctx context.Context, f io.ReadCloser, size int64) error {
	defer func() { _ = f.Close() }() // nothing was written
	if _, err := io.CopyBuffer(struct{ io.Writer }{w.out}, ctxReader{ctx.Err, f}, w.buf); err != nil {
		return err
	}
	_, err := w.out.Write(padding(size))
	return err
}

// close writes the end marker and what is still held back.
func (w *tarWriter) close() error {
	_, err := w.out.Write(make([]byte, 2*block))
	if err == nil {
		err = w.out.Flush()
	}
	if err != nil {
		return fmt.Errorf("writing tar: %w", err)
	}
	return nil
}

// ctxReader ends a long copy when its context does.
type ctxReader struct {
	ended func() error
	io.Reader
}

func (r ctxReader) Read(p []byte) (int, error) {
	if err := r.ended(); err != nil {
		return 0, err
	}
	return r.Reader.Read(p)
}
