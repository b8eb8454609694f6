package buildctx

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// Open re-reads a file. Where content, size or readability is not what was hashed, Open or a Read returns a
// [ChangedError]; never does a Read hand out more bytes than the file had, and io.EOF means that all were the same.
func (t *Tree) Open(path string) (io.ReadCloser, error) {
	i := t.nodes.find(path)
	if i < 0 || t.nodes.at(i).kind != File {
		return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
	}
	n := t.nodes.at(i)
	if t.spool != nil {
		src := io.NewSectionReader(t.spool, n.offset, n.size)
		return &verifier{path: path, node: n, src: io.NopCloser(src), sum: sha256.New()}, nil
	}
	return openVerified(t.root, path, n)
}

// openVerified opens a file of a directory for comparing it with its node.
func openVerified(root, path string, n *node) (io.ReadCloser, error) {
	f, err := openBelow(root, path)
	if err != nil {
		return nil, changedOpen(path, err)
	}
	info, err := f.Stat()
	if err == nil && info.Mode().IsRegular() && info.Size() == n.size {
		return &verifier{path: path, node: n, src: f, sum: sha256.New()}, nil
	}
	_ = f.Close() // nothing was written
	switch {
	case err != nil:
		return nil, changedOpen(path, err)
	case !info.Mode().IsRegular():
		return nil, &ChangedError{Path: path, What: "is no longer a file"}
	}
	return nil, &ChangedError{Path: path, What: fmt.Sprintf("had %d bytes when it was hashed and has %d now", n.size, info.Size())}
}

// openBelow opens a file of a directory without following a link at its end or waiting for a pipe's other end.
func openBelow(root, path string) (*os.File, error) {
	full := filepath.Join(root, path)
	fd, err := openat(unix.AT_FDCWD, full, openFile)
	if errors.Is(err, unix.ENAMETOOLONG) {
		fd, err = openStepwise(root, path)
	}
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), full), nil
}

// openStepwise opens a file whose whole path is longer than the system takes.
func openStepwise(root, path string) (int, error) {
	dir, err := openat(unix.AT_FDCWD, root, openDir)
	if err != nil {
		return -1, err
	}
	for {
		name, rest, more := strings.Cut(path, "/")
		flags := openDir
		if !more {
			flags = openFile
		}
		next, err := openat(dir, name, flags)
		_ = unix.Close(dir) // nothing was written
		if err != nil || !more {
			return next, err
		}
		dir, path = next, rest
	}
}

func changedOpen(path string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return &ChangedError{Path: path, What: "vanished after it was hashed"}
	}
	return &ChangedError{Path: path, What: "cannot be read any more", Err: err}
}

// verifier hashes what it hands out.
type verifier struct {
	path string
	node *node
	src  io.ReadCloser
	sum  hash.Hash
	read int64
	err  error // what ended the reading
}

func (v *verifier) Read(p []byte) (int, error) {
	if v.err != nil {
		return 0, v.err
	}
	n, err := v.src.Read(p)
	if over := v.read + int64(n) - v.node.size; over > 0 {
		n -= int(over)
		v.err = &ChangedError{Path: v.path, What: "grew after it was hashed"}
	}
	v.sum.Write(p[:n])
	v.read += int64(n)
	switch {
	case v.err != nil:
	case errors.Is(err, io.EOF):
		v.err = v.end()
	case err != nil:
		v.err = &ChangedError{Path: v.path, What: "cannot be read any more", Err: err}
	}
	return n, v.err
}

// end is io.EOF where everything was read and is the same.
func (v *verifier) end() error {
	if v.read < v.node.size {
		return &ChangedError{Path: v.path, What: "shrank after it was hashed"}
	}
	if !bytes.Equal(v.sum.Sum(nil), v.node.sum[:]) {
		return &ChangedError{Path: v.path, What: "was changed after it was hashed"}
	}
	return io.EOF
}

func (v *verifier) Close() error { return v.src.Close() }
