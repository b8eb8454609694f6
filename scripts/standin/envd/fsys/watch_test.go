package fsys

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/google/go-cmp/cmp"

	"github.com/hermesbox/hermesbox/scripts/standin/envd/spec/filesystem"
)

// watchStream collects events as "NAME TYPE", or "keepalive".
type watchStream struct {
	t *testing.T
	*connect.ServerStreamForClient[filesystem.WatchDirResponse]
	entries map[string]*filesystem.EntryInfo
}

func watchDir(ctx context.Context, t *testing.T, c client, msg *filesystem.WatchDirRequest, header ...string) *watchStream {
	t.Helper()
	req := connect.NewRequest(msg)
	for i := 0; i+1 < len(header); i += 2 {
		req.Header().Set(header[i], header[i+1])
	}
	s, err := c.WatchDir(ctx, req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	if !s.Receive() || s.Msg().GetStart() == nil {
		t.Fatalf("no start: %v %v", s.Msg(), s.Err())
	}
	return &watchStream{t, s, map[string]*filesystem.EntryInfo{}}
}

func (w *watchStream) take(n int) []string {
	w.t.Helper()
	var got []string
	for len(got) < n && w.Receive() {
		got = append(got, w.word(w.Msg()))
	}
	if len(got) < n {
		w.t.Errorf("the stream ended: %v", w.Err())
	}
	return got
}

func (w *watchStream) word(m *filesystem.WatchDirResponse) string {
	if m.GetKeepalive() != nil {
		return "keepalive"
	}
	e := m.GetFilesystem()
	w.entries[e.GetName()] = e.GetEntry()
	return short1(e)
}

func short1(e *filesystem.FilesystemEvent) string {
	return fmt.Sprintf("%s %s", e.GetName(), e.GetType().String()[len("EVENT_TYPE_"):])
}

func TestWatchDir(t *testing.T) {
	t.Parallel()
	c, dir := newClient(t), t.TempDir()
	mkdir(t, dir+"/d/sub")
	w := watchDir(t.Context(), t, c, &filesystem.WatchDirRequest{Path: dir + "/d", IncludeEntry: true})
	write(t, dir+"/d/sub/unseen")
	write(t, dir+"/d/f")
	if err := os.Chmod(dir+"/d/f", 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(dir+"/d/f", dir+"/d/g"); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(dir + "/d/g"); err != nil {
		t.Fatal(err)
	}
	want := []string{"f CREATE", "f WRITE", "f CHMOD", "f RENAME", "g CREATE", "g REMOVE"}
	if diff := cmp.Diff(want, w.take(len(want))); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if w.entries["g"] != nil {
		t.Errorf("an entry for what is gone: %v", w.entries["g"])
	}
	write(t, dir+"/d/h")
	w.take(2)
	if e := w.entries["h"]; e.GetPath() != dir+"/d/h" {
		t.Errorf("entry: %v", e)
	}
}

func TestWatchRecursive(t *testing.T) {
	t.Parallel()
	c, dir := newClient(t, func(s *Service) { s.Old = true }), t.TempDir()
	mkdir(t, dir+"/d/sub")
	symlink(t, "d", dir+"/link")
	for _, root := range []string{"/d", "/link"} {
		w := watchDir(t.Context(), t, c, &filesystem.WatchDirRequest{Path: dir + root, Recursive: true, IncludeEntry: true})
		name := root[1:]
		write(t, dir+"/d/sub/"+name)
		if diff := cmp.Diff([]string{"sub/" + name + " CREATE", "sub/" + name + " WRITE"}, w.take(2)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", root, diff)
		}
		if w.entries["sub/"+name] != nil {
			t.Error("an entry, which 0.5.13 does not send")
		}
		// All at once, so that some of it is there before the new directory is watched.
		mkdir(t, dir+"/new-"+name+"/x")
		write(t, dir+"/new-"+name+"/x/f")
		if err := os.Rename(dir+"/new-"+name, dir+"/d/new-"+name); err != nil {
			t.Fatal(err)
		}
		want := []string{"new-" + name + " CREATE", "new-" + name + "/x CREATE", "new-" + name + "/x/f CREATE"}
		if diff := cmp.Diff(want, w.take(3)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", root, diff)
		}
		if err := w.Close(); err != nil {
			t.Errorf("closing: %v", err)
		}
	}
}

func TestWatchEnds(t *testing.T) {
	t.Parallel()
	c, dir := newClient(t), t.TempDir()
	write(t, dir+"/f")
	w := watchDir(t.Context(), t, c, &filesystem.WatchDirRequest{Path: dir}, "Keepalive-Ping-Interval", "1")
	if got := w.take(1); got[0] != "keepalive" {
		t.Errorf("%v", got)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	w = watchDir(ctx, t, c, &filesystem.WatchDirRequest{Path: dir})
	for w.Receive() {
		t.Errorf("an event: %v", w.Msg())
	}
	wantError(t, w.Err(), connect.CodeDeadlineExceeded, "")
	w = watchDir(t.Context(), t, c, &filesystem.WatchDirRequest{Path: dir}, "Keepalive-Ping-Interval", "0")
	for w.Receive() {
		t.Errorf("an event: %v", w.Msg())
	}
	if w.Err() == nil {
		t.Error("interval 0: the stream ended properly")
	}
	for path, want := range map[string]struct {
		code    connect.Code
		message string
	}{
		dir + "/no":  {connect.CodeNotFound, "not found: stat "},
		dir + "/f":   {connect.CodeInvalidArgument, "not a directory: %!w(<nil>)"},
		dir + "/f/x": {connect.CodeInternal, "error statting path "},
		"~root":      {connect.CodeInvalidArgument, "cannot expand"},
	} {
		s, err := c.WatchDir(t.Context(), connect.NewRequest(&filesystem.WatchDirRequest{Path: path}))
		if err != nil {
			t.Fatal(err)
		}
		for s.Receive() {
			t.Errorf("an event: %v", s.Msg())
		}
		wantError(t, s.Err(), want.code, want.message)
		_, err = c.CreateWatcher(t.Context(), connect.NewRequest(&filesystem.CreateWatcherRequest{Path: path}))
		wantError(t, err, want.code, want.message)
	}
}

func TestWatcher(t *testing.T) {
	t.Parallel()
	c, dir, ctx := newClient(t), t.TempDir(), t.Context()
	made, err := c.CreateWatcher(ctx, connect.NewRequest(&filesystem.CreateWatcherRequest{Path: dir}))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.CreateWatcher(ctx, connect.NewRequest(&filesystem.CreateWatcherRequest{Path: dir})); err != nil {
		t.Fatal(err) // left for Close
	}
	id := made.Msg.GetWatcherId()
	write(t, dir+"/f")
	var got []string
	for range 100 {
		events, err := c.GetWatcherEvents(ctx, connect.NewRequest(&filesystem.GetWatcherEventsRequest{WatcherId: id}))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events.Msg.GetEvents() {
			got = append(got, short1(e))
		}
		if len(got) >= 2 {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	if diff := cmp.Diff([]string{"f CREATE", "f WRITE"}, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	remove := func() error {
		_, err := c.RemoveWatcher(ctx, connect.NewRequest(&filesystem.RemoveWatcherRequest{WatcherId: id}))
		return err
	}
	if err := remove(); err != nil {
		t.Error(err)
	}
	wantError(t, remove(), connect.CodeNotFound, "watcher with id "+id+" not found")
	_, err = c.GetWatcherEvents(ctx, connect.NewRequest(&filesystem.GetWatcherEventsRequest{WatcherId: id}))
	wantError(t, err, connect.CodeNotFound, "watcher with id "+id+" not found")
}
