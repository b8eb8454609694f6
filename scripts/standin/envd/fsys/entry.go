package fsys

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/hermesbox/hermesbox/scripts/standin/envd/spec/filesystem"
	"github.com/hermesbox/hermesbox/scripts/standin/envd/xattr"
)

// entry describes what is at a path, without following a link, but for two fields: type and mode of
// a link are those of its target, and absent where it leads nowhere.
func (s *Service) entry(path string) (*filesystem.EntryInfo, error) {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, connect.NewError(connect.CodeNotFound, fmt.Errorf("file not found: %w", err))
	}
	if err != nil {
		return nil, connect.NewError(connect.CodeInternal, fmt.Errorf("error getting file info: %w", err))
	}
	e := &filesystem.EntryInfo{
		Name: filepath.Base(path), Path: path, Size: info.Size(),
		Permissions: info.Mode().String(), ModifiedTime: timestamppb.New(info.ModTime()),
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		e.Owner, e.Group = owner(stat.Uid), group(stat.Gid)
	}
	if !s.Old {
		e.Metadata = xattr.Read(path)
	}
	shape := info
	if info.Mode()&fs.ModeSymlink != 0 {
		var target string
		target, shape = follow(path)
		e.SymlinkTarget = &target
	}
	if shape != nil {
		e.Type, e.Mode = kind(shape.Mode()), uint32(shape.Mode().Perm())
	}
	return e, nil
}

// follow resolves a link fully; one that leads nowhere is its own target and has no shape.
func follow(link string) (string, fs.FileInfo) {
	target, err := filepath.EvalSymlinks(link)
	if err != nil {
		return link, nil
	}
	info, err := os.Stat(target)
	if err != nil {
		return target, nil
	}
	return target, info
}

func kind(mode fs.FileMode) filesystem.FileType {
	switch {
	case mode.IsRegular():
		return filesystem.FileType_FILE_TYPE_FILE
	case mode.IsDir():
		return filesystem.FileType_FILE_TYPE_DIRECTORY
	}
	return filesystem.FileType_FILE_TYPE_UNSPECIFIED
}

func owner(uid uint32) string {
	id := strconv.FormatUint(uint64(uid), 10)
	if u, err := user.LookupId(id); err == nil {
		return u.Username
	}
	return id
}

func group(gid uint32) string {
	id := strconv.FormatUint(uint64(gid), 10)
	if g, err := user.LookupGroupId(id); err == nil {
		return g.Name
	}
	return id
}
