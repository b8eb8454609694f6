package buildctx

import (
	"archive/tar"
	"bytes"
	"fmt"
	"time"
)

// block is the unit of a tar.
const block = 512

// ustarMax are the longest name and the largest size that a plain header holds.
const (
	ustarName = 100
	ustarSize = 1 << 33
)

// appendHeader appends the blocks that stand before an entry's content. Most entries are plain, and for these the
// library's general way costs more than reading the file; the bytes are the same.
func appendHeader(buf []byte, e Entry) ([]byte, error) {
	h := header(e)
	if len(h.Name) <= ustarName && len(h.Linkname) <= ustarName && h.Size < ustarSize && isASCII(h.Name) && isASCII(h.Linkname) {
		return appendPlain(buf, h), nil
	}
	var out bytes.Buffer
	if err := tar.NewWriter(&out).WriteHeader(h); err != nil {
		return buf, fmt.Errorf("%q: %w", e.Path, err)
	}
	return append(buf, out.Bytes()...), nil
}

func header(e Entry) *tar.Header {
	h := &tar.Header{Name: e.Path, Mode: int64(e.Mode), ModTime: e.ModTime.Truncate(time.Second)}
	switch e.Kind {
	case Dir:
		h.Name, h.Typeflag = e.Path+"/", tar.TypeDir
	case Link:
		h.Linkname, h.Typeflag = e.Linkname, tar.TypeSymlink
	default:
		h.Size, h.Typeflag = e.Size, tar.TypeReg
	}
	return h
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// appendPlain appends a USTAR header, as archive/tar writes it.
func appendPlain(buf []byte, h *tar.Header) []byte {
	at := len(buf)
	buf = append(buf, make([]byte, block)...)
	b := buf[at:]
	copy(b[0:], h.Name)
	octal(b[100:107], h.Mode)
	octal(b[108:115], 0) // owner
	octal(b[116:123], 0) // group
	octal(b[124:135], h.Size)
	octal(b[136:147], h.ModTime.Unix())
	b[156] = h.Typeflag
	copy(b[157:], h.Linkname)
	copy(b[257:], "ustar\x0000")
	octal(b[329:336], 0) // device numbers
	octal(b[337:344], 0)
	sum := int64(8 * ' ') // of the checksum field itself
	for _, v := range b {
		sum += int64(v)
	}
	octal(b[148:154], sum)
	b[155] = ' '
	return buf
}

// octal fills a field with digits.
func octal(field []byte, v int64) {
	for i := len(field) - 1; i >= 0; i-- {
		field[i] = byte('0' + v&7)
		v >>= 3
	}
}

// padding is what fills a content up to a whole block.
func padding(size int64) []byte {
	var zeros [block]byte
	return zeros[:-size&(block-1)]
}
