package buildctx

import (
	"fmt"
	"hash/maphash"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// oddName warns of names that other systems, or the builder, have trouble with.
func (w *walker) oddName(at place, c child) {
	switch {
	case !utf8.ValidString(c.name):
		w.report.warn(Warning{Kind: WarnEncoding, Path: at.path(c.name), Detail: "has a name that is not UTF-8"})
	case strings.ContainsAny(c.name, "\\\n\r"):
		w.report.warn(Warning{Kind: WarnName, Path: at.path(c.name), Detail: "has a backslash or a line break in its name"})
	}
}

// shown quotes a name only where it would steer a terminal or break a line.
func shown(name string) string {
	odd := func(r rune) bool { return !unicode.IsPrint(r) }
	if !utf8.ValidString(name) || strings.ContainsFunc(name, odd) {
		return strconv.Quote(name)
	}
	return name
}

// folder finds names of one directory that a file system ignoring case and normalisation would take for one.
type folder struct {
	seed maphash.Seed
	seen map[uint64]int32
	buf  []byte
}

func newFolder() folder { return folder{seed: maphash.MakeSeed(), seen: map[uint64]int32{}} }

// check warns once for each group, at its first name.
func (f *folder) check(rep *report, at place, children []child) {
	clear(f.seen)
	var groups map[int32][]string
	for i, c := range children {
		key := maphash.Bytes(f.seed, f.fold(c.name))
		first, dup := f.seen[key]
		if !dup {
			f.seen[key] = int32(i)
			continue
		}
		if groups == nil {
			groups = map[int32][]string{}
		}
		groups[first] = append(groups[first], c.name)
	}
	for first, others := range groups {
		rep.warn(Warning{Kind: WarnFold, Path: at.path(children[first].name), Detail: fmt.Sprintf(
			"is the same name as %q where case and Unicode normalisation are ignored, as on macOS", others)})
	}
}

// fold returns the name in NFD, case folded; valid until the next call.
func (f *folder) fold(name string) []byte {
	f.buf = f.buf[:0]
	for i := range len(name) {
		b := name[i]
		if b >= utf8.RuneSelf {
			return foldUnicode(name)
		}
		if 'A' <= b && b <= 'Z' {
			b += 'a' - 'A'
		}
		f.buf = append(f.buf, b)
	}
	return f.buf
}

func foldUnicode(name string) []byte {
	return norm.NFD.Bytes(cases.Fold().Bytes(norm.NFD.Bytes([]byte(name))))
}
