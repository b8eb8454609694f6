package cmd

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// writeOutput has a file written, through links where they lead to it. One that
// exists is replaced only once the new one is whole, and keeps its mode; what is
// no regular file is written to directly. A failure leaves what was there
// before, and nothing where nothing was. The writer is told every path that it
// writes to.
func writeOutput(file string, write func(w io.Writer, written ...string) error) error {
	info, err := os.Stat(file)
	if err == nil && !info.Mode().IsRegular() {
		f, err := os.OpenFile(file, os.O_WRONLY, 0)
		if err != nil {
			return fmt.Errorf("opening the output: %w", err)
		}
		return errors.Join(write(f), f.Close())
	}
	target := followLinks(file)
	if err == nil {
		return replace(target, info.Mode().Perm(), write)
	}
	f, err := os.OpenFile(target, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return fmt.Errorf("creating the tar: %w", err)
	}
	if err := errors.Join(write(f, target), f.Close()); err != nil {
		return errors.Join(err, os.Remove(target))
	}
	return nil
}

// replace writes a new file beside the target, under a name that nothing has.
func replace(target string, mode fs.FileMode, write func(w io.Writer, written ...string) error) error {
	f, err := os.CreateTemp(filepath.Dir(target), "."+filepath.Base(target)+".*")
	if err != nil {
		return fmt.Errorf("creating the tar: %w", err)
	}
	err = errors.Join(f.Chmod(mode), write(f, target, f.Name()), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), target)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// maxLinks is how many links a path may lead through, as in Linux.
const maxLinks = 40

// followLinks is the path that a last component, which need not exist, leads to. Where that cannot be said, opening the
// path says why.
func followLinks(path string) string {
	for range maxLinks {
		dir, base := filepath.Split(path)
		dir, err := filepath.EvalSymlinks(cmp.Or(dir, "."))
		if err != nil {
			return path
		}
		path = filepath.Join(dir, base)
		to, err := os.Readlink(path)
		if err != nil {
			return path
		}
		if path = to; !filepath.IsAbs(to) {
			path = dir + string(filepath.Separator) + to // Join would take a .. behind a link for its parent
		}
	}
	return path
}
