package cubeapi

import (
	"net/http"

	"github.com/hermesbox/hermesbox/internal/localcube/cluster"
	"github.com/hermesbox/hermesbox/internal/localcube/serde"
)

const maxRefresh = 3600

func (s *Server) kill(r request) reply {
	if err := s.opts.Cluster.Delete(r.Context(), r.id()); err != nil {
		return s.deleteFailed(err)
	}
	return empty()
}

func (s *Server) pause(r request) reply {
	if err := s.opts.Cluster.Pause(r.Context(), r.id()); err != nil {
		return s.changeFailed(r.id(), err)
	}
	return empty()
}

func (s *Server) resume(r request) reply {
	body, refusal := r.body(resumeBody)
	if refusal != nil {
		return *refusal
	}
	b, err := s.opts.Cluster.Resume(r.Context(), r.id())
	if err == nil {
		if n := number(body, "timeout"); n != nil {
			err = s.opts.Cluster.SetTimeout(r.id(), max(*n, cluster.Never))
		}
	}
	if err != nil {
		return s.changeFailed(r.id(), err)
	}
	return ok(http.StatusCreated, s.sandbox(b, b.NodeID, ""))
}

func (s *Server) connect(r request) reply {
	body, refusal := r.body(connectBody)
	if refusal != nil {
		return *refusal
	}
	window := number(body, "timeout")
	if window != nil && (*window == 0 || *window < cluster.Never) {
		return failure(http.StatusBadRequest, "timeout must be -1 (never) or a positive number of seconds")
	}
	b, err := s.opts.Cluster.Connect(r.Context(), r.id(), window)
	if err != nil {
		return s.notFound(r.id(), err)
	}
	return ok(http.StatusOK, s.sandbox(b, b.NodeID, ""))
}

func (s *Server) timeout(r request) reply {
	return s.window(r, timeoutBody, "timeout", func(n int) string {
		if n < cluster.Never {
			return "timeout must be -1 (never), 0 or a number of seconds"
		}
		return ""
	}, s.opts.Cluster.SetTimeout)
}

func (s *Server) refreshes(r request) reply {
	return s.window(r, refreshBody, "duration", func(n int) string {
		if n < 0 || n > maxRefresh {
			return "duration must be between 0 and 3600"
		}
		return ""
	}, s.opts.Cluster.Refresh)
}

// window changes an idle window by the number in a body.
func (s *Server) window(r request, shape serde.Shape, field string, wrong func(int) string, set func(string, int) error) reply {
	body, refusal := r.body(shape)
	if refusal != nil {
		return *refusal
	}
	n := 0
	if given := number(body, field); given != nil {
		n = *given
	}
	if message := wrong(n); message != "" {
		return failure(http.StatusBadRequest, message)
	}
	if err := set(r.id(), n); err != nil {
		return s.notFound(r.id(), err)
	}
	return empty()
}

func (s *Server) network(r request) reply {
	body, refusal := r.body(networkBody)
	if refusal != nil {
		return *refusal
	}
	if filled(body["rules"]) {
		return failure(http.StatusBadRequest, "the local Cube enforces no L7 rules; a cluster does")
	}
	policy := policyOf(body)
	policy.Internet = flag(body, "allowInternetAccess")
	if err := s.opts.Cluster.SetNetwork(r.Context(), r.id(), policy); err != nil {
		return s.notFound(r.id(), err)
	}
	return empty()
}
