// Package xattr keeps the metadata of uploaded files as extended attributes of theirs.
package xattr

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/sys/unix"
)

const prefix = "user.e2b."

// Write sets each pair as an attribute of the file.
func Write(path string, metadata map[string]string) error {
	for name, value := range metadata {
		if err := unix.Setxattr(path, prefix+name, []byte(value), 0); err != nil {
			return fmt.Errorf("setting attribute %s of %s: %w", name, path, err)
		}
	}
	return nil
}

// Read gives what Write has set on the file itself, not on a link's target; nil where there is none
// or the file system has no attributes.
func Read(path string) map[string]string {
	var found map[string]string
	for _, name := range bytes.Split(list(path), []byte{0}) {
		short, ours := strings.CutPrefix(string(name), prefix)
		if !ours {
			continue
		}
		value, err := read(path, string(name))
		if err != nil {
			continue
		}
		if found == nil {
			found = map[string]string{}
		}
		found[short] = string(value)
	}
	return found
}

// list gives the names, each ended by a NUL.
func list(path string) []byte {
	for size := 256; ; size *= 2 {
		buf := make([]byte, size)
		n, err := unix.Llistxattr(path, buf)
		if err == nil {
			return buf[:n]
		}
		if !errors.Is(err, unix.ERANGE) || size > 1<<16 {
			return nil
		}
	}
}

func read(path, name string) ([]byte, error) {
	for size := 256; ; size *= 2 {
		buf := make([]byte, size)
		n, err := unix.Lgetxattr(path, name, buf)
		if err == nil {
			return buf[:n], nil
		}
		if !errors.Is(err, unix.ERANGE) || size > 1<<16 {
			return nil, err
		}
	}
}
