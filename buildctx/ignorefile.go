package buildctx

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

const ignoreName = ".dockerignore"

// ignoreSource is where the ignore file of a source is looked for.
type ignoreSource interface {
	look(path string) (c child, target string, err error) // the target is a link's
	open(path string) (io.ReadCloser, error)              // a file that look found
}

// makeRules reads the ignore file, of the Dockerfile or else of the source, and puts its patterns and those of the
// options together.
func makeRules(opts Options, src ignoreSource) (*rules, []Warning, error) {
	ignore, err := dockerfileIgnore(opts.Dockerfile)
	if err != nil {
		return nil, nil, err
	}
	var odd []Warning
	if ignore == nil {
		if ignore, odd, err = sourceIgnore(src); err != nil {
			return nil, nil, err
		}
	}
	more, err := parsePatterns(opts.Exclude, "context.exclude")
	if err != nil {
		return nil, nil, err
	}
	keep, err := parsePatterns(opts.Keep, "context.keep")
	if err != nil {
		return nil, nil, err
	}
	all := append(ignore, more...)
	return &rules{ignore: newMatcher(all), keep: newMatcher(keep)}, append(odd, lint(all)...), nil
}

// dockerfileIgnore reads the ignore file beside the Dockerfile, wherever its user had it linked to; nil where there is
// none, and an empty list where it has no patterns.
func dockerfileIgnore(dockerfile string) ([]pattern, error) {
	if dockerfile == "" {
		return nil, nil
	}
	name := dockerfile + ignoreName
	info, err := os.Stat(name) // before it is opened: opening a device may do something
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, &IgnoreError{File: name, Err: err}
	}
	if !info.Mode().IsRegular() {
		return nil, &IgnoreError{File: name, Err: noFile(kindOf(info.Mode()))}
	}
	fd, err := openat(unix.AT_FDCWD, name, openFile&^unix.O_NOFOLLOW)
	if err != nil {
		return nil, &IgnoreError{File: name, Err: err}
	}
	f, err := onlyFile(os.NewFile(uintptr(fd), name))
	if err != nil {
		return nil, &IgnoreError{File: name, Err: err}
	}
	return readPatterns(f, name)
}

// sourceIgnore reads the ignore file at the root of a source, through links as BuildKit does: inside the source, whose
// root is also that of an absolute target, and which no .. leaves.
func sourceIgnore(src ignoreSource) ([]pattern, []Warning, error) {
	if _, _, err := src.look(ignoreName); errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	at, kind, err := follow(ignoreName, src.look)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, []Warning{{Kind: WarnIgnore, Path: ignoreName, Detail: "is a link to nothing in the source, so no patterns were read"}}, nil
	}
	if err != nil {
		return nil, nil, &IgnoreError{File: ignoreName, Err: err}
	}
	if kind != File {
		return nil, nil, &IgnoreError{File: ignoreName, Err: noFile(kind)}
	}
	f, err := src.open(at)
	if err != nil {
		return nil, nil, &IgnoreError{File: ignoreName, Err: err}
	}
	patterns, err := readPatterns(f, ignoreName)
	return patterns, nil, err
}

func noFile(kind Kind) error { return fmt.Errorf("it is a %s, and no file", kind) }

// readPatterns reads and closes an ignore file; without patterns the list is empty and not nil.
func readPatterns(f io.ReadCloser, name string) ([]pattern, error) {
	defer func() { _ = f.Close() }() // nothing was written
	patterns, err := readIgnore(f, name)
	if err != nil {
		return nil, err
	}
	return append([]pattern{}, patterns...), nil
}

// follow resolves a path inside a source.
func follow(p string, look func(string) (child, string, error)) (string, Kind, error) {
	at, rest := "", strings.Split(p, "/")
	kind, links := Dir, 0
	for len(rest) > 0 {
		name := rest[0]
		rest = rest[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			at, kind = strings.TrimPrefix(path.Dir("/"+at), "/"), Dir
			continue
		}
		c, target, err := look(path.Join(at, name))
		switch {
		case err != nil:
			return "", 0, err
		case c.kind != Link:
			at, kind = path.Join(at, name), c.kind
			continue
		}
		if links++; links > maxLinks {
			return "", 0, errors.New("its links lead in a circle")
		}
		if path.IsAbs(target) {
			at = ""
		}
		rest = append(strings.Split(target, "/"), rest...)
	}
	return at, kind, nil
}

// onDisk is a source directory.
type onDisk string

func (root onDisk) look(p string) (child, string, error) {
	full := filepath.Join(string(root), p)
	info, err := os.Lstat(full)
	if errors.Is(err, unix.ENOTDIR) {
		err = fs.ErrNotExist
	}
	if err != nil {
		return child{}, "", err
	}
	c := child{info.Name(), kindOf(info.Mode())}
	if c.kind != Link {
		return c, "", nil
	}
	target, err := os.Readlink(full)
	return c, target, err
}

// open opens a file, and does not wait where it has become a pipe since.
func (root onDisk) open(p string) (io.ReadCloser, error) {
	f, err := openBelow(string(root), p)
	if err != nil {
		return nil, err
	}
	return onlyFile(f)
}

// onlyFile closes what is no file.
func onlyFile(f *os.File) (io.ReadCloser, error) {
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = noFile(kindOf(info.Mode()))
	}
	if err != nil {
		_ = f.Close() // nothing was written
		return nil, err
	}
	return f, nil
}
