package buildctx

import (
	"cmp"
	"io/fs"
	"slices"
	"strings"
)

// tarDir is a directory of a tar during the walk.
type tarDir struct {
	index  *index
	member *member
	prefix string
	report *report
}

func (d *tarDir) list() ([]child, error) {
	children := d.member.children()
	slices.SortFunc(children, func(a, b child) int { return cmp.Compare(a.name, b.name) })
	return children, nil
}

func (d *tarDir) find(name string) (child, error) {
	m := d.member.child(name)
	if m == nil {
		return child{}, fs.ErrNotExist
	}
	return child{name, m.kind}, nil
}

func (d *tarDir) enter(c child) (directory, error) {
	return &tarDir{d.index, d.member.child(c.name), d.prefix + c.name + "/", d.report}, nil
}

func (d *tarDir) target(c child) (string, error) { return d.member.child(c.name).target(), nil }

func (d *tarDir) size(c child) int64 {
	if c.kind != File {
		return 0
	}
	return d.member.child(c.name).size
}

func (d *tarDir) sniff(c child) (bool, error) { return d.member.child(c.name).apple, nil }

// oneOf is false: no file that a run writes is in a tar.
func (d *tarDir) oneOf(child, []inode) bool { return false }

func (d *tarDir) file(c child, n *node) {
	m := d.member.child(c.name)
	n.size, n.offset, n.sum, n.exec = m.size, m.offset, m.sum, m.mode&0o100 != 0
	warn := func(kind, detail string) {
		d.report.warn(Warning{Kind: kind, Path: d.prefix + c.name, Detail: detail})
	}
	if detail := clearedBits(uint32(m.mode)); detail != "" {
		warn(WarnMode, detail)
	}
	if m.slashed {
		warn(WarnName, detailSlash)
	}
	if m.header {
		warn(WarnAppleDouble, detailAppleDouble)
	}
	if m.sparse && m.size >= sparseLimit {
		warn(WarnSparse, detailSparse)
	}
}

func (d *tarDir) odd(rep *report) {
	if detail := clearedBits(uint32(d.member.mode)); detail != "" {
		rep.warn(Warning{Kind: WarnMode, Path: strings.TrimSuffix(d.prefix, "/"), Detail: detail})
	}
}

// close lets go of the members: what is carried of them is in the store by now, and both at once would be the most memory
// of all.
func (d *tarDir) close() { d.member.rest = nil }
