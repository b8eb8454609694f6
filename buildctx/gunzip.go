package buildctx

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
)

const gzipMagic = "\x1f\x8b"

// gunzip undoes gzip, of one member or several behind each other. Zeros behind the last are padding, as of a tape, and
// anything else is junk.
type gunzip struct {
	in   *bufio.Reader
	z    *gzip.Reader
	junk bool
}

func newGunzip(in *bufio.Reader) (*gunzip, error) {
	z, err := gzip.NewReader(in)
	if err != nil {
		return nil, fmt.Errorf("reading gzip: %w", err)
	}
	z.Multistream(false)
	return &gunzip{in: in, z: z}, nil
}

func (g *gunzip) Read(p []byte) (int, error) {
	for {
		n, err := g.z.Read(p)
		if n > 0 && errors.Is(err, io.EOF) {
			return n, nil // it is said again
		}
		if n > 0 || !errors.Is(err, io.EOF) {
			return n, err
		}
		if err := g.next(); err != nil {
			return 0, err
		}
	}
}

// next begins the member that follows, or reads the rest and returns io.EOF.
func (g *gunzip) next() error {
	if head, _ := g.in.Peek(len(gzipMagic)); string(head) == gzipMagic {
		if err := g.z.Reset(g.in); err != nil {
			return fmt.Errorf("reading gzip: %w", err)
		}
		g.z.Multistream(false)
		return nil
	}
	buf := make([]byte, 4<<10)
	for {
		n, err := g.in.Read(buf)
		g.junk = g.junk || len(bytes.Trim(buf[:n], "\x00")) > 0
		if err != nil {
			return err
		}
	}
}
