package buildctx

import (
	"errors"

	"golang.org/x/sys/unix"
)

// The system calls of the walk, relative to an open directory: one path component each, however deep the tree, and no
// link is followed on the way. Signals and network file systems may interrupt them.

const (
	openFile = unix.O_RDONLY | unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_NOCTTY | unix.O_CLOEXEC
	openDir  = unix.O_RDONLY | unix.O_NOFOLLOW | unix.O_DIRECTORY | unix.O_CLOEXEC
)

func retry[T any](call func() (T, error)) (T, error) {
	for {
		v, err := call()
		if !errors.Is(err, unix.EINTR) {
			return v, err
		}
	}
}

func openat(dir int, name string, flags int) (int, error) {
	return retry(func() (int, error) { return unix.Openat(dir, name, flags, 0) })
}

func read(fd int, buf []byte) (int, error) {
	return retry(func() (int, error) { return unix.Read(fd, buf) })
}

func fstat(fd int, st *unix.Stat_t) error {
	_, err := retry(func() (struct{}, error) { return struct{}{}, unix.Fstat(fd, st) })
	return err
}

func lstatat(dir int, name string, st *unix.Stat_t) error {
	_, err := retry(func() (struct{}, error) {
		return struct{}{}, unix.Fstatat(dir, name, st, unix.AT_SYMLINK_NOFOLLOW)
	})
	return err
}

// readlinkat returns the target of a link, whatever its length.
func readlinkat(dir int, name string) (string, error) {
	for size := 256; ; size *= 2 {
		buf := make([]byte, size)
		n, err := retry(func() (int, error) { return unix.Readlinkat(dir, name, buf) })
		if err != nil || n < size {
			return string(buf[:max(n, 0)]), err
		}
	}
}

// sameContent says that two looks at one open file found no sign of a write between them.
func sameContent(a, b *unix.Stat_t) bool {
	return a.Size == b.Size && a.Mtim == b.Mtim && a.Dev == b.Dev && a.Ino == b.Ino
}

func isRegular(st *unix.Stat_t) bool { return modeOf(st)&unix.S_IFMT == unix.S_IFREG }
