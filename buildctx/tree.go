package buildctx

import (
	"iter"
	"os"
)

// Tree is a context: what was carried of a source, hashed, and the account of the rest. It does not change after it was
// loaded and is safe for concurrent use.
type Tree struct {
	root    string   // "" for a tar
	spool   *os.File // contents of a tar's files, nil for a directory
	nodes   *store
	receipt *Receipt
}

// Root is the source directory, absolute and without links; empty for a tar.
func (t *Tree) Root() string { return t.root }

// Digest is that of design version 1: sha256:… over kinds, modes, contents and paths.
func (t *Tree) Digest() string { return t.receipt.Digest }

// Receipt is the account of the context. The caller must not change it.
func (t *Tree) Receipt() *Receipt { return t.receipt }

// Close removes what loading a tar put on disk.
func (t *Tree) Close() error {
	if t.spool == nil {
		return nil
	}
	return t.spool.Close()
}

// Entries yields every entry in order of path components, parents before what they hold; the root is none.
func (t *Tree) Entries() iter.Seq[Entry] {
	return func(yield func(Entry) bool) {
		t.nodes.each(func(n *node, path []byte) bool { return yield(t.entry(n, string(path))) })
	}
}

// Lookup returns the entry with this path.
func (t *Tree) Lookup(path string) (Entry, bool) {
	i := t.nodes.find(path)
	if i < 0 {
		return Entry{}, false
	}
	return t.entry(t.nodes.at(i), path), true
}

func (t *Tree) entry(n *node, path string) Entry {
	return newEntry(n, path, string(t.nodes.target(n)))
}

// newEntry is the public form of a node.
func newEntry(n *node, path, target string) Entry {
	e := Entry{Path: path, Kind: n.kind, Mode: 0o755, SHA256: n.sum}
	switch n.kind {
	case File:
		e.Size = n.size
		if !n.exec {
			e.Mode = 0o644
		}
		e.ModTime = derivedTime(&n.sum)
	case Link:
		e.Mode, e.Linkname = 0o777, target
		e.ModTime = nameTime("l", target)
	case Dir:
		e.ModTime = nameTime("d", path)
	}
	return e
}
