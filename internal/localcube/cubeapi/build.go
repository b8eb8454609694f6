package cubeapi

import (
	"net/http"
	"strings"
)

func (s *Server) rebuild(r request) reply {
	body, refusal := r.body(redoBody)
	if refusal != nil {
		return *refusal
	}
	failedOnly := flag(body, "failedOnly")
	return s.redo(r.id(), texts(body, "nodes"), failedOnly != nil && *failedOnly)
}

func (s *Server) startBuild(r request) reply { return s.redo(r.id(), nil, false) }

func (s *Server) redo(id string, nodes []string, failedOnly bool) reply {
	started, err := s.opts.Cluster.Redo(id, nodes, failedOnly)
	if err != nil {
		return s.templateFailed(err)
	}
	return job(started)
}

func (s *Server) buildStatus(r request) reply {
	j, err := s.opts.Cluster.Job(r.vars["build_id"])
	if err != nil {
		return s.templateFailed(err)
	}
	status, message := j.Build()
	return ok(http.StatusOK, struct {
		BuildID    string `json:"buildID"`
		TemplateID string `json:"templateID"`
		Status     string `json:"status"`
		Progress   int    `json:"progress"`
		Message    string `json:"message"`
	}{j.ID, j.TemplateID, status, j.Progress, message})
}

func (s *Server) buildLogs(r request) reply {
	j, err := s.opts.Cluster.Job(r.vars["build_id"])
	if err != nil {
		return s.templateFailed(err)
	}
	status, message := j.Build()
	return ok(http.StatusOK, struct {
		BuildID  string   `json:"buildID"`
		Status   string   `json:"status"`
		Progress int      `json:"progress"`
		Lines    []string `json:"lines"`
	}{j.ID, status, j.Progress, []string{"[" + strings.TrimSpace(status) + "] " + message}})
}
