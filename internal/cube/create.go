package cube

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"time"

	"github.com/hermesbox/hermesbox/internal/redact"
)

// What happens when a sandbox was idle for its timeout.
const (
	OnTimeoutKill  = "kill"
	OnTimeoutPause = "pause"
)

// mountKey carries the host mounts to Cube, as JSON in a string.
const mountKey = "host-mount"

// HostMount is a directory of the node, seen inside the sandbox. It must
// exist; it shadows what the image has there.
type HostMount struct {
	HostPath  string `json:"hostPath"`
	MountPath string `json:"mountPath"`
	ReadOnly  bool   `json:"readOnly"`
}

// NewSandbox is what a sandbox is made from. CPU and memory are the template's.
type NewSandbox struct {
	TemplateID string
	// Timeout is the idle window; 0 leaves Cube's default, [Never] is none.
	Timeout time.Duration
	// OnTimeout and AutoResume work since Cube 0.5.0. Empty leaves the default.
	OnTimeout  string
	AutoResume bool
	Network    *Network
	Metadata   map[string]string
	Mounts     []HostMount
	// Env reaches processes that envd starts later, since Cube 0.5.0.
	Env map[string]string
	// Nodes are ids or addresses of the nodes that may take it, since 0.7.0.
	Nodes []string
}

type lifecycle struct {
	OnTimeout  string `json:"onTimeout"`
	AutoResume bool   `json:"autoResume"`
}

type createBody struct {
	TemplateID string     `json:"templateID"`
	Timeout    *int       `json:"timeout,omitempty"`
	Lifecycle  *lifecycle `json:"lifecycle,omitempty"`
	// Internet is read in this spelling only, whatever the SDKs send.
	Internet *bool             `json:"allow_internet_access,omitempty"`
	Network  *Network          `json:"network,omitempty"`
	Metadata map[string]string `json:"metadata,omitempty"`
	Env      map[string]string `json:"envVars,omitempty"`
	Nodes    []string          `json:"distributionScope,omitempty"`
}

// CreateSandbox starts a sandbox. A failed answer does not always mean that
// there is none: after a timeout, list.
func (c *Client) CreateSandbox(ctx context.Context, s NewSandbox) (Sandbox, error) {
	var out Sandbox
	body, err := s.body()
	if err != nil {
		return out, err
	}
	err = c.apiCall(ctx, call{method: http.MethodPost, path: "/sandboxes", body: body, budget: create, secrets: secretsOf(s.Env)}, &out)
	if err == nil && out.ID == "" { // seen where CubeMaster gave none
		err = fmt.Errorf("creating a sandbox: the answer has no sandbox id")
	}
	return out, err
}

func (s NewSandbox) body() (createBody, error) {
	b := createBody{TemplateID: s.TemplateID, Metadata: maps.Clone(s.Metadata), Env: s.Env, Nodes: s.Nodes}
	if s.Timeout != 0 {
		n := seconds(s.Timeout)
		b.Timeout = &n
	}
	if s.OnTimeout != "" {
		b.Lifecycle = &lifecycle{s.OnTimeout, s.AutoResume}
	}
	if n := s.Network.clean(); n != nil {
		b.Internet, n.Internet = n.Internet, nil
		b.Network = n.clean()
	}
	if _, taken := s.Metadata[mountKey]; taken {
		return b, fmt.Errorf("the metadata key %q is Cube's own: give mounts as mounts", mountKey)
	}
	if len(s.Mounts) == 0 {
		return b, nil
	}
	text, err := json.Marshal(s.Mounts)
	if err != nil {
		return b, fmt.Errorf("writing the mounts: %w", err)
	}
	if b.Metadata == nil {
		b.Metadata = map[string]string{}
	}
	b.Metadata[mountKey] = string(text)
	return b, nil
}

// secretsOf are the values whose names say that they are secrets.
func secretsOf(env map[string]string) []string {
	var out []string
	for name, value := range env {
		if redact.IsSecretName(name) {
			out = append(out, value)
		}
	}
	return out
}
