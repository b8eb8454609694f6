package cubemaster

import (
	"maps"
	"net"
	"net/http"
	"strconv"

	"github.com/hermesbox/hermesbox/internal/localcube/cluster"
)

type listedSandbox struct {
	ID          string            `json:"sandbox_id"`
	Status      int               `json:"status,omitempty"`
	HostID      string            `json:"host_id,omitempty"`
	HostIP      string            `json:"host_ip,omitempty"`
	SandboxIP   string            `json:"sandbox_ip,omitempty"`
	TemplateID  string            `json:"template_id,omitempty"`
	CPUCount    int64             `json:"cpu_count,omitempty"`
	MemoryMB    int64             `json:"memory_mb,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	Containers  []containerJSON   `json:"containers,omitempty"`
	Namespace   string            `json:"namespace,omitempty"`
	CreateAt    int64             `json:"create_at,omitempty"`
	PauseAt     int64             `json:"pause_at,omitempty"`
	EndAt       int64             `json:"end_at,omitempty"` // milliseconds
	Endpoint    string            `json:"exposed_port_endpoint,omitempty"`
	Mode        string            `json:"exposed_port_mode,omitempty"`
	Port        int               `json:"requested_container_port,omitempty"`
}

type containerJSON struct {
	Name     string `json:"name"`
	ID       string `json:"container_id"`
	Status   int    `json:"status,omitempty"`
	Image    string `json:"image,omitempty"`
	CreateAt int64  `json:"create_at,omitempty"`
	CPU      string `json:"cpu,omitempty"`
	Mem      string `json:"mem,omitempty"`
	Type     string `json:"type,omitempty"`
	PauseAt  int64  `json:"pause_at,omitempty"`
}

// status is CubeMaster's number for a state.
func status(state string) int {
	switch state {
	case cluster.StatePausing:
		return 4
	case cluster.StatePaused:
		return 5
	}
	return 1
}

func base(b cluster.Sandbox) listedSandbox {
	return listedSandbox{
		ID: b.ID, Status: status(b.State), HostID: b.NodeID, HostIP: b.NodeIP, TemplateID: b.TemplateID,
		Annotations: map[string]string{annotationTemplate: b.TemplateID}, Labels: maps.Clone(b.Metadata), Namespace: "default",
	}
}

func listed(b cluster.Sandbox) listedSandbox {
	out := base(b)
	maps.Copy(out.Labels, b.ListLabels)
	out.CPUCount, out.MemoryMB, out.CreateAt, out.PauseAt = b.CPUCount, b.ListMB, b.Created.UnixNano(), pausedAt(b)
	if !b.End.IsZero() {
		out.EndAt = b.End.UnixMilli()
	}
	return out
}

func pausedAt(b cluster.Sandbox) int64 {
	if b.PausedAt.IsZero() {
		return 0
	}
	return b.PausedAt.UnixNano()
}

func detail(b cluster.Sandbox) listedSandbox {
	out := base(b)
	out.SandboxIP = b.IP
	out.Containers = []containerJSON{{
		Name: "cubebox-name-0", ID: b.ID, Status: out.Status, Image: b.Artifact, CreateAt: b.Created.UnixNano(),
		CPU: b.CPU, Mem: b.Mem, Type: "sandbox", PauseAt: pausedAt(b),
	}}
	return out
}

type sandboxesJSON struct {
	envelope
	EndIdx int             `json:"end_idx,omitempty"`
	Size   int             `json:"size,omitempty"`
	Total  int             `json:"total,omitempty"`
	Data   []listedSandbox `json:"data,omitempty"`
}

func (s *Server) sandboxInfo(r *http.Request) answer {
	q, err := ask(r)
	if err != nil {
		return badBody(err)
	}
	out := sandboxesJSON{envelope: envelope{RequestID: q.RequestID, Ret: ret{http.StatusOK, "Success"}}}
	switch {
	case q.ID == "" && q.HostID == "":
		return params(q.RequestID, "MasterParamsError")
	case q.ID == "":
		return s.hostInfo(r, q, out)
	}
	b, err := s.cluster.Sandbox(r.Context(), q.ID)
	if err != nil {
		return done(envelope{RequestID: q.RequestID, Ret: notFound(err)})
	}
	row := detail(b)
	if q.Port != 0 {
		row.Endpoint, row.Mode, row.Port = net.JoinHostPort(b.IP, strconv.Itoa(q.Port)), "tap_ip", q.Port
	}
	out.Data = []listedSandbox{row}
	return done(out)
}

// notFound has CubeMaster's own word for an unknown sandbox.
func notFound(err error) ret {
	out := retOf(err)
	if out.Code == cluster.CodeNotFound {
		out.Msg = "NotFound"
	}
	return out
}

func (s *Server) hostInfo(r *http.Request, q question, out sandboxesJSON) answer {
	if q.HostID != s.node {
		return done(envelope{RequestID: q.RequestID, Ret: ret{cluster.CodeNotFound, "NotFound"}})
	}
	all, err := s.cluster.Sandboxes(r.Context())
	if err != nil {
		return refused(q.RequestID, err)
	}
	for _, b := range all {
		row := detail(b)
		row.HostIP, row.SandboxIP = "", ""
		out.Data = append(out.Data, row)
	}
	return done(out)
}

// sandboxList lists by nodes: size is how many nodes to look at, and we have one.
func (s *Server) sandboxList(r *http.Request) answer {
	q, err := ask(r)
	if err != nil {
		return badBody(err)
	}
	out := sandboxesJSON{envelope: envelope{RequestID: q.RequestID, Ret: ret{http.StatusOK, "Success"}}}
	switch {
	case q.HostID != "" && q.HostID != s.node:
		return answer{http.StatusOK, envelope{RequestID: q.RequestID, Ret: ret{cluster.CodeNotFound, "NotFound"}}, true}
	case q.Size <= 0 && q.HostID == "":
		return answer{http.StatusOK, envelope{RequestID: q.RequestID, Ret: ret{cluster.CodeParams, "MasterParamsError"}}, true}
	case s.cluster.Has(cluster.NoNode), q.StartIdx > 1:
		out.EndIdx = -1
		return answer{http.StatusOK, out, true}
	}
	all, err := s.cluster.Sandboxes(r.Context())
	if err != nil {
		return refused(q.RequestID, err)
	}
	for _, b := range all {
		row := listed(b)
		if q.wants(row.Labels) {
			out.Data = append(out.Data, row)
		}
	}
	out.Size, out.Total = 1, 1
	if q.HostID == "" {
		out.EndIdx = 1
	}
	return answer{http.StatusOK, out, true}
}
