package cubemaster

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/hermesbox/hermesbox/internal/localcube/cluster"
)

// Server is the interface. It is an http.Handler.
type Server struct {
	cluster *cluster.Cluster
	node    string
	routes  map[string]map[string]handler
}

type handler func(*http.Request) answer

// answer is what goes out: an envelope, or a plain HTTP status.
type answer struct {
	status  int
	body    any
	newline bool // some answers end with one, as measured
}

// ret is the outcome of a request.
type ret struct {
	Code int    `json:"ret_code"`
	Msg  string `json:"ret_msg"`
}

// envelope is what all answers have in common. Zero values are left out.
type envelope struct {
	RequestID  string `json:"requestID,omitempty"`
	Ret        ret    `json:"ret"`
	TemplateID string `json:"template_id,omitempty"`
	SandboxID  string `json:"sandbox_id,omitempty"`
	BuildID    string `json:"build_id,omitempty"`
}

// New makes the interface of a cluster whose one node has the name node.
func New(c *cluster.Cluster, node string) *Server {
	s := &Server{cluster: c, node: node}
	s.routes = map[string]map[string]handler{
		"/notify/health":                   {http.MethodGet: s.health("Success")},
		"/internal/meta/readyz":            {http.MethodGet: s.health("ok")},
		"/internal/meta/nodes":             {http.MethodGet: s.nodes},
		"/cube/template":                   {http.MethodGet: s.template, http.MethodPost: s.createTemplate, http.MethodDelete: s.deleteTemplate},
		"/cube/template/from-image":        {http.MethodGet: s.job, http.MethodPost: s.fromImage},
		"/cube/template/redo":              {http.MethodPost: s.redo},
		"/cube/rootfs-artifact":            {http.MethodGet: s.artifact},
		"/cube/template/artifact/download": {http.MethodGet: nothing, http.MethodHead: nothing},
		"/cube/sandbox":                    {http.MethodPost: s.createSandbox, http.MethodDelete: s.deleteSandbox},
		"/cube/sandbox/update":             {http.MethodPost: s.updateSandbox},
		"/cube/sandbox/info":               {http.MethodGet: s.sandboxInfo, http.MethodPost: s.sandboxInfo},
		"/cube/sandbox/list":               {http.MethodGet: s.sandboxList, http.MethodPost: s.sandboxList},
		"/cube/sandbox/timeout":            {http.MethodPost: s.timeout},
		"/cube/sandbox/refresh":            {http.MethodPost: s.refresh},
	}
	return s
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	methods := s.find(r)
	if methods == nil {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		write(w, http.StatusNotFound, []byte("404 page not found\n"))
		return
	}
	handle := methods[r.Method]
	if handle == nil {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	out := handle(r)
	if out.body == nil {
		w.WriteHeader(out.status)
		return
	}
	text, err := encode(out.body)
	if err != nil {
		write(w, http.StatusInternalServerError, []byte(err.Error()))
		return
	}
	if out.newline {
		text = append(text, '\n')
	}
	write(w, out.status, text)
}

func write(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that hung up is none of ours to tell
}

func encode(v any) ([]byte, error) {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return []byte(strings.TrimSuffix(b.String(), "\n")), err
}

// find gives the handlers of a path, those with an id in it included.
func (s *Server) find(r *http.Request) map[string]handler {
	path := r.URL.Path
	if methods := s.routes[path]; methods != nil {
		return methods
	}
	if id, ok := between(path, "/cube/template/build/", "/status"); ok {
		return map[string]handler{http.MethodGet: func(*http.Request) answer { return s.buildStatus(id) }}
	}
	if id, ok := between(path, "/cube/template/", "/alias"); ok {
		return map[string]handler{http.MethodPut: func(r *http.Request) answer { return s.alias(r, id) }}
	}
	if id, ok := between(path, "/internal/meta/nodes/", ""); ok {
		return map[string]handler{http.MethodGet: func(*http.Request) answer { return s.nodeInfo(id) }}
	}
	return nil
}

func between(path, before, after string) (string, bool) {
	rest, ok := strings.CutPrefix(path, before)
	if !ok {
		return "", false
	}
	id, ok := strings.CutSuffix(rest, after)
	return id, ok && id != "" && !strings.Contains(id, "/")
}

// done answers an envelope, or what embeds one.
func done(body any) answer { return answer{status: http.StatusOK, body: body} }

func nothing(*http.Request) answer { return answer{status: http.StatusOK} }

func success() ret { return ret{http.StatusOK, "success"} }

func refused(requestID string, err error) answer {
	return done(envelope{RequestID: requestID, Ret: retOf(err)})
}

func retOf(err error) ret {
	e := cluster.AsError(err)
	return ret{e.Code, e.Msg}
}

func params(requestID, message string) answer {
	return done(envelope{RequestID: requestID, Ret: ret{cluster.CodeParams, message}})
}

func (s *Server) health(message string) handler {
	return func(*http.Request) answer { return done(envelope{Ret: ret{http.StatusOK, message}}) }
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
