package buildctx

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
)

// Names longer than any system takes are refused; a path's limit also bounds the depth of a tree.
const (
	maxName = 255
	maxPath = 4095
)

// index is the tree of a tar's members, with their contents in a spool.
type index struct {
	root  *member
	hard  []string        // paths of hard links
	names strings.Builder // the chunk of names at hand
	attrs attributes
	spool *spool
	sum   hasher
	// trailing says that data followed the end marker
	trailing bool
}

// readMembers reads a whole tar.
func (x *index) readMembers(ctx context.Context, in *tarInput) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		h, err := in.next()
		if errors.Is(err, io.EOF) {
			return x.resolveHard()
		}
		if err != nil {
			return err
		}
		if err := x.add(in, h); err != nil {
			return err
		}
	}
}

func (x *index) add(in *tarInput, h *tar.Header) error {
	if h.Typeflag == tar.TypeXGlobalHeader {
		return nil
	}
	p, err := cleanMember(h)
	if err != nil {
		return err
	}
	m, err := newMember(h, p)
	if err != nil {
		return err
	}
	x.attrs.addTar(p, h.PAXRecords)
	if m.kind == File && m.hard() == "" {
		if err := x.content(in, m); err != nil {
			return err
		}
	}
	if m.hard() != "" {
		x.hard = append(x.hard, p)
	}
	return x.insert(p, m)
}

// cleanMember returns the path of a member; empty for the root.
func cleanMember(h *tar.Header) (string, error) {
	bad := func(detail string) error {
		return &PathError{Path: h.Name, Reason: BadName, Detail: detail}
	}
	switch {
	case path.IsAbs(h.Name):
		return "", bad("is an absolute name in the tar")
	case slices.Contains(strings.Split(h.Name, "/"), ".."):
		return "", bad("leads upwards in the tar")
	case len(h.Name) > maxPath:
		return "", bad("is longer than 4095 bytes")
	}
	p := path.Clean(h.Name)
	if p == "." {
		if h.Typeflag != tar.TypeDir {
			return "", bad("is no name for a member")
		}
		return "", nil
	}
	for name := range strings.SplitSeq(p, "/") {
		if len(name) > maxName {
			return "", bad("has a part longer than 255 bytes")
		}
	}
	return p, nil
}

// content spools and hashes a file.
func (x *index) content(in *tarInput, m *member) error {
	m.offset = x.spool.size
	x.sum.sum.Reset()
	head := make([]byte, 0, appleSniff)
	for {
		n, err := in.Read(x.sum.buf)
		x.sum.sum.Write(x.sum.buf[:n])
		head = append(head, x.sum.buf[:min(n, appleSniff-len(head))]...)
		if err := x.spool.write(x.sum.buf[:n]); err != nil {
			return err
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return in.wrap(err)
		}
	}
	x.sum.sum.Sum(m.sum[:0])
	m.size = x.spool.size - m.offset
	m.header, m.apple = hasAppleHeader(head), isAppleDouble(head)
	return nil
}

// insert puts a member at its path, with directories that have no members of their own above it.
func (x *index) insert(p string, m *member) error {
	if p == "" {
		x.root.mode = m.mode
		return nil
	}
	at := x.root
	dir, name := path.Split(p)
	for part := range strings.SplitSeq(strings.TrimSuffix(dir, "/"), "/") {
		if part == "" {
			continue
		}
		next := at.child(part)
		if next == nil {
			next = &member{kind: Dir, implied: true}
			at.put(x.keep(part), next)
		}
		if next.kind != Dir {
			return &PathError{Path: p, Reason: Conflict, Detail: fmt.Sprintf("is in the tar below %q, which is no directory there", part)}
		}
		at = next
	}
	switch old := at.child(name); {
	case old == nil:
		at.put(x.keep(name), m)
	case old.kind == Dir && m.kind == Dir:
		old.mode, old.implied = m.mode, false
	case old.implied:
		return &PathError{Path: p, Reason: Conflict, Detail: "is a directory in the tar and something else too"}
	default:
		return &PathError{Path: p, Reason: Duplicate, Detail: "is in the tar twice"}
	}
	return nil
}

// keep copies a name behind others: as a part of the header's it would keep all of that, and alone it would take more.
func (x *index) keep(name string) string {
	if x.names.Cap()-x.names.Len() < len(name) {
		x.names.Reset()
		x.names.Grow(nameChunk)
	}
	x.names.WriteString(name)
	return x.names.String()[x.names.Len()-len(name):]
}

func (x *index) lookup(p string) *member {
	at := x.root
	for part := range strings.SplitSeq(path.Clean(p), "/") {
		if at = at.child(part); at == nil {
			return nil
		}
	}
	return at
}

// resolveHard gives every hard link the content of what it names, so that each is a file of its own.
func (x *index) resolveHard() error {
	for _, p := range x.hard {
		m := x.lookup(p)
		to := m
		for steps := 0; to != nil && to.hard() != ""; steps++ {
			if steps > len(x.hard) {
				return &PathError{Path: p, Reason: BadLink, Detail: "is a hard link that leads to itself"}
			}
			to = x.lookup(to.hard())
		}
		if to == nil || to.kind == Dir {
			return &PathError{Path: p, Reason: BadLink, Detail: fmt.Sprintf("is a hard link to %q, which is no file of the tar", m.hard())}
		}
		*m = *to
	}
	return nil
}
