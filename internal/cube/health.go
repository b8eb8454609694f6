package cube

import (
	"context"
	"errors"
	"net/http"
)

// Health asks CubeAPI, without authentication mattering, and CubeMaster, each
// where it is configured.
func (c *Client) Health(ctx context.Context) error {
	var errs []error
	if c.api != nil {
		var out struct {
			Status string `json:"status"`
		}
		errs = append(errs, c.apiCall(ctx, call{method: http.MethodGet, path: "/health", budget: quick}, &out))
	}
	if c.master != nil {
		errs = append(errs, c.masterCall(ctx, call{method: http.MethodGet, path: "/notify/health", budget: quick}, nil))
	}
	return errors.Join(errs...)
}

// Since tells from which version on Cube has what this one has: 0.7.0, 0.6.0,
// 0.3.0 or 0.1.0. Cube names its version nowhere, so this asks CubeAPI for
// routes that came or went with a release.
func (c *Client) Since(ctx context.Context) (string, error) {
	for _, mark := range []struct {
		path, version string
		// gone: the route left with that version.
		gone bool
	}{
		{"/templates/compat", "0.7.0", false},
		{"/cubeapi/v1/health", "0.6.0", true},
		{"/snapshots", "0.3.0", false},
	} {
		err := c.apiCall(ctx, call{method: http.MethodGet, path: mark.path, budget: quick}, nil)
		// Before it was a route, compat was the id of an unknown template.
		missing := errors.Is(err, ErrUnsupported) || errors.Is(err, ErrNotFound)
		if err != nil && !missing {
			return "", err
		}
		if missing == mark.gone {
			return mark.version, nil
		}
	}
	return "0.1.0", nil
}
