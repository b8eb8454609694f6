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

// meetEnvd waits for the command service, and gives it the environment of the
// request. An image without one is a sandbox without commands, unless an
// environment was to be delivered.
func (c *Cluster) meetEnvd(ctx context.Context, b *box, env map[string]string) (version string, err error) {
	client := c.httpClient(b)
	client.Timeout = probeDialTimeout
	defer client.CloseIdleConnections()
	version, err = c.envdHealth(ctx, b, client, len(env) > 0)
	if err != nil || len(env) == 0 {
		return version, err
	}
	body, err := json.Marshal(map[string]any{"envVars": env})
	if err != nil {
		return version, fmt.Errorf("writing the environment: %w", err)
	}
	status, _, err := envdCall(ctx, client, http.MethodPost, "/init", body)
	if err == nil && status != http.StatusNoContent && status != http.StatusOK {
		err = fmt.Errorf("status %d", status)
	}
	if err != nil {
		return version, fault(CodeNode, "init envd: %s", err)
	}
	return version, nil
}

// envdHealth asks until the service answers; patience is short where the image may have none.
func (c *Cluster) envdHealth(ctx context.Context, b *box, client *http.Client, needed bool) (version string, err error) {
	end := time.Now().Add(envdPatience)
	for {
		status, header, err := envdCall(ctx, client, http.MethodGet, "/health", nil)
		if err == nil && status < http.StatusInternalServerError {
			return header.Get("X-Envd-Version"), nil
		}
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		dead := c.alive(ctx, b)
		if dead != nil || time.Now().After(end) || !needed && b.spec.Overrides.Probe == nil && !b.wantsEnvd() {
			break
		}
		pause(ctx, 50*time.Millisecond)
	}
	if needed {
		return "", fault(CodeNode, "init envd: the image has no command service on port %d", EnvdPort)
	}
	return "", nil
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
