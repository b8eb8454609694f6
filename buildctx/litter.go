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

// The first bytes of an AppleDouble file, big-endian.
const (
	appleMagic   = 0x00051607
	appleVersion = 0x00020000
	appleSniff   = 8 // bytes of both
)

// isAppleDouble says that a file named ._* that begins with head is AppleDouble: by its magic alone. What follows may be
// damaged or of another version, and is macOS's all the same.
func isAppleDouble(head []byte) bool {
	return len(head) >= 4 && binary.BigEndian.Uint32(head) == appleMagic
}

// hasAppleHeader asks for the version too, where no name says that a file is AppleDouble.
func hasAppleHeader(head []byte) bool {
	return isAppleDouble(head) && len(head) >= appleSniff && binary.BigEndian.Uint32(head[4:]) == appleVersion
}
