// Package web is the HTTP side of the service: it routes, guards with token and user, and serves
// health, init, envs, metrics and files.
//
// The order of checks is the real service's: CORS preflight, access token, Basic user, route, and only
// then what a route itself checks.
package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"connectrpc.com/connect"

	"github.com/hermesbox/hermesbox/scripts/standin/envd/account"
	"github.com/hermesbox/hermesbox/scripts/standin/envd/settings"
)

// Server serves everything but the RPC services, which are mounted on it.
type Server struct {
	// Version is what the answers of /init name. Old answers as 0.5.13 did: no version there, and no
	// metadata of files.
	Version string
	Old     bool

	settings *settings.Store
	routes   map[string]map[string]http.HandlerFunc // by path, then method
	mounts   map[string]http.Handler                // by first element of the path, with slashes
	refuse   *connect.ErrorWriter

	cpu   sync.Mutex
	ticks ticks
}

// New makes a server over the state that /init changes.
func New(s *settings.Store) *Server {
	w := &Server{settings: s, mounts: map[string]http.Handler{}, refuse: connect.NewErrorWriter()}
	w.routes = map[string]map[string]http.HandlerFunc{
		"/health":        {http.MethodGet: w.health},
		"/init":          {http.MethodPost: w.init},
		"/envs":          {http.MethodGet: w.envs},
		"/metrics":       {http.MethodGet: w.metrics},
		"/files":         {http.MethodGet: w.download, http.MethodPost: w.upload},
		"/files/compose": {http.MethodPost: w.compose},
	}
	return w
}

// Mount serves an RPC service at the path that connect gave with it.
func (s *Server) Mount(path string, h http.Handler) { s.mounts[path] = h }

// ServeHTTP is the whole chain.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if preflight(w, r) {
		return
	}
	crossOrigin(w, r)
	if !open(r) && !s.settings.Grants(r.Header.Get(tokenHeader)) {
		jsonError(w, http.StatusUnauthorized, errUnauthorized)
		return
	}
	u, err := account.FromBasic(r)
	if err != nil {
		_ = s.refuse.Write(w, r, err) // the client is gone; nobody is left to tell
		return
	}
	s.route(w, r.WithContext(account.With(r.Context(), u)))
}

func (s *Server) route(w http.ResponseWriter, r *http.Request) {
	if !slices.Contains(methods, r.Method) {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	if first, _, ok := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/"); ok {
		if h := s.mounts["/"+first+"/"]; h != nil {
			h.ServeHTTP(w, r)
			return
		}
	}
	byMethod, ok := s.routes[r.URL.Path]
	if !ok {
		http.NotFound(w, r)
		return
	}
	h, ok := byMethod[r.Method]
	if !ok {
		for _, method := range methods {
			if byMethod[method] != nil {
				w.Header().Add("Allow", method)
			}
		}
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	h(w, r)
}

// methods are those that have a meaning here; any other gets a 405 that names none.
var methods = []string{
	http.MethodConnect, http.MethodDelete, http.MethodGet, http.MethodHead, http.MethodOptions,
	http.MethodPatch, http.MethodPost, http.MethodPut, http.MethodTrace,
}

// jsonError is how everything outside the RPC services says no.
func jsonError(w http.ResponseWriter, code int, err error) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(code)
	// Fails only where the client is gone; nobody is left to tell.
	_ = json.NewEncoder(w).Encode(struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	}{code, err.Error()})
}

func (s *Server) health(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Type", "")
	w.WriteHeader(http.StatusNoContent)
}

func (s *Server) envs(w http.ResponseWriter, _ *http.Request) {
	answer(w, s.settings.Env())
}

func answer(w http.ResponseWriter, v any) {
	data, err := json.Marshal(v)
	if err != nil {
		jsonError(w, http.StatusInternalServerError, fmt.Errorf("encoding answer: %w", err))
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(data, '\n')) // fails only where the client is gone
}
