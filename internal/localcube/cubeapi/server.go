package cubeapi

import (
	"net/http"

	"github.com/hermesbox/hermesbox/internal/localcube/cluster"
)

// Options say how the interface is to be.
type Options struct {
	Cluster *cluster.Cluster
	// Domain is what clients build host names of sandboxes with.
	Domain string
	// Key, unless empty, is demanded of every request but /health.
	Key string
}

// Server is the interface. It is an http.Handler.
type Server struct {
	opts   Options
	routes []route
}

// New makes the interface of a cluster.
func New(opts Options) *Server {
	s := &Server{opts: opts}
	s.routes = s.table()
	return s
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answer := s.answer(r)
	answer.write(w, r)
}

// answer finds the answer: preflight, authentication, then the route, in CubeAPI's order.
func (s *Server) answer(r *http.Request) reply {
	path := r.URL.EscapedPath()
	if r.Method != http.MethodOptions && path != "/health" {
		if refusal, ok := s.authenticate(r); !ok {
			return refusal
		}
	}
	matched, allowed := s.match(r.Method, path)
	switch {
	case allowed == "":
		return reply{status: http.StatusNotFound}
	case r.Method == http.MethodOptions:
		return preflight(allowed)
	case matched == nil:
		return reply{status: http.StatusMethodNotAllowed, header: http.Header{"Allow": {allowed}}}
	}
	in := request{Request: r, vars: matched.vars}
	for name, value := range matched.vars {
		if matched.strict[name] && !plainID(value) {
			return failure(http.StatusBadRequest, "invalid path parameter "+name+": "+value)
		}
	}
	return matched.handle(in)
}

func (s *Server) table() []route {
	return []route{
		get("/health", s.health),
		get("/sandboxes", s.listV1), post("/sandboxes", s.create),
		get("/v2/sandboxes", s.listV2),
		get("/sandboxes/{id}", s.detail), remove("/sandboxes/{id}", s.kill),
		post("/sandboxes/{id}/pause", s.pause), post("/sandboxes/{id}/resume", s.resume), post("/sandboxes/{id}/connect", s.connect),
		post("/sandboxes/{id}/timeout", s.timeout), post("/sandboxes/{id}/refreshes", s.refreshes),
		get("/sandboxes/{id}/logs", s.logsV1), get("/v2/sandboxes/{id}/logs", s.logsV2),
		put("/sandboxes/{id}/network", s.network),
		post("/sandboxes/{id}/snapshots", s.lacksBody), post("/sandboxes/{id}/rollback", s.lacks), post("/sandboxes/{id}/fork", s.lacks),
		get("/snapshots", s.lacks), get("/volumes", s.lacks), post("/volumes", s.lacks), get("/volumes/{id}", s.lacks), remove("/volumes/{id}", s.lacks),
		get("/templates", s.templates), post("/templates", s.build),
		get("/templates/aliases/{alias}", s.alias, "alias"),
		get("/templates/compat", s.compat),
		get("/templates/{id}", s.template), post("/templates/{id}", s.rebuild), remove("/templates/{id}", s.unbuild),
		{method: http.MethodPatch, pattern: "/templates/{id}", handle: s.patch},
		put("/templates/{id}/alias", s.setAlias),
		post("/templates/{id}/builds/{build_id}", s.startBuild, "build_id"),
		get("/templates/{id}/builds/{build_id}/status", s.buildStatus, "build_id"),
		get("/templates/{id}/builds/{build_id}/logs", s.buildLogs, "build_id"),
	}
}

func (s *Server) health(request) reply {
	return ok(http.StatusOK, struct {
		Status    string `json:"status"`
		Sandboxes int    `json:"sandboxes"` // always 0, as measured
	}{"ok", 0})
}

// lacks answers what the local Cube cannot do.
func (s *Server) lacks(request) reply {
	return failure(http.StatusNotImplemented, "the local Cube has no snapshots, rollback, forks or volumes; a cluster has")
}

// lacksBody checks the body first, as CubeAPI does.
func (s *Server) lacksBody(r request) reply {
	if _, refusal := r.body(anything); refusal != nil {
		return *refusal
	}
	return s.lacks(r)
}
