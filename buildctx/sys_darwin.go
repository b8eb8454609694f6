package buildctx

import (
	"strings"

	"golang.org/x/sys/unix"
)

func modeOf(st *unix.Stat_t) uint32 { return uint32(st.Mode) }

func inodeOf(st *unix.Stat_t) inode { return inode{uint64(st.Dev), st.Ino} }

// appleAttributes lists the com.apple.* attributes of an open file. A file system without attributes has none.
func appleAttributes(fd int) []string {
	size, err := unix.Flistxattr(fd, nil)
	if err != nil || size == 0 {
		return nil
	}
	buf := make([]byte, size)
	if size, err = unix.Flistxattr(fd, buf); err != nil {
		return nil
	}
	var names []string
	for name := range strings.SplitSeq(string(buf[:size]), "\x00") {
		if strings.HasPrefix(name, applePrefix) {
			names = append(names, name)
		}
	}
	return names
}
