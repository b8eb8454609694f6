package main

import (
	"errors"
	"net/http"
	"time"

	"connectrpc.com/connect"

	"github.com/hermesbox/hermesbox/scripts/standin/envd/fsys"
	"github.com/hermesbox/hermesbox/scripts/standin/envd/procs"
	"github.com/hermesbox/hermesbox/scripts/standin/envd/settings"
	"github.com/hermesbox/hermesbox/scripts/standin/envd/spec/filesystem/filesystemconnect"
	"github.com/hermesbox/hermesbox/scripts/standin/envd/spec/process/processconnect"
	"github.com/hermesbox/hermesbox/scripts/standin/envd/web"
)

// The protocol versions that can be spoken.
const (
	newest = "0.6.13"
	oldest = "0.5.13"
)

// retention is how long Connect finds a process that has ended; 0.5.13 forgot it at once.
const retention = 30 * time.Second

// service is everything behind the port.
type service struct {
	http.Handler
	procs *procs.Service
	files *fsys.Service
}

// newService speaks one protocol version; die is called where the real service would crash.
func newService(version string, inVM bool, die func()) *service {
	old := version == oldest
	store := settings.New(inVM)
	store.Merge = old
	keep := retention
	if old {
		keep = 0
	}
	s := &service{procs: procs.New(store, keep, die), files: fsys.New(store)}
	s.files.Old = old
	server := web.New(store)
	server.Version, server.Old = version, old
	server.Mount(processconnect.NewProcessHandler(s.procs, connect.WithInterceptors(oldErrors{})))
	server.Mount(filesystemconnect.NewFilesystemHandler(s.files, connect.WithInterceptors(oldErrors{}, fsys.Legacy())))
	s.Handler = oldTimeouts(server)
	return s
}

// newServer has no limit on the length of a request: streams stay open for days.
func newServer(h http.Handler) *http.Server {
	return &http.Server{Handler: h, ReadHeaderTimeout: time.Minute, IdleTimeout: 10 * time.Minute}
}

func ignoreClosed(err error) error {
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}
