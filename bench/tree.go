package main

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// shape is a tree to measure on.
type shape struct {
	name  string
	files int // without litter
	size  int // bytes of each
}

// The trees of the promises: 87 MB in files of a page each, and as many files again as a large monorepo has.
var shapes = []shape{{"22k", 22_000, 4096}, {"200k", 200_000, 512}}

const (
	filesPerDir = 20
	dirsPerTop  = 40
)

// plant makes a tree: directories of 20 files and one AppleDouble file beside them, every tenth with a .DS_Store, so
// that about 5% is litter. The same shape gives the same bytes.
func plant(root string, s shape) error {
	random := rand.NewChaCha8([32]byte{1})
	content := make([]byte, s.size)
	for first := 0; first < s.files; first += filesPerDir {
		n := first / filesPerDir
		dir := filepath.Join(root, fmt.Sprintf("top%03d", n/dirsPerTop), fmt.Sprintf("dir%02d", n%dirsPerTop))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("planting a tree: %w", err)
		}
		for i := range min(filesPerDir, s.files-first) {
			_, _ = random.Read(content) // it never fails
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("file%02d.py", i)), content, 0o644); err != nil {
				return fmt.Errorf("planting a tree: %w", err)
			}
		}
		if err := litter(dir, n); err != nil {
			return fmt.Errorf("planting litter: %w", err)
		}
	}
	return nil
}

func litter(dir string, n int) error {
	if err := os.WriteFile(filepath.Join(dir, "._file00.py"), appleDouble(), 0o644); err != nil {
		return err
	}
	if n%10 != 0 {
		return nil
	}
	return os.WriteFile(filepath.Join(dir, ".DS_Store"), []byte("\x00\x00\x00\x01Bud1"), 0o644)
}

// appleDouble is a file of 163 bytes as macOS writes it.
func appleDouble() []byte {
	b := append([]byte{0, 5, 0x16, 7, 0, 2, 0, 0}, "Mac OS X        "...)
	b = binary.BigEndian.AppendUint16(b, 2)
	for _, v := range []uint32{9, 50, 113, 2, 163, 0} {
		b = binary.BigEndian.AppendUint32(b, v)
	}
	return append(b, make([]byte, 163-len(b))...)
}
