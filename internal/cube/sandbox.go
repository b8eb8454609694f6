package cube

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// The states that lists give. Others may follow.
const (
	Running = "running"
	Pausing = "pausing"
	Paused  = "paused"
)

// Sandbox is what CubeAPI tells of one. Create, connect and resume fill the
// ids, Domain and the tokens; get and list the rest too.
type Sandbox struct {
	ID         string `json:"sandboxID"`
	TemplateID string `json:"templateID"`
	// ClientID is the node's id, but from create the request's.
	ClientID    string `json:"clientID,omitempty"`
	EnvdVersion string `json:"envdVersion,omitempty"`
	// Domain ends the host names of its ports. Lists lack it.
	Domain string `json:"domain,omitempty"`
	Alias  string `json:"alias,omitempty"`
	// State: the May version lists a paused sandbox as running; get has it right.
	State     string `json:"state,omitempty"`
	StartedAt Time   `json:"startedAt,omitzero"`
	// EndAt is zero where the sandbox never times out. In the May version it
	// means nothing.
	EndAt      Time  `json:"endAt,omitzero"`
	CPUCount   Count `json:"cpuCount,omitempty"`
	CPUMilli   Count `json:"cpuMilli,omitempty"`
	MemoryMB   Count `json:"memoryMB,omitempty"`
	DiskSizeMB Count `json:"diskSizeMB,omitempty"`
	// Metadata is the user's and labels of Cube's own; never the host mounts.
	// Cube 0.7.0 can lose it after a pause.
	Metadata map[string]string `json:"metadata,omitempty"`
	// TrafficAccessToken comes once, from create with PublicTraffic false.
	TrafficAccessToken Secret `json:"trafficAccessToken,omitempty"`
	EnvdAccessToken    Secret `json:"envdAccessToken,omitempty"`
}

// Never is the timeout of a sandbox that no idleness ends.
const Never = -time.Second

// GetSandbox asks for one sandbox.
func (c *Client) GetSandbox(ctx context.Context, id string) (Sandbox, error) {
	var out Sandbox
	path, err := segment("sandbox", id)
	if err != nil {
		return out, err
	}
	err = c.sandboxCall(ctx, call{method: http.MethodGet, path: "/sandboxes/" + path, budget: quick}, &out)
	return out, err
}

// listLimit asks for everything: paging is accepted and ignored, and filters
// apply to what the limit left. The May version counts nodes by it.
const listLimit = "10000"

// ListSandboxes lists the sandboxes that have all of the metadata; nil lists
// all. Cube's own filter only saves transfer; what is returned is checked here.
func (c *Client) ListSandboxes(ctx context.Context, metadata map[string]string) ([]Sandbox, error) {
	query := url.Values{"limit": {listLimit}}
	if len(metadata) > 0 {
		query.Set("metadata", filter(metadata))
	}
	var all []Sandbox
	k := call{method: http.MethodGet, path: "/v2/sandboxes", query: query, budget: quick}
	if err := c.apiCall(ctx, k, &all); err != nil {
		return nil, err
	}
	if slices.ContainsFunc(all, func(s Sandbox) bool { return s.ID == "" }) {
		return nil, c.api.nameless(k, "sandbox")
	}
	return slices.DeleteFunc(all, func(s Sandbox) bool { return !has(s.Metadata, metadata) }), nil
}

// filter is k=v&k2=v2, each part escaped once.
func filter(metadata map[string]string) string {
	values := url.Values{}
	for k, v := range metadata {
		values.Set(k, v)
	}
	return strings.ReplaceAll(values.Encode(), "+", "%20")
}

func has(metadata, wanted map[string]string) bool {
	for k, v := range wanted {
		if got, ok := metadata[k]; !ok || got != v {
			return false
		}
	}
	return true
}

// DeleteSandbox ends a sandbox. One that is not there is a success, in every
// version of Cube: the May version answers so.
func (c *Client) DeleteSandbox(ctx context.Context, id string) error {
	err := c.act(ctx, http.MethodDelete, id, "", nil, wake)
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}

// PauseSandbox starts a pause; get tells when it is done. One that is paused
// already is [ErrConflict].
func (c *Client) PauseSandbox(ctx context.Context, id string) error {
	return c.act(ctx, http.MethodPost, id, "/pause", nil, wake)
}

// SetTimeout gives the sandbox a new idle window, from now on. It works since
// Cube 0.5.0, before that it is [ErrUnsupported].
func (c *Client) SetTimeout(ctx context.Context, id string, timeout time.Duration) error {
	return c.act(ctx, http.MethodPost, id, "/timeout", timeoutBody{seconds(timeout)}, quick)
}

// Refresh keeps the sandbox alive for at least d, at most an hour. Since 0.5.0.
func (c *Client) Refresh(ctx context.Context, id string, d time.Duration) error {
	body := struct {
		Duration int `json:"duration"`
	}{seconds(d)}
	return c.act(ctx, http.MethodPost, id, "/refreshes", body, quick)
}

// SetNetwork replaces what create said about the network. Since Cube 0.7.0. It
// cannot take away what the template allows.
func (c *Client) SetNetwork(ctx context.Context, id string, n Network) error {
	return c.act(ctx, http.MethodPut, id, "/network", n, quick)
}

type timeoutBody struct {
	Timeout int `json:"timeout"`
}

// act does something to a sandbox that answers nothing.
func (c *Client) act(ctx context.Context, method, id, action string, body any, budget time.Duration) error {
	path, err := segment("sandbox", id)
	if err != nil {
		return err
	}
	repeatable := action != "/pause" // a second one would be a conflict of the first's making
	return c.apiCall(ctx, call{
		method: method, path: "/sandboxes/" + path + action, body: body, budget: budget, idempotent: repeatable,
	}, nil)
}

// ConnectSandbox resumes a paused sandbox and makes its window at least
// timeout. A running one is left running.
func (c *Client) ConnectSandbox(ctx context.Context, id string, timeout time.Duration) (Sandbox, error) {
	return c.wake(ctx, id, "/connect", timeout, true)
}

// ResumeSandbox resumes a paused sandbox; a running one is [ErrConflict].
func (c *Client) ResumeSandbox(ctx context.Context, id string, timeout time.Duration) (Sandbox, error) {
	return c.wake(ctx, id, "/resume", timeout, false)
}

func (c *Client) wake(ctx context.Context, id, action string, timeout time.Duration, idempotent bool) (Sandbox, error) {
	var out Sandbox
	path, err := segment("sandbox", id)
	if err != nil {
		return out, err
	}
	err = c.sandboxCall(ctx, call{
		method: http.MethodPost, path: "/sandboxes/" + path + action,
		body: timeoutBody{seconds(timeout)}, budget: wake, idempotent: idempotent,
	}, &out)
	return out, err
}

// sandboxCall asks for one sandbox.
func (c *Client) sandboxCall(ctx context.Context, k call, out *Sandbox) error {
	err := c.apiCall(ctx, k, out)
	if err == nil && out.ID == "" {
		return c.api.nameless(k, "sandbox")
	}
	return err
}

// apiCall asks CubeAPI.
func (c *Client) apiCall(ctx context.Context, k call, out any) error {
	return c.api.do(ctx, "CubeAPI", k, out)
}
