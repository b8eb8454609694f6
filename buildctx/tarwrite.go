package buildctx

import (
	"archive/tar"
	"context"
	"fmt"
	"io"
	"time"
)

// WriteTar writes the tree as a tar that depends on nothing but the tree: entries in order, owner and group 0, derived
// times in whole seconds, no attributes, and names as they are, UTF-8 or not. Every file is verified as by [Tree.Open].
// A tar that could not be finished has no end marker.
func (t *Tree) WriteTar(ctx context.Context, w io.Writer) error {
	out := tar.NewWriter(w)
	buf := make([]byte, readBuffer)
	for e := range t.Entries() {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := t.writeMember(ctx, out, e, buf); err != nil {
			return fmt.Errorf("writing tar: %w", err)
		}
	}
	if err := out.Close(); err != nil {
		return fmt.Errorf("writing tar: %w", err)
	}
	return nil
}

func (t *Tree) writeMember(ctx context.Context, out *tar.Writer, e Entry, buf []byte) error {
	if err := out.WriteHeader(header(e)); err != nil {
		return fmt.Errorf("%q: %w", e.Path, err)
	}
	if e.Kind != File {
		return nil
	}
	f, err := t.Open(e.Path)
	if err != nil {
		return err
	}
	return copyMember(ctx, out, f, buf)
}

// copyMember copies a file's content and closes it. The plain Writer keeps io.Copy from handing the buffer's job to out.
func copyMember(ctx context.Context, out *tar.Writer, f io.ReadCloser, buf []byte) error {
	defer func() { _ = f.Close() }() // nothing was written
	_, err := io.CopyBuffer(struct{ io.Writer }{out}, ctxReader{ctx.Err, f}, buf)
	return err
}

func header(e Entry) *tar.Header {
	h := &tar.Header{Name: e.Path, Mode: int64(e.Mode), ModTime: e.ModTime.Truncate(time.Second)}
	switch e.Kind {
	case Dir:
		h.Name, h.Typeflag = e.Path+"/", tar.TypeDir
	case Link:
		h.Linkname, h.Typeflag = e.Linkname, tar.TypeSymlink
	default:
		h.Size, h.Typeflag = e.Size, tar.TypeReg
	}
	return h
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
