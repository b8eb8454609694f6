package cubemaster

import (
	"net/http"
	"time"

	"github.com/hermesbox/hermesbox/internal/localcube/cluster"
)

type nodeJSON struct {
	ID           string    `json:"node_id"`
	IP           string    `json:"host_ip"`
	InstanceType string    `json:"instance_type"`
	Heartbeat    time.Time `json:"heartbeat_time"`
	Healthy      bool      `json:"healthy,omitempty"`
}

func (s *Server) self() nodeJSON {
	return nodeJSON{s.node, "127.0.0.1", "cubebox", time.Now().UTC(), !s.cluster.Has(cluster.NoNode)}
}

func (s *Server) nodes(*http.Request) answer {
	return done(struct {
		envelope
		Data []nodeJSON `json:"data,omitempty"`
	}{envelope{Ret: ret{http.StatusOK, "Success"}}, []nodeJSON{s.self()}})
}

func (s *Server) nodeInfo(id string) answer {
	if id != s.node {
		return done(envelope{Ret: ret{cluster.CodeNotFound, "record not found"}})
	}
	return done(struct {
		envelope
		Data nodeJSON `json:"data"`
	}{envelope{Ret: ret{http.StatusOK, "Success"}}, s.self()})
}
