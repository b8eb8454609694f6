package template

import (
	"context"
	"fmt"

	"github.com/hermesbox/hermesbox/internal/cube"
)

// Delete deletes one template. Sandboxes that run are left alone, as Cube does.
// It wraps cube.ErrNotFound, ErrInUse or ErrInProgress.
func (c *Client) Delete(ctx context.Context, id string) error {
	if err := c.Cube.DeleteTemplate(ctx, id); err != nil {
		return fmt.Errorf("deleting template %s: %w", id, err)
	}
	return nil
}

// Old are the READY templates of a name but the newest keep ones.
func Old(all []Summary, name string, keep int) []Summary {
	var out []Summary
	names := knowsNames(all)
	for _, s := range all {
		if s.Status != cube.StatusReady || !of(name, s, names) {
			continue
		}
		if keep--; keep < 0 {
			out = append(out, s)
		}
	}
	return out
}

// Failed are the templates that were never made.
func Failed(all []Summary) []Summary {
	var out []Summary
	for _, s := range all {
		if s.Status == cube.StatusFailed {
			out = append(out, s)
		}
	}
	return out
}

// Users are the sandboxes that were made from other templates of a name than
// the one given: those a rebuild would bring up to date.
func (c *Client) Users(ctx context.Context, name, id string) ([]cube.Sandbox, error) {
	all, err := c.List(ctx)
	if err != nil {
		return nil, err
	}
	previous := map[string]bool{}
	for _, s := range all {
		if s.ID != id && of(name, s, knowsNames(all)) {
			previous[s.ID] = true
		}
	}
	sandboxes, err := c.Cube.ListSandboxes(ctx, nil)
	if err != nil {
		return nil, fmt.Errorf("listing sandboxes: %w", err)
	}
	var out []cube.Sandbox
	for _, s := range sandboxes {
		if previous[s.TemplateID] {
			out = append(out, s)
		}
	}
	return out, nil
}
