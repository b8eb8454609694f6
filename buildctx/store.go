package buildctx

import (
	"bytes"
	"crypto/sha256"
)

// chunk is how many nodes, or 16ths of name bytes, are allocated at once. Chunks never move, so a worker may fill in a
// node while the walk appends others, and growing copies nothing.
const (
	nodeChunk = 4096
	nameChunk = 64 << 10
)

// node is an entry in compact form: no pointers, so that 200,000 cost 13 MB and nothing for the collector.
type node struct {
	size    int64 // bytes of a file; where the tree comes from a tar, the spool has them at offset
	offset  int64
	sum     [sha256.Size]byte
	parent  int32  // -1: the root
	nameOff uint32 // into names; the target of a link follows its name
	nameLen uint16
	linkLen uint16
	kind    Kind
	exec    bool
}

// store holds nodes in order of path components, which is the order of a depth-first walk with sorted names.
type store struct {
	chunks [][]node
	count  int
	names  [][]byte
	used   int // bytes used of the last of names
}

func (s *store) at(i int) *node { return &s.chunks[i/nodeChunk][i%nodeChunk] }

// add appends a node and returns its index.
func (s *store) add(parent int, kind Kind, name, target string) int {
	if s.count == len(s.chunks)*nodeChunk {
		s.chunks = append(s.chunks, make([]node, nodeChunk))
	}
	i := s.count
	s.count++
	*s.at(i) = node{
		parent: int32(parent), kind: kind, nameOff: s.keep(name, target),
		nameLen: uint16(len(name)), linkLen: uint16(len(target)),
	}
	return i
}

// keep copies a name and a target behind each other. Neither is longer than a path may be, so both fit in a chunk.
func (s *store) keep(name, target string) uint32 {
	if len(s.names) == 0 || s.used+len(name)+len(target) > nameChunk {
		s.names = append(s.names, make([]byte, nameChunk))
		s.used = 0
	}
	last := s.names[len(s.names)-1]
	off := (len(s.names)-1)*nameChunk + s.used
	s.used += copy(last[s.used:], name)
	s.used += copy(last[s.used:], target)
	return uint32(off)
}

// drop removes the last node.
func (s *store) drop() { s.count-- }

func (s *store) bytes(off uint32, length uint16) []byte {
	c := s.names[off/nameChunk]
	return c[off%nameChunk:][:length]
}

func (s *store) name(n *node) []byte   { return s.bytes(n.nameOff, n.nameLen) }
func (s *store) target(n *node) []byte { return s.bytes(n.nameOff+uint32(n.nameLen), n.linkLen) }

// appendPath appends the path of node i to buf.
func (s *store) appendPath(buf []byte, i int) []byte {
	n := s.at(i)
	if n.parent >= 0 {
		buf = append(s.appendPath(buf, int(n.parent)), '/')
	}
	return append(buf, s.name(n)...)
}

// find returns the index of the node with this path, or -1.
func (s *store) find(path string) int {
	want := []byte(path)
	var buf []byte
	low, high := 0, s.count
	for low < high {
		mid := int(uint(low+high) >> 1)
		buf = s.appendPath(buf[:0], mid)
		if ComparePaths(buf, want) < 0 {
			low = mid + 1
		} else {
			high = mid
		}
	}
	if low < s.count {
		if buf = s.appendPath(buf[:0], low); bytes.Equal(buf, want) {
			return low
		}
	}
	return -1
}

// each calls yield for every node in order, until it returns false. The path is only valid during the call.
func (s *store) each(yield func(n *node, path []byte) bool) {
	type level struct {
		node int
		end  int // length of the path of node
	}
	var buf []byte
	var stack []level
	for i := range s.count {
		n := s.at(i)
		for len(stack) > 0 && stack[len(stack)-1].node != int(n.parent) {
			stack = stack[:len(stack)-1]
		}
		buf = buf[:0:cap(buf)]
		if len(stack) > 0 {
			buf = append(buf[:stack[len(stack)-1].end], '/')
		}
		buf = append(buf, s.name(n)...)
		if n.kind == Dir {
			stack = append(stack, level{i, len(buf)})
		}
		if !yield(n, buf) {
			return
		}
	}
}
