package cubemaster

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/hermesbox/hermesbox/internal/localcube/cluster"
)

type createBody struct {
	RequestID   string            `json:"requestID"`
	Instance    string            `json:"instance_type"`
	Timeout     *int              `json:"timeout"`
	Annotations map[string]string `json:"annotations"`
	Labels      map[string]string `json:"labels"`
	OldNetwork  *cluster.Network  `json:"cubevs_context"`
	Network     *cluster.Network  `json:"cube_network_config"`
	Scope       []string          `json:"distribution_scope"`
}

const (
	annotationTemplate = "cube.master.appsnapshot.template.id"
	annotationVersion  = "cube.master.appsnapshot.template.version"
	annotationMounts   = "host-mount"
	templateVersion    = "v2"
)

func (s *Server) createSandbox(r *http.Request) answer {
	var body createBody
	if err := read(r, &body); err != nil {
		return badBody(err)
	}
	switch template, has := body.Annotations[annotationTemplate]; {
	case body.RequestID == "":
		return params("", "requestID is nil")
	case body.Annotations[annotationVersion] == templateVersion && template == "":
		return params(body.RequestID, "templateID is empty")
	case !has || body.Annotations[annotationVersion] != templateVersion:
		return params(body.RequestID, "volume configuration is required")
	case body.Instance != "" && body.Instance != "cubebox":
		return done(created{RequestID: body.RequestID, Ret: ret{cluster.CodeParams, "containers param is nil"}})
	}
	made, err := s.cluster.Create(r.Context(), body.request(r.Header.Get("X-Caller")))
	out := created{RequestID: body.RequestID, Ret: ret{Code: http.StatusOK}}
	switch {
	case err != nil && cluster.AsError(err).Code == cluster.CodeNotFound:
		return refused(body.RequestID, err)
	case err != nil:
		out.Ret = retOf(err)
	default:
		out.ID, out.IP, out.HostID, out.HostIP = made.ID, made.IP, made.NodeID, made.NodeIP
	}
	return done(out)
}

// created spells the request id with a capital, as CubeMaster does once a create has reached the scheduler.
type created struct {
	RequestID string `json:"RequestID,omitempty"`
	Ret       ret    `json:"ret"`
	ID        string `json:"sandbox_id,omitempty"`
	IP        string `json:"sandbox_ip,omitempty"`
	HostID    string `json:"host_id,omitempty"`
	HostIP    string `json:"host_ip,omitempty"`
}

func (b createBody) request(caller string) cluster.NewSandbox {
	out := cluster.NewSandbox{
		Template: b.Annotations[annotationTemplate], Window: cluster.Never, Metadata: b.Labels, Mounts: b.Annotations[annotationMounts],
		Network: b.OldNetwork, Nodes: b.Scope, Caller: caller,
	}
	if b.Network != nil {
		out.Network = b.Network
	}
	if b.Timeout != nil {
		out.Window = max(*b.Timeout, cluster.Never)
	}
	return out
}

func (s *Server) deleteSandbox(r *http.Request) answer {
	var body struct {
		RequestID string `json:"requestID"`
		ID        string `json:"sandbox_id"`
	}
	if r.ContentLength == 0 {
		return params("", "EOF")
	}
	if err := read(r, &body); err != nil {
		return badBody(err)
	}
	if body.RequestID == "" {
		body.RequestID = cluster.NewUUID()
	}
	if body.ID == "" {
		return params(body.RequestID, "should provide sandbox id")
	}
	out := envelope{RequestID: body.RequestID, Ret: ret{http.StatusOK, "Success"}, SandboxID: body.ID}
	if err := s.cluster.Delete(r.Context(), body.ID); err != nil {
		out.Ret = retOf(err)
		if out.Ret.Code == cluster.CodeNotFound {
			out.Ret = ret{http.StatusOK, "no such sandbox"}
		}
	}
	return done(out)
}

func (s *Server) updateSandbox(r *http.Request) answer {
	var body struct {
		RequestID string `json:"requestID"`
		ID        string `json:"sandbox_id"`
		Action    string `json:"action"`
	}
	if err := read(r, &body); err != nil {
		return params("", "请求体解析失败")
	}
	var err error
	switch {
	case body.RequestID == "":
		return params("", "requestID is empty")
	case body.ID == "" || body.Action == "":
		return params("", "should provide InstanceType,SandboxID,Action")
	case body.Action == "pause":
		err = s.cluster.Pause(r.Context(), body.ID)
	case body.Action == "resume":
		_, err = s.cluster.Resume(r.Context(), body.ID)
	default:
		return params("", "action should be pause or resume")
	}
	if err == nil {
		return done(envelope{Ret: ret{Code: http.StatusOK}})
	}
	out := retOf(err)
	if out.Code == cluster.CodeNotFound {
		out.Code = cluster.CodeParams // as measured
	}
	return done(envelope{Ret: out})
}

func (s *Server) timeout(r *http.Request) answer { return s.window(r, s.cluster.SetTimeout) }

func (s *Server) refresh(r *http.Request) answer { return s.window(r, s.cluster.Refresh) }

func (s *Server) window(r *http.Request, set func(string, int) error) answer {
	var body struct {
		RequestID string `json:"requestID"`
		ID        string `json:"sandbox_id"`
		OtherID   string `json:"sandboxID"`
		Timeout   int    `json:"timeout"`
		Duration  int    `json:"duration"`
	}
	if err := read(r, &body); err != nil {
		return badBody(err)
	}
	if body.ID == "" {
		body.ID = body.OtherID
	}
	if err := set(body.ID, max(body.Timeout, body.Duration, cluster.Never)); err != nil {
		return refused(body.RequestID, err)
	}
	return done(envelope{RequestID: body.RequestID, Ret: ret{http.StatusOK, "Success"}})
}

// question is what info and list ask, in a query or a body.
type question struct {
	RequestID string `json:"requestID"`
	ID        string `json:"sandbox_id"`
	HostID    string `json:"host_id"`
	StartIdx  int    `json:"start_idx"`
	Size      int    `json:"size"`
	Port      int    `json:"container_port"`
	Filter    struct {
		LabelSelector map[string]string `json:"label_selector"`
	} `json:"filter"`
	selector string
}

func ask(r *http.Request) (question, error) {
	var q question
	if r.Method == http.MethodPost || r.ContentLength > 0 {
		if err := read(r, &q); err != nil {
			return q, err
		}
	}
	query := r.URL.Query()
	for _, field := range []struct {
		to   *string
		name string
	}{{&q.RequestID, "requestID"}, {&q.ID, "sandbox_id"}, {&q.HostID, "host_id"}, {&q.selector, "filter.label_selector"}} {
		if v := query.Get(field.name); v != "" {
			*field.to = v
		}
	}
	for _, field := range []struct {
		to   *int
		name string
	}{{&q.StartIdx, "start_idx"}, {&q.Size, "size"}, {&q.Port, "container_port"}} {
		if n, err := strconv.Atoi(query.Get(field.name)); err == nil {
			*field.to = n
		}
	}
	if q.RequestID == "" {
		q.RequestID = cluster.NewUUID()
	}
	return q, nil
}

// wants reports whether a sandbox passes the label filter.
func (q question) wants(labels map[string]string) bool {
	for key, value := range q.Filter.LabelSelector {
		if labels[key] != value {
			return false
		}
	}
	for part := range strings.SplitSeq(q.selector, ",") {
		key, value, ok := strings.Cut(part, "=")
		if ok && labels[key] != value {
			return false
		}
	}
	return true
}
