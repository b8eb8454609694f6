package image

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"slices"
	"strings"
	"sync"

	"github.com/tonistiigi/fsutil"
	"github.com/tonistiigi/fsutil/types"

	"github.com/hermesbox/hermesbox/buildctx"
)

// sentFS is what the builder is offered as its context: the tree, and beside it
// the files of .hermesbox/. It implements fsutil.FS.
//
// BuildKit's sender takes a file that cannot be opened for an empty one, so Open
// always succeeds here and the error comes from Read. BuildKit's sender then
// waits for its peer for ever, so the first error also calls fail, which ends
// the build; it is kept, as the builder would only report its own view of it.
type sentFS struct {
	tree   *buildctx.Tree
	extras []extra // in order of path components, all below extrasDir
	fail   context.CancelCauseFunc

	mu  sync.Mutex
	err error
}

// extra is a file sent beside the source.
type extra struct {
	path    string // below the context's root
	mode    fs.FileMode
	modTime int64 // ns since 1970
	content []byte
}

func newSentFS(tree *buildctx.Tree, extras []extra, fail context.CancelCauseFunc) *sentFS {
	slices.SortFunc(extras, func(a, b extra) int {
		return slices.Compare(strings.Split(a.path, "/"), strings.Split(b.path, "/"))
	})
	return &sentFS{tree: tree, extras: extras, fail: fail}
}

// Err is the first error met while sending.
func (s *sentFS) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

func (s *sentFS) keep(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = err
		s.fail(err)
	}
}

// Walk calls fn for each entry in order of path components. The target is
// always the whole tree: hermesbox takes the builder's filters away.
func (s *sentFS) Walk(ctx context.Context, _ string, fn fs.WalkDirFunc) error {
	skipped := ""
	for stat := range s.stats() {
		if skipped != "" && strings.HasPrefix(stat.Path, skipped) {
			continue
		}
		switch err := visit(ctx, stat, fn); {
		case errors.Is(err, fs.SkipAll):
			return nil
		case errors.Is(err, fs.SkipDir) && stat.IsDir():
			skipped = stat.Path + "/"
		case err != nil:
			return err
		}
	}
	return nil
}

// stats merges the entries of the tree and of the extra files.
func (s *sentFS) stats() iter.Seq[*types.Stat] {
	return func(yield func(*types.Stat) bool) {
		extras := s.extraStats()
		for entry := range s.tree.Entries() {
			for len(extras) > 0 && buildctx.ComparePaths(extras[0].Path, entry.Path) < 0 {
				if !yield(extras[0]) {
					return
				}
				extras = extras[1:]
			}
			if !yield(entryStat(entry)) {
				return
			}
		}
		for _, stat := range extras {
			if !yield(stat) {
				return
			}
		}
	}
}

func visit(ctx context.Context, stat *types.Stat, fn fs.WalkDirFunc) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return fn(stat.Path, &fsutil.DirEntryInfo{Stat: stat}, nil)
}

func entryStat(entry buildctx.Entry) *types.Stat {
	stat := &types.Stat{
		Path: entry.Path, Mode: uint32(entry.Mode.Perm()), ModTime: entry.ModTime.UnixNano(), Linkname: entry.Linkname,
	}
	switch entry.Kind {
	case 'd':
		stat.Mode |= uint32(fs.ModeDir)
	case 'l':
		stat.Mode |= uint32(fs.ModeSymlink)
		stat.Size = int64(len(entry.Linkname))
	default:
		stat.Size = entry.Size
	}
	return stat
}

// extraStats lists the extra files with the directories they need.
func (s *sentFS) extraStats() []*types.Stat {
	var stats []*types.Stat
	made := map[string]bool{}
	for _, file := range s.extras {
		for i, c := range file.path {
			if dir := file.path[:i]; c == '/' && !made[dir] {
				made[dir] = true
				stats = append(stats, &types.Stat{Path: dir, Mode: uint32(fs.ModeDir | 0o755), ModTime: extrasTime})
			}
		}
		stats = append(stats, &types.Stat{
			Path: file.path, Mode: uint32(file.mode), Size: int64(len(file.content)), ModTime: file.modTime,
		})
	}
	return stats
}

// Open never fails; see sentFS.
func (s *sentFS) Open(path string) (io.ReadCloser, error) {
	for _, file := range s.extras {
		if file.path == path {
			return io.NopCloser(bytes.NewReader(file.content)), nil
		}
	}
	file, err := s.tree.Open(path)
	if err != nil {
		file = io.NopCloser(failingReader{fmt.Errorf("sending %q: %w", path, err)})
	}
	return &guardedReader{ReadCloser: file, fs: s}, nil
}

// failingReader gives its error in place of content.
type failingReader struct{ err error }

func (r failingReader) Read([]byte) (int, error) { return 0, r.err }

// guardedReader tells its sentFS of the first error but io.EOF.
type guardedReader struct {
	io.ReadCloser
	fs *sentFS
}

func (r *guardedReader) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		r.fs.keep(err)
	}
	return n, err
}
