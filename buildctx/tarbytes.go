package buildctx

import (
	"errors"
	"io"
)

// tarBytes are the bytes of a tar on their way to the library, which takes a stream that ends where a header should be
// for whole: behind a member, or behind the records that stand before one. So where the stream ends while a header is
// wanted, one block of zeros follows. It is the second half of the end marker for who has read the first, as GNU tar
// and Docker take such a tar for whole; whoever asks for more than that has no marker.
type tarBytes struct {
	src    io.Reader
	count  int64 // bytes of src
	err    error // what ended src
	header bool  // a header is wanted, and not content
	spare  int   // what is left of the block of zeros
	cut    bool  // src ended too early
}

func (b *tarBytes) Read(p []byte) (int, error) {
	if b.err == nil {
		n, err := b.src.Read(p)
		b.count, b.err = b.count+int64(n), err
		if n > 0 || err == nil {
			return n, nil
		}
	}
	ended := errors.Is(b.err, io.EOF)
	if ended && b.header && b.count%block == 0 && b.spare > 0 {
		n := min(len(p), b.spare)
		clear(p[:n])
		b.spare -= n
		return n, nil
	}
	b.cut = ended || errors.Is(b.err, io.ErrUnexpectedEOF)
	return 0, b.err
}
