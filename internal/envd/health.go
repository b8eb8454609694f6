package envd

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// Health asks whether the service answers.
func (c *Client) Health(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, quick)
	defer cancel()
	req, err := c.request(ctx, http.MethodGet, "/health", nil, http.NoBody)
	if err != nil {
		return err
	}
	res, err := c.send(req)
	if err != nil {
		return err
	}
	return c.readJSON(res, nil)
}

// pollInterval is the time between two looks.
const pollInterval = 200 * time.Millisecond

// WaitReady waits until the service answers, at most for timeout. Right after
// a create the proxy may not know the sandbox yet, so that is waited out too;
// a token that is refused is not.
func (c *Client) WaitReady(ctx context.Context, timeout time.Duration) error {
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var last error
	for {
		err := c.Health(limited)
		if err == nil || errors.Is(err, ErrUnauthenticated) {
			return err
		}
		if limited.Err() == nil || last == nil { // the last real reason
			last = err
		}
		select {
		case <-time.After(pollInterval):
		case <-limited.Done():
			if ctx.Err() != nil {
				return fmt.Errorf("waiting for the command service: %w", ctx.Err())
			}
			return fmt.Errorf("waiting %s for the command service: %w", timeout, last)
		}
	}
}

// Init is what the service is told once, by whoever made the sandbox.
type Init struct {
	// EnvVars are given to every command from now on. Version 0.6.13 replaces
	// what was there, 0.5.13 adds to it.
	EnvVars map[string]string `json:"envVars,omitempty"`
	// DefaultUser runs what names no user; DefaultWorkdir is where.
	DefaultUser    string `json:"defaultUser,omitempty"`
	DefaultWorkdir string `json:"defaultWorkdir,omitempty"`
	// Timestamp orders calls: one that is older than another is ignored.
	Timestamp time.Time `json:"timestamp,omitzero"`
}

// Init tells the service.
func (c *Client) Init(ctx context.Context, in Init) error {
	body := struct {
		Init
		AccessToken string `json:"accessToken,omitempty"` // in the body too
	}{in, c.options.AccessToken}
	return c.quick(ctx, "/init", true, body, nil)
}
