package buildctx

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
)

// LoadTar reads a tar, plain or gzip, from a stream and applies to it what Load applies to a directory, the tar's own
// .dockerignore included; the digest is that of the same tree on disk. Contents go to one unnamed temporary file;
// nothing is extracted. Options.Outputs means nothing here. The caller closes the tree.
func LoadTar(ctx context.Context, r io.Reader, opts Options) (*Tree, error) {
	x, err := readIndex(ctx, r)
	if err != nil {
		return nil, err
	}
	tree, err := x.tree(ctx, opts)
	if err != nil {
		_ = x.spool.file.Close() // it goes with its descriptor
		return nil, err
	}
	return tree, nil
}

// readIndex reads the whole stream. The caller closes the spool.
func readIndex(ctx context.Context, r io.Reader) (*index, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	in, err := openTar(ctx, r)
	if err != nil {
		return nil, fmt.Errorf("reading tar: %w", err)
	}
	spool, err := newSpool()
	if err != nil {
		return nil, err
	}
	x := &index{root: &member{kind: Dir}, spool: spool, sum: hasher{sum: sha256.New(), buf: make([]byte, readBuffer)}}
	if err = x.readMembers(ctx, in); err == nil {
		if x.trailing, err = in.drain(); err == nil {
			err = spool.finish()
		}
	}
	if err != nil {
		_ = spool.file.Close() // it goes with its descriptor
		return nil, fmt.Errorf("reading tar: %w", err)
	}
	x.sum, x.spool.zero, x.names = hasher{}, nil, strings.Builder{} // the walk needs none of these buffers
	return x, nil
}

// tree applies the rules and makes the context.
func (x *index) tree(ctx context.Context, opts Options) (*Tree, error) {
	rules, odd, err := x.rules(opts)
	if err != nil {
		return nil, err
	}
	if x.trailing {
		odd = append(odd, Warning{Kind: WarnTrailing, Path: "-", Detail: "holds data behind the end of the tar, which was ignored"})
	}
	w := &walker{rules: rules, nodes: &store{}, folds: newFolder()}
	for _, warning := range odd {
		w.report.warn(warning)
	}
	x.attrs.report(&w.report)
	if err := w.dir(ctx, x.top(&w.report), place{node: -1}); err != nil {
		return nil, fmt.Errorf("reading tar: %w", err)
	}
	tree := &Tree{spool: x.spool.file, nodes: w.nodes}
	if err := tree.finish(w); err != nil {
		return nil, fmt.Errorf("reading tar: %w", err)
	}
	return tree, nil
}

func (x *index) top(rep *report) directory {
	return &tarDir{index: x, member: x.root, report: rep}
}

// rules makes the rules for a tar.
func (x *index) rules(opts Options) (*rules, []Warning, error) { return makeRules(opts, x) }

func (x *index) look(p string) (child, string, error) {
	m := x.lookup(p)
	if m == nil {
		return child{}, "", fs.ErrNotExist
	}
	return child{path.Base(p), m.kind}, m.target(), nil
}

func (x *index) open(p string) (io.ReadCloser, error) {
	m := x.lookup(p)
	return io.NopCloser(io.NewSectionReader(x.spool.file, m.offset, m.size)), nil
}
