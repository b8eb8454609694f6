package cubeapi

import (
	"net/http"
	"strings"

	"github.com/hermesbox/hermesbox/internal/localcube/cluster"
)

// old reports whether failures are to be told as versions before 0.5 told them.
func (s *Server) old() bool { return s.opts.Cluster.Has(cluster.OldStatus) }

func (s *Server) createFailed(template string, err error) reply {
	e := cluster.AsError(err)
	switch {
	case s.old():
	case e.Code == cluster.CodeNotFound:
		return failure(http.StatusNotFound, "template "+template+" not found: "+e.Msg)
	case e.Code == cluster.CodeConflict:
		return failure(http.StatusConflict, e.Msg)
	case e.Code == cluster.CodeParams:
		return failure(http.StatusBadRequest, generic(e))
	}
	return failure(http.StatusInternalServerError, generic(e))
}

// notFound is for the calls that turn an unknown id into 404 in every version.
func (s *Server) notFound(id string, err error) reply {
	e := cluster.AsError(err)
	switch {
	case e.Code == cluster.CodeNotFound:
		return failure(http.StatusNotFound, "sandbox "+id+" not found")
	case e.Code == cluster.CodeConflict && !s.old():
		return failure(http.StatusConflict, e.Msg)
	case e.Code == cluster.CodeBusy && !s.old():
		return failure(http.StatusConflict, e.Msg)
	case e.Code == cluster.CodeParams && !s.old():
		return failure(http.StatusBadRequest, generic(e))
	}
	return failure(http.StatusInternalServerError, generic(e))
}

// changeFailed is for pause and resume.
func (s *Server) changeFailed(id string, err error) reply {
	e := cluster.AsError(err)
	switch {
	case s.old():
		if e.Code == cluster.CodeNotFound {
			e = &cluster.Error{Code: cluster.CodeParams, Msg: e.Msg} // as CubeMaster of May 2026 says it
		}
	case e.Code == cluster.CodeNotFound:
		return failure(http.StatusNotFound, e.Msg)
	case e.Code == cluster.CodeResume && e.Msg == cluster.NotPaused:
		return failure(http.StatusConflict, "sandbox "+id+" is already running")
	case e.Code == cluster.CodeConflict, e.Code == cluster.CodeBusy:
		return failure(http.StatusConflict, e.Msg)
	}
	return failure(http.StatusInternalServerError, generic(e))
}

func (s *Server) deleteFailed(err error) reply {
	e := cluster.AsError(err)
	switch {
	case e.Code == cluster.CodeNotFound && s.opts.Cluster.Has(cluster.DeleteUnknown):
		return empty()
	case s.old():
	case e.Code == cluster.CodeNotFound:
		return failure(http.StatusNotFound, e.Msg)
	case e.Code == cluster.CodeConflict:
		return failure(http.StatusConflict, e.Msg)
	case e.Code == cluster.CodeBusy:
		return failure(http.StatusServiceUnavailable, "sandbox is pausing; retry DELETE after 2 seconds").after(2)
	}
	return failure(http.StatusInternalServerError, generic(e))
}

// templateFailed tells unknown ones by code or wording, as measured. Bad
// parameters are 500: 0.7.1 made them 400 for the create of sandboxes only.
func (s *Server) templateFailed(err error) reply {
	e := cluster.AsError(err)
	switch {
	case e.Code == cluster.CodeNotFound, strings.Contains(e.Msg, "not found"):
		return failure(http.StatusNotFound, generic(e))
	case e.Code == cluster.CodeConflict:
		return failure(http.StatusConflict, generic(e))
	}
	return failure(http.StatusInternalServerError, generic(e))
}
