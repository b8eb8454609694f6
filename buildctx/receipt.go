package buildctx

import (
	"cmp"
	"encoding/base64"
	"slices"
	"unicode/utf8"
)

// Receipt is the machine-readable account of a context: what went in, what was left out and why, and the digest.
type Receipt struct {
	Digest   string     `json:"digest"` // sha256:…
	Files    int        `json:"files"`
	Dirs     int        `json:"dirs"`
	Links    int        `json:"links"`
	Bytes    int64      `json:"bytes"` // of all files
	Excluded []Excluded `json:"excluded"`
	Warnings []Warning  `json:"warnings"`
	Largest  []Large    `json:"largest"` // the ten largest files, largest first
}

// Excluded is something that was left out. A directory of which nothing is carried is one line, and has 0 bytes since
// it was not looked into.
type Excluded struct {
	Path    string `json:"path"`
	PathB64 string `json:"path_b64,omitempty"` // the bytes of a path that is not UTF-8
	Rule    string `json:"rule"`               // a Rule… constant, or the line of the ignore file
	Kind    string `json:"kind"`               // file, dir, link, socket, fifo, device
	Bytes   int64  `json:"bytes"`
	Litter  bool   `json:"-"` // by the rule, and not by a line of the ignore file that reads the same
}

// Warning is something about the source that is carried, or left out, but should be looked at.
type Warning struct {
	Kind    string `json:"kind"` // a Warn… constant
	Path    string `json:"path"`
	PathB64 string `json:"path_b64,omitempty"`
	Detail  string `json:"detail"`
}

// Large is one of the largest files.
type Large struct {
	Path    string `json:"path"`
	PathB64 string `json:"path_b64,omitempty"`
	Bytes   int64  `json:"bytes"`
}

// The kinds of warnings.
const (
	WarnOutput      = "output"       // a file that this run writes inside the source
	WarnLookAlike   = "look-alike"   // named ._* but no AppleDouble file
	WarnKept        = "kept"         // in the context against a rule, by context.keep
	WarnAppleDouble = "apple-double" // an AppleDouble file by content, with a name of its own; carried
	WarnSocket      = "socket"
	WarnFold        = "fold"         // names that differ only in case or Unicode normalisation
	WarnEncoding    = "encoding"     // a name that is not UTF-8
	WarnName        = "name"         // a backslash or a line break in a name, or a slash that was taken off
	WarnOutside     = "link-outside" // a link that leaves the tree
	WarnDangling    = "link-dangling"
	WarnMode        = "mode"   // setuid, setgid or sticky bits, cleared
	WarnXattr       = "xattr"  // com.apple.* attributes, not carried
	WarnSparse      = "sparse" // a large file with holes, which are carried as zeros
	WarnUnreadable  = "unreadable"
	WarnIgnore      = "ignore-file" // a line that does not do what it seems to
	WarnClassic     = "classic-builder"
	WarnTrailing    = "trailing-data" // bytes behind the end of a tar
)

const maxLargest = 10

// report gathers a receipt during the walk.
type report struct {
	excluded []Excluded
	warnings []Warning
}

// mark is a point of a report to come back to.
type mark struct{ excluded, warnings int }

func (r *report) mark() mark { return mark{len(r.excluded), len(r.warnings)} }

func (r *report) rewind(m mark) {
	r.excluded, r.warnings = r.excluded[:m.excluded], r.warnings[:m.warnings]
}

func (r *report) exclude(path string, v *verdict, kind Kind, bytes int64) {
	r.excluded = append(r.excluded, Excluded{
		Path: path, PathB64: rawName(path), Rule: v.rule, Kind: kind.String(), Bytes: bytes,
		Litter: v.rule == RuleLitter && v.pattern == nil,
	})
}

func (r *report) warn(w Warning) {
	w.PathB64 = rawName(w.Path)
	r.warnings = append(r.warnings, w)
}

// rawName is the base64 of a path that JSON could not carry, else empty.
func rawName(path string) string {
	if utf8.ValidString(path) {
		return ""
	}
	return base64.StdEncoding.EncodeToString([]byte(path))
}

// receipt sorts what was gathered; lists are never nil, so that they are arrays in JSON.
func (r *report) receipt() *Receipt {
	slices.SortStableFunc(r.excluded, func(a, b Excluded) int { return ComparePaths(a.Path, b.Path) })
	slices.SortStableFunc(r.warnings, func(a, b Warning) int {
		return cmp.Or(ComparePaths(a.Path, b.Path), cmp.Compare(a.Kind, b.Kind))
	})
	r.warnings = slices.Compact(r.warnings) // a file that was read twice warned twice
	rec := &Receipt{Excluded: r.excluded, Warnings: r.warnings, Largest: []Large{}}
	if rec.Excluded == nil {
		rec.Excluded = []Excluded{}
	}
	if rec.Warnings == nil {
		rec.Warnings = []Warning{}
	}
	return rec
}

// addFile counts a file and keeps it where it is among the largest.
func (r *Receipt) addFile(path []byte, size int64) {
	r.Files++
	r.Bytes += size
	n := len(r.Largest)
	if n == maxLargest && r.Largest[n-1].Bytes >= size {
		return
	}
	at := 0
	for at < n && r.Largest[at].Bytes >= size {
		at++
	}
	p := string(path)
	r.Largest = slices.Insert(r.Largest, at, Large{Path: p, PathB64: rawName(p), Bytes: size})
	r.Largest = r.Largest[:min(len(r.Largest), maxLargest)]
}
