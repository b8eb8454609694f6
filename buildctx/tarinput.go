package buildctx

import (
	"archive/tar"
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
)

// ErrNotTar says that a stream is no tar, plain or gzip.
var ErrNotTar = errors.New("the input is no tar")

// ErrTruncated says that a tar ends before its end marker.
var ErrTruncated = errors.New("the tar is cut short")

// errMember says that the library found less of a member than its header promises, though the tar goes on.
var errMember = errors.New("a member's records contradict its size")

// tarInput reads a tar from a stream, undoes gzip, and knows whether the end was reached.
type tarInput struct {
	*tar.Reader
	raw   *tarBytes
	gzip  *gunzip // nil of a plain tar
	last  string  // the member before
	begun bool    // there was a member
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
		return nil, err
	}
	if len(head) == 0 {
		return nil, fmt.Errorf("%w: it is empty", ErrNotTar)
	}
	for _, c := range compressions {
		if bytes.HasPrefix(head, []byte(c.magic)) {
			return nil, fmt.Errorf("%w: it is %s; decompress it first", ErrNotTar, c.name)
		}
	}
	t := &tarInput{raw: &tarBytes{src: in, spare: block}}
	if bytes.HasPrefix(head, []byte(gzipMagic)) {
		if t.gzip, err = newGunzip(in); errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, ErrTruncated
		}
		if err != nil {
			return nil, err
		}
		t.raw.src = t.gzip
	}
	t.Reader = tar.NewReader(t.raw)
	return t, nil
}

// next returns the next header, or io.EOF at the end marker.
func (t *tarInput) next() (*tar.Header, error) {
	t.raw.header = true
	h, err := t.Next()
	t.raw.header = false
	marked := errors.Is(err, io.EOF)
	// What was made of zeros that are not in the stream is no member, and no fault of one.
	t.raw.cut = t.raw.cut || !marked && t.raw.spare < block
	switch {
	case marked && !t.raw.cut:
		return nil, io.EOF
	case t.raw.count == 0 && marked:
		return nil, fmt.Errorf("%w: it is empty", ErrNotTar)
	case !t.begun && (t.raw.cut && t.raw.count < block || errors.Is(err, tar.ErrHeader) && !t.raw.cut):
		return nil, fmt.Errorf("%w: %w", ErrNotTar, err)
	case err != nil || t.raw.cut:
		return nil, t.wrap(err)
	}
	t.begun, t.last = true, h.Name
	return h, nil
}

// wrap names the member at which reading stopped.
func (t *tarInput) wrap(err error) error {
	switch {
	case t.raw.cut:
		err = ErrTruncated
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		err = errMember
	}
	if t.last == "" {
		return err
	}
	return fmt.Errorf("at %q: %w", t.last, err)
}

// drain reads what follows the end marker, so that a writer is not cut off and a checksum is checked. It says whether
// that was more than padding.
func (t *tarInput) drain() (more bool, err error) {
	buf := make([]byte, readBuffer)
	for {
		n, err := t.raw.Read(buf)
		more = more || len(bytes.Trim(buf[:n], "\x00")) > 0
		if errors.Is(err, io.EOF) {
			return more || t.gzip != nil && t.gzip.junk, nil
		}
		if err != nil {
			return more, fmt.Errorf("behind the end marker: %w", t.wrap(err))
		}
	}
}
