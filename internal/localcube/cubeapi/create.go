package cubeapi

import (
	"context"
	"net/http"
	"time"

	"github.com/hermesbox/hermesbox/internal/localcube/cluster"
)

// mountKey is taken out of the metadata: it is Cube's own.
const mountKey = "host-mount"

// createBudget bounds a create; a cluster answers 408 after it.
const createBudget = 2 * time.Minute

// sandboxJSON is what create, connect and resume answer.
type sandboxJSON struct {
	TemplateID  string `json:"templateID"`
	SandboxID   string `json:"sandboxID"`
	ClientID    string `json:"clientID"`
	EnvdVersion string `json:"envdVersion"`
	Domain      string `json:"domain"`
	Token       string `json:"trafficAccessToken,omitempty"`
}

func (s *Server) sandbox(b cluster.Sandbox, client, token string) sandboxJSON {
	return sandboxJSON{
		TemplateID: b.TemplateID, SandboxID: b.ID, ClientID: client, EnvdVersion: b.EnvdVersion, Domain: s.opts.Domain, Token: token,
	}
}

func (s *Server) create(r request) reply {
	body, refusal := r.body(newSandbox)
	if refusal != nil {
		return *refusal
	}
	wanted, refusal := newSandboxOf(body)
	if refusal != nil {
		return *refusal
	}
	if s.opts.Cluster.Has(cluster.SlowCreate) {
		return reply{status: http.StatusRequestTimeout}
	}
	ctx, cancel := context.WithTimeout(r.Context(), createBudget)
	defer cancel()
	made, err := s.opts.Cluster.Create(ctx, wanted)
	if err != nil {
		if ctx.Err() != nil {
			return reply{status: http.StatusRequestTimeout}
		}
		return s.createFailed(wanted.Template, err)
	}
	return ok(http.StatusCreated, s.sandbox(made, cluster.NewUUID(), made.Token))
}

func newSandboxOf(body map[string]any) (cluster.NewSandbox, *reply) {
	out := cluster.NewSandbox{
		Template: str(body, "templateID"), Window: cluster.Never, Metadata: stringMap(body, "metadata"),
		Env: stringMap(body, "envVars"), Nodes: texts(body, "distributionScope"), Network: networkOf(body),
	}
	if out.Env == nil {
		out.Env = stringMap(body, "envs")
	}
	out.Mounts = out.Metadata[mountKey]
	delete(out.Metadata, mountKey)
	out.OnTimeout, out.AutoResume = lifecycleOf(body)
	if n := number(body, "timeout"); n != nil {
		out.Window = *n
	}
	return out, check(body, out)
}

// check refuses what CubeAPI refuses by itself, and what the local Cube would drop in silence.
func check(body map[string]any, wanted cluster.NewSandbox) *reply {
	message := ""
	err := cluster.CheckEnv(wanted.Env)
	switch {
	case err != nil:
		message = err.Error()
	case wanted.Window < cluster.Never:
		message = "timeout must be -1 (never), 0 or a number of seconds"
	case wanted.OnTimeout != "" && wanted.OnTimeout != "kill" && wanted.OnTimeout != "pause":
		message = `lifecycle.onTimeout must be "kill" or "pause", got "` + wanted.OnTimeout + `"`
	case wanted.Network.DomainsLoose():
		message = "W" + cluster.DomainRule[1:] + "."
	case filled(body["volumeMounts"]):
		message = "the local Cube has no volumes; use host-mount, or a cluster"
	case filled(object(body, "network")["rules"]):
		message = "the local Cube enforces no L7 rules; a cluster does"
	default:
		return nil
	}
	refusal := failure(http.StatusBadRequest, message)
	return &refusal
}

// filled reports whether rules hold any.
func filled(rules any) bool {
	switch v := rules.(type) {
	case []any:
		return len(v) > 0
	case map[string]any:
		return len(v) > 0
	}
	return false
}

// lifecycleOf reads the policy: the nested form makes the flat ones void.
func lifecycleOf(body map[string]any) (onTimeout string, autoResume bool) {
	if nested := object(body, "lifecycle"); nested != nil {
		resume := flag(nested, "autoResume")
		return str(nested, "onTimeout"), resume != nil && *resume
	}
	if p := flag(body, "autoPause"); p != nil && *p {
		onTimeout = "pause"
	}
	if enabled := flag(object(body, "autoResume"), "enabled"); enabled != nil {
		return onTimeout, *enabled
	}
	resume := flag(body, "autoResume")
	return onTimeout, resume != nil && *resume
}

// networkOf reads the outbound policy of a create; nil where it has none.
func networkOf(body map[string]any) *cluster.Network {
	n := policyOf(object(body, "network"))
	n.Internet = flag(body, "allow_internet_access")
	if n.Internet == nil && n.PublicTraffic == nil && n.Allow == nil && n.Deny == nil && n.MaskHost == "" {
		return nil
	}
	return &n
}

func policyOf(m map[string]any) cluster.Network {
	return cluster.Network{
		Allow: texts(m, "allowOut"), Deny: texts(m, "denyOut"), PublicTraffic: flag(m, "allowPublicTraffic"), MaskHost: str(m, "maskRequestHost"),
	}
}
