package fsys

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"connectrpc.com/connect"

	"github.com/hermesbox/hermesbox/scripts/standin/envd/spec/filesystem"
)

// ListDir lists a directory, depth first and by name; no depth means 1. Links below it are not
// followed, and the paths keep the name that was asked for.
func (s *Service) ListDir(ctx context.Context, req *connect.Request[filesystem.ListDirRequest]) (*connect.Response[filesystem.ListDirResponse], error) {
	asked, err := s.resolve(ctx, req.Msg.GetPath())
	if err != nil {
		return nil, err
	}
	real, err := directory(asked)
	if err != nil {
		return nil, err
	}
	entries, err := s.walk(ctx, asked, real, max(req.Msg.GetDepth(), 1))
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(&filesystem.ListDirResponse{Entries: entries}), nil
}

// directory resolves a path and makes sure of what it is.
func directory(path string) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", connect.NewError(connect.CodeNotFound, fmt.Errorf("path not found: %w", err))
	case err != nil && strings.Contains(err.Error(), "too many links"):
		return "", connect.NewError(connect.CodeFailedPrecondition, fmt.Errorf("cyclic symlink or chain >255 links at %q", path))
	case err != nil:
		return "", connect.NewError(connect.CodeInternal, fmt.Errorf("error resolving symlink: %w", err))
	}
	info, err := os.Stat(real)
	if err != nil {
		return "", connect.NewError(connect.CodeInternal, fmt.Errorf("error getting file info: %w", err))
	}
	if !info.IsDir() {
		return "", connect.NewError(connect.CodeInvalidArgument, fmt.Errorf("path is not a directory: %s", real))
	}
	return real, nil
}

func (s *Service) walk(ctx context.Context, asked, real string, depth uint32) ([]*filesystem.EntryInfo, error) {
	var entries []*filesystem.EntryInfo
	err := filepath.WalkDir(real, func(path string, d fs.DirEntry, err error) error {
		if err == nil {
			err = ctx.Err()
		}
		if path == real || err != nil {
			return err
		}
		e, err := s.entry(path)
		if connect.CodeOf(err) == connect.CodeNotFound {
			return nil // it vanished while the walk was on its way
		}
		if err != nil {
			return err
		}
		below := strings.TrimPrefix(strings.TrimPrefix(path, real), "/")
		e.Path = filepath.Join(asked, below)
		entries = append(entries, e)
		if d.IsDir() && uint32(strings.Count(below, "/"))+1 >= depth {
			return filepath.SkipDir
		}
		return nil
	})
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, connect.NewError(connect.CodeInternal, fmt.Errorf("error reading directory %s: %w", real, err))
	}
	return entries, nil
}
