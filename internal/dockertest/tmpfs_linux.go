package dockertest

import (
	"strings"

	"golang.org/x/sys/unix"
)

func mountTmpfs(dir, options string) (unmount func() error, err error) {
	var flags uintptr
	if rest, ok := strings.CutPrefix(options, "ro"); ok {
		flags, options = unix.MS_RDONLY, strings.TrimPrefix(rest, ",")
	}
	if err := unix.Mount("tmpfs", dir, "tmpfs", flags, options); err != nil {
		return nil, err
	}
	return func() error { return unix.Unmount(dir, 0) }, nil
}
