package buildctx

import (
	"encoding/binary"
	"slices"
	"strings"
)

// Litter by name, beside ._*: at any depth, and at the root only.
var (
	litterNames     = []string{".DS_Store", "__MACOSX", ".AppleDouble", ".LSOverride", "Icon\r"}
	litterRootNames = []string{".Spotlight-V100", ".Trashes", ".fseventsd", ".TemporaryItems", ".DocumentRevisions-V100", ".apdisk"}
)

// isLitterName says that a name alone makes an entry litter. Names that begin with ._ need a look at the content.
func isLitterName(name string, root bool) bool {
	return slices.Contains(litterNames, name) || root && slices.Contains(litterRootNames, name)
}

func mayBeAppleDouble(name string) bool { return strings.HasPrefix(name, "._") }

// AppleDouble: a header of 26 bytes (magic, version, 16 bytes of filler, number of entries), then a table of entries of
// 12 bytes each (identifier, offset, length). All big-endian.
const (
	appleMagic     = 0x00051607
	appleVersion   = 0x00020000
	appleHeaderLen = 26
	appleEntryLen  = 12
	// appleSniff is how much of a file decides: the header and more entries than are defined.
	appleSniff      = appleHeaderLen + appleEntryLen*appleMaxEntries
	appleMaxEntries = 32
)

// hasAppleMagic looks at the first eight bytes of a file.
func hasAppleMagic(head []byte) bool {
	return len(head) >= 8 && binary.BigEndian.Uint32(head) == appleMagic && binary.BigEndian.Uint32(head[4:]) == appleVersion
}

// isAppleDouble says that a file of this size beginning with head is an AppleDouble file: magic and a sane table, each
// entry of which lies behind the table and inside the file.
func isAppleDouble(head []byte, size int64) bool {
	if len(head) < appleHeaderLen || !hasAppleMagic(head) {
		return false
	}
	count := int(binary.BigEndian.Uint16(head[24:]))
	table := head[appleHeaderLen:]
	if count == 0 || count > appleMaxEntries || len(table) < count*appleEntryLen {
		return false
	}
	for ; count > 0; count-- {
		id := binary.BigEndian.Uint32(table)
		begin := int64(binary.BigEndian.Uint32(table[4:]))
		length := int64(binary.BigEndian.Uint32(table[8:]))
		if id == 0 || begin < appleHeaderLen || begin+length > size {
			return false
		}
		table = table[appleEntryLen:]
	}
	return true
}
