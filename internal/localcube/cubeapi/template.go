package cubeapi

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/hermesbox/hermesbox/internal/localcube/cluster"
)

type templateJSON struct {
	ID           string   `json:"templateID"`
	InstanceType string   `json:"instanceType,omitempty"`
	Version      string   `json:"version"`
	Status       string   `json:"status"`
	LastError    string   `json:"lastError,omitempty"`
	CreatedAt    string   `json:"createdAt,omitempty"`
	ImageInfo    string   `json:"imageInfo,omitempty"`
	Public       bool     `json:"public"`
	JobID        string   `json:"jobID,omitempty"`
	Aliases      []string `json:"aliases"`
	Names        []string `json:"names"`
}

type templateDetailJSON struct {
	templateJSON
	Replicas []cluster.Replica `json:"replicas"`
	Request  json.RawMessage   `json:"createRequest,omitempty"`
	Network  string            `json:"networkType,omitempty"`
	Internet *bool             `json:"allowInternetAccess,omitempty"`
}

type jobJSON struct {
	JobID      string `json:"jobID"`
	TemplateID string `json:"templateID"`
	Status     string `json:"status"`
	Phase      string `json:"phase"`
	Progress   int    `json:"progress"`
	Error      string `json:"errorMessage,omitempty"`
}

func summary(t cluster.Template) templateJSON {
	out := templateJSON{
		ID: t.ID, InstanceType: t.InstanceType, Version: "v2", Status: t.Status, LastError: t.LastError,
		CreatedAt: t.CreatedAt.UTC().Format(time.RFC3339), ImageInfo: t.ImageInfo, JobID: t.JobID, Aliases: []string{}, Names: []string{},
	}
	if t.Alias != "" {
		out.Aliases, out.Names = []string{t.Alias}, []string{t.Alias}
	}
	return out
}

func job(j *cluster.Job) reply {
	return ok(http.StatusAccepted, jobJSON{j.ID, j.TemplateID, j.Status, j.Phase, j.Progress, j.ErrorMessage})
}

func (s *Server) templates(request) reply {
	out := []templateJSON{}
	for _, t := range s.opts.Cluster.Templates() {
		out = append(out, summary(t))
	}
	return ok(http.StatusOK, out)
}

func (s *Server) template(r request) reply {
	t, err := s.opts.Cluster.Template(r.id())
	if err != nil {
		return s.templateFailed(err)
	}
	out := templateDetailJSON{templateJSON: summary(t), Replicas: t.Replicas, Request: t.Request, Network: "tap"}
	if out.Replicas == nil {
		out.Replicas = []cluster.Replica{}
	}
	if t.Network != nil {
		out.Internet = t.Network.Internet
	}
	return ok(http.StatusOK, out)
}

func (s *Server) alias(r request) reply {
	t, err := s.opts.Cluster.Template(r.vars["alias"])
	if err != nil {
		return s.templateFailed(err)
	}
	return ok(http.StatusOK, struct {
		ID     string `json:"templateID"`
		Public bool   `json:"public"`
	}{t.ID, false})
}

func (s *Server) setAlias(r request) reply {
	body, refusal := r.body(aliasBody)
	if refusal != nil {
		return *refusal
	}
	t, err := s.opts.Cluster.Template(r.id())
	if err == nil {
		err = s.opts.Cluster.SetAlias(t.ID, str(body, "alias"))
	}
	if err != nil {
		if e := cluster.AsError(err); e.Code == cluster.CodeParams {
			return failure(http.StatusBadRequest, generic(e))
		}
		return s.templateFailed(err)
	}
	r.vars = map[string]string{"id": t.ID} // it may have been asked for by the name that it had
	return s.template(r)
}

func (s *Server) unbuild(r request) reply {
	if sync := r.URL.Query().Get("sync"); sync != "" && sync != "true" && sync != "false" {
		return text(http.StatusBadRequest, "Failed to deserialize query string: provided string was not `true` or `false`")
	}
	if err := s.opts.Cluster.DeleteTemplate(r.id()); err != nil {
		return s.templateFailed(err)
	}
	return empty()
}

func (s *Server) patch(r request) reply {
	if _, refusal := r.body(anything); refusal != nil {
		return *refusal
	}
	return failure(http.StatusNotImplemented, "template metadata update is not supported; use POST /templates/{id} to rebuild")
}

func (s *Server) build(r request) reply {
	body, refusal := r.body(newTemplate)
	if refusal != nil {
		return *refusal
	}
	spec, err := specOf(body)
	if err != nil {
		return failure(http.StatusBadRequest, err.Error())
	}
	started, err := s.opts.Cluster.Submit(spec)
	if err != nil {
		return s.templateFailed(err)
	}
	return job(started)
}

// defaultSize is what CubeAPI sends where a request names no size.
const defaultSize = "1G"

// earlier are the names that fields of a template had before; the later one wins where both are given.
var earlier = map[string]string{
	"instanceType": "instance_type", "networkType": "network_type", "writableLayerSize": "writable_layer_size", "exposedPorts": "exposed_ports",
}

func specOf(body map[string]any) (cluster.TemplateSpec, error) {
	for later, name := range earlier {
		if body[later] == nil && body[name] != nil {
			body[later] = body[name]
		}
	}
	spec := cluster.TemplateSpec{
		ID: str(body, "templateID"), Alias: cmp.Or(aliasOf(str(body, "name")), aliasOf(str(body, "alias"))), Image: strings.TrimSpace(str(body, "image")), Size: str(body, "writableLayerSize"),
		InstanceType: str(body, "instanceType"), NetworkType: str(body, "networkType"), Ports: ints(body, "exposedPorts"), Scope: texts(body, "nodes"),
		Username: str(body, "registryUsername"), Password: str(body, "registryPassword"),
	}
	if spec.Image == "" {
		return spec, fmt.Errorf("image is required")
	}
	if spec.Size == "" {
		spec.Size = defaultSize
	}
	network := cluster.Network{Internet: flag(body, "allowInternetAccess"), Allow: texts(body, "allowOut"), Deny: texts(body, "denyOut")}
	if network.Internet != nil || network.Allow != nil || network.Deny != nil {
		spec.Network = &network
	}
	overrides, err := overridesOf(body)
	spec.Overrides = overrides
	delete(body, "registryPassword") // is not kept
	text, _ := json.Marshal(body)    // was JSON
	spec.Body = string(text)
	return spec, err
}

// aliasOf is what a name in E2B's form, with a namespace and a tag, leaves for an alias.
func aliasOf(name string) string {
	name, _, _ = strings.Cut(name, ":")
	return strings.TrimSpace(name[strings.LastIndex(name, "/")+1:])
}

func overridesOf(body map[string]any) (cluster.Overrides, error) {
	out := cluster.Overrides{Command: texts(body, "command"), Args: texts(body, "args"), Probe: probeOf(body)}
	for _, e := range texts(body, "env") {
		key, value, found := strings.Cut(e, "=")
		if !found {
			return out, fmt.Errorf("invalid env %q: expected KEY=VALUE", e)
		}
		out.Envs = append(out.Envs, cluster.Env{Key: key, Value: value})
	}
	if servers := texts(body, "dns"); len(servers) > 0 {
		for _, server := range servers {
			if _, err := netip.ParseAddr(server); err != nil {
				return out, fmt.Errorf("invalid dns server %q", server)
			}
		}
		out.DNS = &cluster.DNSConfig{Servers: servers}
	}
	cpu, memory := number(body, "cpu"), number(body, "memory")
	if cpu != nil || memory != nil {
		out.Resources = &cluster.Resources{CPU: quantity(cpu, "m"), Mem: quantity(memory, "Mi")}
	}
	return out, nil
}

func quantity(n *int, unit string) string {
	if n == nil {
		return "2000" + unit
	}
	return strconv.Itoa(*n) + unit
}

// probeOf probes the port named, else the first that is exposed.
func probeOf(body map[string]any) *cluster.Probe {
	port := number(body, "probePort")
	if exposed := ints(body, "exposedPorts"); port == nil && len(exposed) > 0 {
		port = &exposed[0]
	}
	if port == nil {
		return nil
	}
	path := str(body, "probePath")
	if path == "" {
		path = "/health"
	}
	return &cluster.Probe{
		Handler:   cluster.ProbeHandler{HTTPGet: &cluster.HTTPGet{Path: path, Port: *port}},
		TimeoutMS: 30000, PeriodMS: 500, SuccessThreshold: 1, FailureThreshold: 60,
	}
}
