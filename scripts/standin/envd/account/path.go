package account

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
)

// Resolve makes a path of a request absolute: an empty one is workdir, or the home where that is
// empty too, `~` and relative ones start at the home. An absolute path stays as it was written.
func Resolve(path string, u *user.User, workdir string) (string, error) {
	if path == "" {
		path = workdir
	}
	switch {
	case path == "", path == "~":
		return u.HomeDir, nil
	case filepath.IsAbs(path):
		return path, nil
	case path[0] != '~':
		return filepath.Join(u.HomeDir, path), nil
	case path[1] == '/', path[1] == '\\':
		return filepath.Join(u.HomeDir, path[1:]), nil
	}
	// The empty name is what the real service prints here, seen in 0.5.13 and 0.6.13.
	return "", fmt.Errorf("failed to expand path '' for user '%s': cannot expand user-specific home dir", u.Username)
}

// MakeDirs makes what is missing of a directory path, mode 0755, and gives each new one to uid and gid.
func MakeDirs(dir string, uid, gid int) error {
	dir = filepath.Clean(dir)
	info, err := os.Stat(dir)
	switch {
	case err == nil && info.IsDir():
		return nil
	case err == nil:
		return fmt.Errorf("path is a file: %s", dir)
	case dir == "/" || dir == ".":
		return fmt.Errorf("failed to stat directory: %w", err)
	}
	if parent := MakeDirs(filepath.Dir(dir), uid, gid); parent != nil {
		return parent
	}
	if !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("failed to stat directory: %w", err)
	}
	// Another request may have made it meanwhile; then it is that one's to give away.
	if err := os.Mkdir(dir, 0o755); errors.Is(err, os.ErrExist) {
		return MakeDirs(dir, uid, gid)
	} else if err != nil {
		return fmt.Errorf("failed to create directory: %w", err)
	}
	if err := os.Chown(dir, uid, gid); err != nil {
		return fmt.Errorf("failed to chown directory: %w", err)
	}
	return nil
}
