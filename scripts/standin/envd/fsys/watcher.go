package fsys

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"

	"connectrpc.com/connect"

	"github.com/hermesbox/hermesbox/scripts/standin/envd/spec/filesystem"
)

// watchers are those that clients poll instead of keeping a stream open.
type watchers struct {
	mu   sync.Mutex
	byID map[string]*polled
}

// polled collects the events of a watch until somebody fetches them.
type polled struct {
	watch *watch
	done  chan struct{}

	mu     sync.Mutex
	events []*filesystem.FilesystemEvent
	err    error
}

func (p *polled) collect() {
	defer close(p.done)
	for {
		select {
		case e, ok := <-p.watch.Events:
			if !ok {
				return
			}
			events := p.watch.events(e)
			p.mu.Lock()
			p.events = append(p.events, events...)
			p.mu.Unlock()
		case err, ok := <-p.watch.Errors:
			if !ok {
				return
			}
			p.mu.Lock()
			p.err = err
			p.mu.Unlock()
		}
	}
}

func (p *polled) close() error {
	err := p.watch.Close()
	<-p.done
	return err
}

func (w *watchers) take(id string, remove bool) (*polled, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p, ok := w.byID[id]
	if !ok {
		return nil, connect.NewError(connect.CodeNotFound, fmt.Errorf("watcher with id %s not found", id))
	}
	if remove {
		delete(w.byID, id)
	}
	return p, nil
}

func (w *watchers) add(p *polled) string {
	id := "w" + strings.ToLower(rand.Text())[:20]
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.byID == nil {
		w.byID = map[string]*polled{}
	}
	w.byID[id] = p
	return id
}

func (w *watchers) close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	var errs []error
	for _, p := range w.byID {
		errs = append(errs, p.close())
	}
	clear(w.byID)
	return errors.Join(errs...)
}

// CreateWatcher begins to collect events.
func (s *Service) CreateWatcher(ctx context.Context, req *connect.Request[filesystem.CreateWatcherRequest]) (*connect.Response[filesystem.CreateWatcherResponse], error) {
	path, err := s.watchable(ctx, req.Msg.GetPath())
	if err != nil {
		return nil, err
	}
	w, err := s.watch(path, req.Msg.GetRecursive(), req.Msg.GetIncludeEntry())
	if err != nil {
		return nil, err
	}
	p := &polled{watch: w, done: make(chan struct{})}
	go p.collect()
	return connect.NewResponse(&filesystem.CreateWatcherResponse{WatcherId: s.watchers.add(p)}), nil
}

// GetWatcherEvents gives the events since the last call.
func (s *Service) GetWatcherEvents(_ context.Context, req *connect.Request[filesystem.GetWatcherEventsRequest]) (*connect.Response[filesystem.GetWatcherEventsResponse], error) {
	p, err := s.watchers.take(req.Msg.GetWatcherId(), false)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err != nil {
		return nil, connect.NewError(connect.CodeInternal, fmt.Errorf("watcher error: %w", p.err))
	}
	events := p.events
	p.events = nil
	return connect.NewResponse(&filesystem.GetWatcherEventsResponse{Events: events}), nil
}

// RemoveWatcher ends one.
func (s *Service) RemoveWatcher(_ context.Context, req *connect.Request[filesystem.RemoveWatcherRequest]) (*connect.Response[filesystem.RemoveWatcherResponse], error) {
	p, err := s.watchers.take(req.Msg.GetWatcherId(), true)
	if err != nil {
		return nil, err
	}
	if err := p.close(); err != nil {
		return nil, connect.NewError(connect.CodeInternal, fmt.Errorf("closing watcher: %w", err))
	}
	return connect.NewResponse(&filesystem.RemoveWatcherResponse{}), nil
}
