package buildctx

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// Options is how a source is read. The zero value applies the built-in rules and the source's own .dockerignore.
type Options struct {
	// Dockerfile is the path on disk of the Dockerfile whose <Dockerfile>.dockerignore, where there is one, replaces the
	// .dockerignore at the root of the source.
	Dockerfile string
	Keep       []string // patterns that bring back look-alikes, .git and .venv
	Exclude    []string // more patterns, after those of the ignore file
	Outputs    []string // absolute paths of files that this run writes; left out with a warning where they are in the source
	// Streams are open files that this run writes to, as a redirected standard output is. One that is a regular file of
	// the source is left out with a warning, whatever its name. Load does not close them.
	Streams []*os.File
}

// Load reads and hashes a directory. A dir that is a symbolic link is resolved. The caller closes the tree.
func Load(ctx context.Context, dir string, opts Options) (*Tree, error) {
	root, err := resolveRoot(dir)
	if err != nil {
		return nil, err
	}
	rules, odd, err := diskRules(root, opts)
	if err != nil {
		return nil, err
	}
	tree, err := load(ctx, root, rules, odd, nil)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", dir, err)
	}
	return tree, nil
}

// load walks a resolved directory; out is nil where no tar is written on the way.
func load(ctx context.Context, root string, rules *rules, odd []Warning, out *sink) (*Tree, error) {
	w := &walker{rules: rules, nodes: &store{}, folds: newFolder(), sink: out}
	for _, warning := range odd {
		w.report.warn(warning)
	}
	pool := startHashers(ctx, &w.problems)
	src := &disk{do: func(j hashJob) { pool.do(ctx, j) }, sink: out}
	err := walkDisk(ctx, w, src, root)
	pool.wait()
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	for _, warning := range pool.warnings {
		w.report.warn(warning)
	}
	pool.attrs.report(&w.report)
	if err := w.checkChanged(src.changed, root); err != nil {
		return nil, err
	}
	tree := &Tree{root: root, nodes: w.nodes}
	return tree, tree.finish(w)
}

func walkDisk(ctx context.Context, w *walker, src *disk, root string) error {
	top, err := src.open(unix.AT_FDCWD, root, "")
	if err != nil {
		return err
	}
	defer top.close()
	return w.dir(ctx, top, place{node: -1})
}

// checkChanged makes problems of names that came or went while the tree was read, unless a rule leaves them out.
func (w *walker) checkChanged(dirs []changedDir, root string) error {
	for _, d := range dirs {
		for _, name := range d.names {
			path := d.prefix + name
			if w.nodes.find(path) >= 0 {
				w.problems.add(path, &ChangedError{Path: path, What: "vanished while the context was read"})
				continue
			}
			decision, err := explainAgain(root, path, w.rules)
			if errors.Is(err, fs.ErrNotExist) { // it came and went
				continue
			}
			if err != nil {
				return err
			}
			if decision.Included || decision.Rule == "" {
				w.problems.add(path, &ChangedError{Path: path, What: "appeared while the context was read"})
			}
		}
	}
	return nil
}

func explainAgain(root, path string, r *rules) (Decision, error) {
	top, err := (&disk{}).open(unix.AT_FDCWD, root, "")
	if err != nil {
		return Decision{}, err
	}
	return explain(top, path, r)
}

// resolveRoot returns the absolute path of a source directory, without links.
func resolveRoot(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("resolving %s: %w", dir, err)
	}
	root, err := filepath.EvalSymlinks(abs)
	if errors.Is(err, fs.ErrNotExist) {
		return "", &PathError{Path: dir, Reason: Missing, Detail: "does not exist"}
	}
	if err != nil {
		return "", &PathError{Path: dir, Reason: Unreadable, Detail: "cannot be resolved", Err: err}
	}
	info, err := os.Stat(root)
	if err != nil {
		return "", &PathError{Path: dir, Reason: Unreadable, Detail: "cannot be examined", Err: err}
	}
	if !info.IsDir() {
		return "", &PathError{Path: dir, Reason: NotDirectory, Detail: "is not a directory"}
	}
	return root, nil
}

// diskRules makes the rules for a directory, and the warnings about its ignore file.
func diskRules(root string, opts Options) (*rules, []Warning, error) {
	r, odd, err := makeRules(opts, onDisk(root))
	if err != nil {
		return nil, nil, err
	}
	r.outputs = inside(root, opts.Outputs)
	r.streams, err = regular(opts.Streams)
	return r, odd, err
}

// regular tells those of the streams that could be files of a source.
func regular(streams []*os.File) ([]inode, error) {
	var all []inode
	for _, f := range streams {
		var st unix.Stat_t
		if err := fstat(int(f.Fd()), &st); err != nil {
			return nil, fmt.Errorf("examining the output %s: %w", f.Name(), err)
		}
		if isRegular(&st) {
			all = append(all, inodeOf(&st))
		}
	}
	return all, nil
}

// inside returns those of the paths that lie in the source, relative to it.
func inside(root string, paths []string) []string {
	var rel []string
	for _, p := range paths {
		if dir, err := filepath.EvalSymlinks(filepath.Dir(p)); err == nil {
			p = filepath.Join(dir, filepath.Base(p))
		}
		r, err := filepath.Rel(root, p)
		if err == nil && r != "." && r != ".." && !strings.HasPrefix(r, "../") {
			rel = append(rel, filepath.ToSlash(r))
		}
	}
	return rel
}
