package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"
)

// meetEnvd waits for the command service, gives it the environment of the
// request, and learns its version. An image without one is a sandbox without
// commands, unless an environment was to be delivered.
func (c *Cluster) meetEnvd(ctx context.Context, b *box, env map[string]string) (version string, err error) {
	client := c.httpClient(b)
	client.Timeout = probeDialTimeout
	defer client.CloseIdleConnections()
	needed := len(env) > 0
	if there, err := c.envdThere(ctx, b, client, needed); err != nil || !there {
		return "", err
	}
	if env == nil {
		env = map[string]string{}
	}
	body, err := json.Marshal(map[string]any{"envVars": env})
	if err != nil {
		return "", fmt.Errorf("writing the environment: %w", err)
	}
	status, header, err := envdCall(ctx, client, http.MethodPost, "/init", body)
	switch {
	case err == nil && status >= http.StatusBadRequest:
		err = fmt.Errorf("status %d", status)
	case err == nil:
		return header.Get("X-Envd-Version"), nil
	}
	if needed {
		return "", fault(CodeNode, "init envd: %s", err)
	}
	return "", nil // what listens there is something else
}

// envdThere asks until the service answers; patience is short where the image may have none.
func (c *Cluster) envdThere(ctx context.Context, b *box, client *http.Client, needed bool) (bool, error) {
	end := time.Now().Add(envdPatience)
	if !needed {
		end = time.Now().Add(envdCourtesy)
	}
	for {
		status, _, err := envdCall(ctx, client, http.MethodGet, "/health", nil)
		if err == nil && status < http.StatusInternalServerError {
			return true, nil
		}
		if ctx.Err() != nil {
			return false, context.Cause(ctx)
		}
		dead := c.alive(ctx, b)
		if dead != nil || time.Now().After(end) || !needed && b.spec.Overrides.Probe == nil && !b.wantsEnvd() {
			break
		}
		pause(ctx, 50*time.Millisecond)
	}
	if needed {
		return false, fault(CodeNode, "init envd: the image has no command service on port %d", EnvdPort)
	}
	return false, nil
}

// wantsEnvd reports whether the template exposes the command service's port.
func (b *box) wantsEnvd() bool {
	for _, p := range b.spec.Ports {
		if p == EnvdPort {
			return true
		}
	}
	return false
}

func envdCall(ctx context.Context, client *http.Client, method, path string, body []byte) (status int, header http.Header, err error) {
	req, err := http.NewRequestWithContext(ctx, method, "http://sandbox:"+strconv.Itoa(EnvdPort)+path, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := client.Do(req)
	if err != nil {
		return 0, nil, err
	}
	_, err = io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<20))
	return resp.StatusCode, resp.Header, errors.Join(err, resp.Body.Close())
}
