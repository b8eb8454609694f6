package buildctx

import (
	"strings"

	"golang.org/x/sys/unix"
)

// appleAttributes lists the com.apple.* attributes of an open file. com.apple.provenance is left out of the account: it
// is on nearly every file since macOS 13 and cannot be removed.
func appleAttributes(fd int) string {
	size, err := unix.Flistxattr(fd, nil)
	if err != nil || size == 0 {
		return ""
	}
	buf := make([]byte, size)
	if size, err = unix.Flistxattr(fd, buf); err != nil {
		return ""
	}
	var names []string
	for name := range strings.SplitSeq(string(buf[:size]), "\x00") {
		if strings.HasPrefix(name, "com.apple.") && name != "com.apple.provenance" {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}
