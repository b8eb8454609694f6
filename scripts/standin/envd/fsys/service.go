// Package fsys is the filesystem service: it lists, describes, makes, moves, removes and watches.
//
// It acts as root and checks no permission; what it makes it gives to the user of the request. File
// contents go through package web.
package fsys

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"connectrpc.com/connect"

	"github.com/hermesbox/hermesbox/scripts/standin/envd/account"
	"github.com/hermesbox/hermesbox/scripts/standin/envd/settings"
	"github.com/hermesbox/hermesbox/scripts/standin/envd/spec/filesystem"
	"github.com/hermesbox/hermesbox/scripts/standin/envd/spec/filesystem/filesystemconnect"
)

// Service implements filesystem.Filesystem.
type Service struct {
	// Old leaves out what 0.5.13 does not know: metadata, and the entries of events.
	Old bool

	settings *settings.Store
	watchers watchers
}

var _ filesystemconnect.FilesystemHandler = (*Service)(nil)

// New makes a service; Close ends its watchers.
func New(s *settings.Store) *Service {
	return &Service{settings: s}
}

// Close ends the watchers that nobody removed.
func (s *Service) Close() error { return s.watchers.close() }

// resolve gives the absolute path that the user of the request means.
func (s *Service) resolve(ctx context.Context, path string) (string, error) {
	u, err := account.From(ctx, s.settings.User())
	if err != nil {
		return "", err
	}
	path, err = account.Resolve(path, u, s.settings.Workdir())
	if err != nil {
		return "", connect.NewError(connect.CodeInvalidArgument, err)
	}
	return path, nil
}

// Stat describes one path.
func (s *Service) Stat(ctx context.Context, req *connect.Request[filesystem.StatRequest]) (*connect.Response[filesystem.StatResponse], error) {
	path, err := s.resolve(ctx, req.Msg.GetPath())
	if err != nil {
		return nil, err
	}
	e, err := s.entry(path)
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(&filesystem.StatResponse{Entry: e}), nil
}

// MakeDir makes a directory and its parents; one that exists already is an error.
func (s *Service) MakeDir(ctx context.Context, req *connect.Request[filesystem.MakeDirRequest]) (*connect.Response[filesystem.MakeDirResponse], error) {
	path, err := s.resolve(ctx, req.Msg.GetPath())
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return nil, connect.NewError(connect.CodeAlreadyExists, fmt.Errorf("directory already exists: %s", path))
	case err == nil:
		return nil, connect.NewError(connect.CodeInvalidArgument, fmt.Errorf("path already exists but it is not a directory: %s", path))
	case !errors.Is(err, fs.ErrNotExist):
		return nil, connect.NewError(connect.CodeInternal, fmt.Errorf("error getting file info: %w", err))
	}
	if err := s.makeDirs(ctx, path); err != nil {
		return nil, err
	}
	e, err := s.entry(path)
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(&filesystem.MakeDirResponse{Entry: e}), nil
}

func (s *Service) makeDirs(ctx context.Context, path string) error {
	u, err := account.From(ctx, s.settings.User())
	if err != nil {
		return err
	}
	uid, gid, err := account.IDs(u)
	if err == nil {
		err = account.MakeDirs(path, uid, gid)
	}
	if err != nil {
		return connect.NewError(connect.CodeInternal, err)
	}
	return nil
}

// Move renames, over a file that exists; the parents of the destination are made first and stay even
// where the move fails.
func (s *Service) Move(ctx context.Context, req *connect.Request[filesystem.MoveRequest]) (*connect.Response[filesystem.MoveResponse], error) {
	source, err := s.resolve(ctx, req.Msg.GetSource())
	if err != nil {
		return nil, err
	}
	destination, err := s.resolve(ctx, req.Msg.GetDestination())
	if err != nil {
		return nil, err
	}
	if err := s.makeDirs(ctx, filepath.Dir(destination)); err != nil {
		return nil, err
	}
	if err := os.Rename(source, destination); errors.Is(err, fs.ErrNotExist) {
		return nil, connect.NewError(connect.CodeNotFound, fmt.Errorf("source file not found: %w", err))
	} else if err != nil {
		return nil, connect.NewError(connect.CodeInternal, fmt.Errorf("error renaming: %w", err))
	}
	e, err := s.entry(destination)
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(&filesystem.MoveResponse{Entry: e}), nil
}

// Remove removes a path with all below it; one that is missing is no error.
func (s *Service) Remove(ctx context.Context, req *connect.Request[filesystem.RemoveRequest]) (*connect.Response[filesystem.RemoveResponse], error) {
	path, err := s.resolve(ctx, req.Msg.GetPath())
	if err != nil {
		return nil, err
	}
	if err := os.RemoveAll(path); err != nil {
		return nil, connect.NewError(connect.CodeInternal, fmt.Errorf("error removing file or directory: %w", err))
	}
	return connect.NewResponse(&filesystem.RemoveResponse{}), nil
}
