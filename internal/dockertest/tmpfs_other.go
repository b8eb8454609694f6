//go:build !linux

package dockertest

import "errors"

func mountTmpfs(string, string) (unmount func() error, err error) {
	return nil, errors.New("file systems in memory are mounted on Linux only")
}
