package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// Health is how the Web UI says it is. The zero value is one that does not answer.
type Health struct {
	Status  string `json:"status"`
	Gateway string `json:"gateway"`
	// Version is Hermes Agent's, WebUI the Web UI's own.
	Version string `json:"version"`
	WebUI   string `json:"webui_version"`
	// Bridge is there since 0.6.0, which says ok always.
	Bridge *struct {
		Ready bool `json:"ready"`
	} `json:"agent_bridge"`
}

// Problem says why the Web UI cannot be used yet, "" where it can.
func (h Health) Problem() string {
	switch {
	case h.Bridge != nil && h.Version == "":
		return "it does not find Hermes Agent"
	case h.Bridge != nil && !h.Bridge.Ready:
		return "its bridge to Hermes Agent is not ready"
	case h.Status != "ok":
		return fmt.Sprintf("its status is %q and its gateway %q", h.Status, h.Gateway)
	}
	return ""
}

// answerBytes is the longest answer of the Web UI that is read.
const answerBytes = 64 << 10

// WebUIHealth asks the Web UI through the proxy. It resumes a paused sandbox
// that resumes on access.
func (c *Client) WebUIHealth(ctx context.Context, s Sandbox) (Health, error) {
	var h Health
	err := c.ask(ctx, s, "/health", &h)
	return h, err
}

// ask asks the Web UI for JSON, without a credential.
func (c *Client) ask(ctx context.Context, s Sandbox, path string, out any) error {
	t := c.Route.Target(WebUIPort, s)
	client := c.Route.HTTP(t)
	defer client.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, t.URL+path, nil)
	if err != nil {
		return fmt.Errorf("asking the Web UI: %w", err)
	}
	res, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("asking the Web UI: %w", err)
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, answerBytes))
	if err = errors.Join(err, res.Body.Close()); err != nil {
		return fmt.Errorf("asking the Web UI: %w", err)
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("asking the Web UI: %s: HTTP %d", t.URL+path, res.StatusCode)
	}
	if err := json.Unmarshal(body, out); err != nil {
		return fmt.Errorf("asking the Web UI: %s does not answer as one does: %w", t.URL+path, err)
	}
	return nil
}

// How long the Web UI may take from listening to being of use.
const (
	healthTimeout = 90 * time.Second
	healthPoll    = 500 * time.Millisecond
)

// check is step 10: both ports, through the proxy.
func (m *making) check(ctx context.Context) (outcome, error) {
	if err := m.service.Health(ctx); err != nil {
		return outcome{}, fmt.Errorf("port 49983: %w", err)
	}
	if m.spec.NoWebUI {
		return done("49983 answers; 9000 was not asked")
	}
	limited, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	for {
		h, err := m.WebUIHealth(limited, m.made.Sandbox)
		if err == nil {
			if problem := h.Problem(); problem != "" {
				err = errors.New(problem)
			}
		}
		if err == nil {
			return done("49983 and 9000 answer; Web UI %s, %s", orUnknown(h.WebUI), orUnknown(h.Version))
		}
		select {
		case <-limited.Done():
			if ctx.Err() != nil {
				return outcome{}, ctx.Err()
			}
			return outcome{}, fmt.Errorf("%w after %s: %w", ErrWebUI, healthTimeout, err)
		case <-time.After(healthPoll):
		}
	}
}
