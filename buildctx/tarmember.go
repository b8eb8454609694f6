package buildctx

import (
	"archive/tar"
	"crypto/sha256"
	"fmt"
	"strings"
)

const maxTarget = 4095

// member is an entry of a tar. There are as many at once as the tar has, so what few need is kept apart.
type member struct {
	sum     [sha256.Size]byte
	size    int64
	offset  int64
	rest    *rest  // nil of a plain file
	mode    uint16 // with the bits that are not carried
	kind    Kind
	apple   bool // AppleDouble by its magic
	header  bool // and by its version
	sparse  bool
	slashed bool // no directory, and named with a slash behind it
	implied bool // a directory that only the names of others tell of
}

// rest is what a link or a directory has.
type rest struct {
	hard   string // the target of a hard link until it is resolved
	target string // of a symbolic link
	few    []named
	many   map[string]*member // instead of few, from fewMembers on
}

type named struct {
	name string
	*member
}

// fewMembers is up to how many children a list serves. A map would take half as much memory again.
const fewMembers = 32

func newMember(h *tar.Header, p string) (*member, error) {
	m := &member{mode: uint16(h.Mode & 0o7777), size: h.Size, slashed: slashed(h)}
	switch h.Typeflag {
	case tar.TypeReg, tar.TypeGNUSparse, tar.TypeCont:
		m.kind, m.sparse = File, h.Typeflag == tar.TypeGNUSparse || isSparse(h)
	case tar.TypeDir:
		m.kind = Dir
	case tar.TypeSymlink:
		m.kind, m.rest = Link, &rest{target: h.Linkname}
		if n := len(h.Linkname); n > maxTarget || n == 0 {
			return nil, &PathError{Path: p, Reason: BadLink, Detail: fmt.Sprintf("is a link with a target of %d bytes", n)}
		}
	case tar.TypeLink:
		m.kind, m.rest = File, &rest{hard: h.Linkname}
	case tar.TypeFifo:
		m.kind = fifo
	case tar.TypeChar, tar.TypeBlock:
		m.kind = device
	default:
		return nil, &PathError{Path: p, Reason: BadMember, Detail: fmt.Sprintf("is a tar member of type %q, which cannot be carried", h.Typeflag)}
	}
	return m, nil
}

func isSparse(h *tar.Header) bool {
	for key := range h.PAXRecords {
		if strings.HasPrefix(key, "GNU.sparse.") {
			return true
		}
	}
	return false
}

func (m *member) hard() string {
	if m.rest == nil {
		return ""
	}
	return m.rest.hard
}

func (m *member) target() string {
	if m.rest == nil {
		return ""
	}
	return m.rest.target
}

// child returns nil where there is none of that name.
func (m *member) child(name string) *member {
	if m.rest == nil {
		return nil
	}
	for i := len(m.rest.few) - 1; i >= 0; i-- { // tars have a directory's members behind each other
		if c := m.rest.few[i]; c.name == name {
			return c.member
		}
	}
	return m.rest.many[name]
}

// put adds a child that is not there yet.
func (m *member) put(name string, child *member) {
	if m.rest == nil {
		m.rest = &rest{}
	}
	r := m.rest
	switch {
	case r.many != nil:
		r.many[name] = child
	case len(r.few) < fewMembers:
		r.few = append(r.few, named{name, child})
	default:
		r.many = map[string]*member{name: child}
		for _, c := range r.few {
			r.many[c.name] = c.member
		}
		r.few = nil
	}
}

// children lists names and kinds, in no order.
func (m *member) children() []child {
	if m.rest == nil {
		return nil
	}
	all := make([]child, 0, len(m.rest.few)+len(m.rest.many))
	for _, c := range m.rest.few {
		all = append(all, child{c.name, c.kind})
	}
	for name, c := range m.rest.many {
		all = append(all, child{name, c.kind})
	}
	return all
}
