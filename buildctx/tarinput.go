package buildctx

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
)

// ErrNotTar says that a stream is no tar, plain or gzip.
var ErrNotTar = errors.New("the input is no tar")

// ErrTruncated says that a tar ends before its end marker.
var ErrTruncated = errors.New("the tar is cut short")

// tarInput reads a tar from a stream, undoes gzip, and knows whether the end was reached.
type tarInput struct {
	*tar.Reader
	raw    io.Reader // the tar's bytes, beside the Reader
	count  int64     // bytes handed to the Reader
	before int64     // count when the last header was asked for
	last   string    // the member before
	any    bool
}

// compressions are told by their first bytes, to say more than that it is no tar.
var compressions = []struct{ magic, name string }{
	{"\x28\xb5\x2f\xfd", "zstd"}, {"\xfd7zXZ\x00", "xz"}, {"BZh", "bzip2"}, {"PK\x03\x04", "zip"},
}

// openTar reads r until ctx ends, which the caller sees to on every return.
func openTar(ctx context.Context, r io.Reader) (*tarInput, error) {
	in := bufio.NewReaderSize(newFeed(ctx, r), readBuffer)
	head, err := in.Peek(6)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("reading tar: %w", err)
	}
	if len(head) == 0 {
		return nil, fmt.Errorf("%w: it is empty", ErrNotTar)
	}
	for _, c := range compressions {
		if bytes.HasPrefix(head, []byte(c.magic)) {
			return nil, fmt.Errorf("%w: it is %s; decompress it first", ErrNotTar, c.name)
		}
	}
	t := &tarInput{raw: in}
	if bytes.HasPrefix(head, []byte{0x1f, 0x8b}) {
		if t.raw, err = gzip.NewReader(in); err != nil {
			return nil, fmt.Errorf("reading gzip: %w", cutShort(err))
		}
	}
	t.Reader = tar.NewReader(readFunc(t.read))
	return t, nil
}

type readFunc func([]byte) (int, error)

func (f readFunc) Read(p []byte) (int, error) { return f(p) }

func (t *tarInput) read(p []byte) (int, error) {
	n, err := t.raw.Read(p)
	t.count += int64(n)
	return n, err
}

// next returns the next header, or io.EOF at the end marker.
func (t *tarInput) next() (*tar.Header, error) {
	t.before = t.count
	h, err := t.Next()
	switch {
	case errors.Is(err, io.EOF):
		return nil, t.end()
	case !t.any && (errors.Is(err, tar.ErrHeader) || errors.Is(err, io.ErrUnexpectedEOF) && t.count < block):
		return nil, fmt.Errorf("%w: %w", ErrNotTar, err)
	case err != nil:
		return nil, t.wrap(err)
	}
	t.any, t.last = true, h.Name
	return h, nil
}

// end is io.EOF behind an end marker. The library takes a stream that ends between two members for whole.
func (t *tarInput) end() error {
	if t.count-t.before < block {
		return t.wrap(io.ErrUnexpectedEOF)
	}
	return io.EOF
}

// wrap names the member at which reading stopped.
func (t *tarInput) wrap(err error) error {
	if t.last == "" {
		return fmt.Errorf("reading tar: %w", cutShort(err))
	}
	return fmt.Errorf("reading tar, at %q: %w", t.last, cutShort(err))
}

func cutShort(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return ErrTruncated
	}
	return err
}

// drain reads what follows the end marker, so that a writer is not cut off and a checksum is checked. It says whether
// that was more than padding.
func (t *tarInput) drain() (more bool, err error) {
	buf := make([]byte, readBuffer)
	for {
		n, err := t.raw.Read(buf)
		more = more || len(bytes.Trim(buf[:n], "\x00")) > 0
		switch {
		case errors.Is(err, io.EOF):
			return more, nil
		case errors.Is(err, gzip.ErrHeader): // what follows the gzip is none
			return true, nil
		}
		if err != nil {
			return more, fmt.Errorf("reading the end of the tar: %w", cutShort(err))
		}
	}
}
