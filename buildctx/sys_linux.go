package buildctx

import "golang.org/x/sys/unix"

func modeOf(st *unix.Stat_t) uint32 { return st.Mode }

func inodeOf(st *unix.Stat_t) inode { return inode{st.Dev, st.Ino} }

// appleAttributes is empty: Linux has no place for com.apple.* attributes.
func appleAttributes(int) []string { return nil }
