package buildctx_test

import "syscall"

func mountTmpfs(dir string) error { return syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=1m") }
