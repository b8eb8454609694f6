package fsys

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"connectrpc.com/connect"
	"github.com/fsnotify/fsnotify"

	"github.com/hermesbox/hermesbox/scripts/standin/envd/procs"
	"github.com/hermesbox/hermesbox/scripts/standin/envd/spec/filesystem"
)

// WatchDir streams what happens in a directory until the client leaves.
func (s *Service) WatchDir(ctx context.Context, req *connect.Request[filesystem.WatchDirRequest], stream *connect.ServerStream[filesystem.WatchDirResponse]) error {
	path, err := s.watchable(ctx, req.Msg.GetPath())
	if err != nil {
		return err
	}
	w, err := s.watch(path, req.Msg.GetRecursive(), req.Msg.GetIncludeEntry())
	if err != nil {
		return err
	}
	defer w.Close() //nolint:errcheck // it only gives back what the kernel lent
	if err := stream.Send(&filesystem.WatchDirResponse{Event: &filesystem.WatchDirResponse_Start{Start: &filesystem.WatchDirResponse_StartEvent{}}}); err != nil {
		return err
	}
	every := procs.Keepalive(req.Header())
	if every <= 0 {
		// The real service panics here, and net/http closes the connection.
		panic(http.ErrAbortHandler)
	}
	return w.relay(ctx, every, stream.Send)
}

func (w *watch) relay(ctx context.Context, every time.Duration, send func(*filesystem.WatchDirResponse) error) error {
	silence := time.NewTicker(every)
	defer silence.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-silence.C:
			keepalive := &filesystem.WatchDirResponse_Keepalive{Keepalive: &filesystem.WatchDirResponse_KeepAlive{}}
			if err := send(&filesystem.WatchDirResponse{Event: keepalive}); err != nil {
				return err
			}
		case err := <-w.Errors:
			return connect.NewError(connect.CodeInternal, fmt.Errorf("watcher error: %w", err))
		case e := <-w.Events:
			silence.Reset(every)
			for _, event := range w.events(e) {
				if err := send(&filesystem.WatchDirResponse{Event: &filesystem.WatchDirResponse_Filesystem{Filesystem: event}}); err != nil {
					return err
				}
			}
		}
	}
}

// watchable resolves the path of a directory to watch.
func (s *Service) watchable(ctx context.Context, path string) (string, error) {
	path, err := s.resolve(ctx, path)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", connect.NewError(connect.CodeNotFound, fmt.Errorf("path %s not found: %w", path, err))
	case err != nil:
		return "", connect.NewError(connect.CodeInternal, fmt.Errorf("error statting path %s: %w", path, err))
	case !info.IsDir():
		// The odd end is the real service's: it formats an error that is not there.
		return "", connect.NewError(connect.CodeInvalidArgument, fmt.Errorf("path %s not a directory: %%!w(<nil>)", path))
	}
	return path, nil
}

// watch is one kernel watcher of a directory, or of a whole tree.
type watch struct {
	*fsnotify.Watcher
	root      string
	recursive bool
	describe  func(path string) *filesystem.EntryInfo
}

func (s *Service) watch(root string, recursive, entries bool) (*watch, error) {
	inner, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, connect.NewError(connect.CodeInternal, fmt.Errorf("error creating watcher: %w", err))
	}
	w := &watch{Watcher: inner, root: root, recursive: recursive, describe: func(string) *filesystem.EntryInfo { return nil }}
	if entries && !s.Old {
		w.describe = func(path string) *filesystem.EntryInfo {
			e, _ := s.entry(path) // what is gone has none: the event comes without
			return e
		}
	}
	if err := w.add(root, nil); err != nil {
		_ = inner.Close()
		return nil, connect.NewError(connect.CodeInternal, fmt.Errorf("error adding path %s to watcher: %w", root, err))
	}
	return w, nil
}

// add watches a directory, of a recursive watch also what is below; found is told of each path below.
func (w *watch) add(dir string, found func(path string)) error {
	if !w.recursive {
		return w.Add(dir)
	}
	top := dir + "/" // so that a link is followed; below it none is
	return filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil && path == top:
			return err
		case err != nil:
			return nil //nolint:nilerr // it vanished meanwhile
		case path == top:
			return w.Add(dir)
		}
		if found != nil {
			found(path)
		}
		if !d.IsDir() {
			return nil
		}
		if err := w.Add(path); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	})
}

// events gives the events of one of fsnotify's, which may hold several operations. What was already in
// a new directory when its watch began is reported as created: no notification came for it.
func (w *watch) events(e fsnotify.Event) []*filesystem.FilesystemEvent {
	var list []*filesystem.FilesystemEvent
	for _, op := range []struct {
		bit fsnotify.Op
		typ filesystem.EventType
	}{
		{fsnotify.Create, filesystem.EventType_EVENT_TYPE_CREATE},
		{fsnotify.Rename, filesystem.EventType_EVENT_TYPE_RENAME},
		{fsnotify.Chmod, filesystem.EventType_EVENT_TYPE_CHMOD},
		{fsnotify.Write, filesystem.EventType_EVENT_TYPE_WRITE},
		{fsnotify.Remove, filesystem.EventType_EVENT_TYPE_REMOVE},
	} {
		if e.Op.Has(op.bit) {
			list = append(list, w.event(e.Name, op.typ))
		}
	}
	if w.recursive && e.Op.Has(fsnotify.Create) && isDir(e.Name) {
		_ = w.add(e.Name, func(path string) { // fails only where it vanished meanwhile
			list = append(list, w.event(path, filesystem.EventType_EVENT_TYPE_CREATE))
		})
	}
	return list
}

func (w *watch) event(path string, typ filesystem.EventType) *filesystem.FilesystemEvent {
	name, err := filepath.Rel(w.root, path)
	if err != nil {
		name = path
	}
	return &filesystem.FilesystemEvent{Name: name, Type: typ, Entry: w.describe(path)}
}

func isDir(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.IsDir()
}
