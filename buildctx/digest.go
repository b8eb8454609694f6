package buildctx

import (
	"crypto/sha256"
	"encoding/hex"
)

// finish makes the receipt of a walked tree; what the walk could not carry is its error.
func (t *Tree) finish(w *walker) error {
	if err := w.problems.join(); err != nil {
		return err
	}
	w.checkLinks()
	w.rules.keep.unused(&w.report)
	t.receipt = w.report.receipt()
	sum := sha256.New()
	line := make([]byte, 0, 512)
	t.nodes.each(func(n *node, path []byte) bool {
		line = t.nodes.appendLine(line[:0], n, path)
		sum.Write(line)
		switch n.kind {
		case File:
			t.receipt.addFile(path, n.size)
		case Dir:
			t.receipt.Dirs++
		case Link:
			t.receipt.Links++
		}
		return true
	})
	if t.receipt.Files == 0 {
		return &EmptyError{t.receipt}
	}
	t.receipt.Digest = "sha256:" + hex.EncodeToString(sum.Sum(nil))
	return nil
}

// appendLine appends what the digest, version 1, covers of an entry: kind SP mode SP value NUL path NUL.
func (s *store) appendLine(line []byte, n *node, path []byte) []byte {
	switch {
	case n.kind == Dir:
		line = append(line, "d 0755 -"...)
	case n.kind == Link:
		line = append(append(line, "l 0777 "...), s.target(n)...)
	case n.exec:
		line = hex.AppendEncode(append(line, "f 0755 "...), n.sum[:])
	default:
		line = hex.AppendEncode(append(line, "f 0644 "...), n.sum[:])
	}
	line = append(append(line, 0), path...)
	return append(line, 0)
}
