package buildctx

import (
	"bytes"
	"fmt"
	"os"
)

// spool holds the contents of a tar's files behind each other in one temporary file, which has no name any more and
// goes with its descriptor. Runs of zeros are left as holes.
type spool struct {
	file *os.File
	size int64
	zero []byte
}

func newSpool() (*spool, error) {
	f, err := os.CreateTemp("", "hermesbox-context-*")
	if err != nil {
		return nil, fmt.Errorf("making a spool file: %w", err)
	}
	if err := os.Remove(f.Name()); err != nil {
		_ = f.Close() // the other error tells more
		return nil, fmt.Errorf("unlinking the spool file: %w", err)
	}
	return &spool{file: f, zero: make([]byte, readBuffer)}, nil
}

func (s *spool) write(p []byte) error {
	at := s.size
	s.size += int64(len(p))
	if len(p) >= 4096 && bytes.Equal(p, s.zero[:len(p)]) {
		return nil
	}
	if _, err := s.file.WriteAt(p, at); err != nil {
		return fmt.Errorf("writing the spool file: %w", err)
	}
	return nil
}

// finish makes holes at the end part of the file.
func (s *spool) finish() error {
	if err := s.file.Truncate(s.size); err != nil {
		return fmt.Errorf("writing the spool file: %w", err)
	}
	return nil
}
