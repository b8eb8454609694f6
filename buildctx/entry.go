package buildctx

import (
	"crypto/sha256"
	"encoding/binary"
	"io/fs"
	"time"
)

// Kind is what an entry is; the letters are those of the digest.
type Kind byte

// The kinds of a context, then those that are only ever left out or refused.
const (
	File   Kind = 'f'
	Dir    Kind = 'd'
	Link   Kind = 'l'
	socket Kind = 's'
	fifo   Kind = 'p'
	device Kind = 'c'
)

// String is the word that receipts use.
func (k Kind) String() string {
	switch k {
	case File:
		return "file"
	case Dir:
		return "dir"
	case Link:
		return "link"
	case socket:
		return "socket"
	case fifo:
		return "fifo"
	}
	return "device"
}

// Entry is one file, directory or symbolic link of a context.
type Entry struct {
	Path     string      // relative, slashes, no leading ./ and no trailing slash
	Kind     Kind        // File, Dir or Link
	Mode     fs.FileMode // permission bits only: 0644 or 0755, 0755 of a directory, 0777 of a link
	Size     int64       // bytes of a file, else 0
	SHA256   [sha256.Size]byte
	Linkname string // target of a link, as it is in the source
	// ModTime stands in for the source's: made from the content of a file, the target of a link and the path of a
	// directory. BuildKit re-sends by size and time alone, so equal content must give an equal time and an edit another.
	ModTime time.Time
}

// The span that derived times lie in: never before 1980, which ZIP refuses, and not one constant second, since Python
// judges a .pyc by whole seconds and size.
const (
	firstSecond = 978307200  // 2001-01-01T00:00:00Z
	endSecond   = 1262304000 // 2010-01-01T00:00:00Z
)

// derivedTime spreads a hash over the years 2001 to 2009, with nanoseconds.
func derivedTime(sum *[sha256.Size]byte) time.Time {
	sec := binary.BigEndian.Uint64(sum[:8]) % (endSecond - firstSecond)
	nsec := binary.BigEndian.Uint32(sum[8:12]) % 1e9
	return time.Unix(firstSecond+int64(sec), int64(nsec)).UTC()
}

// ComparePaths orders paths by component, as BuildKit's receiver wants them: a slash sorts before every other byte.
func ComparePaths[S ~string | ~[]byte](a, b S) int {
	for i := 0; i < len(a) && i < len(b); i++ {
		if x, y := a[i], b[i]; x != y {
			if x == '/' {
				return -1
			}
			if y == '/' || x > y {
				return 1
			}
			return -1
		}
	}
	return len(a) - len(b)
}

// nameTime is the time of what has no content of its own.
func nameTime(kind, name string) time.Time {
	sum := sha256.Sum256([]byte(kind + "\x00" + name))
	return derivedTime(&sum)
}
