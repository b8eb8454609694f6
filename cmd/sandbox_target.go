package cmd

import (
	"context"

	"github.com/hermesbox/hermesbox/internal/envd"
	"github.com/hermesbox/hermesbox/sandbox"
)

// target is the sandbox that a command is about, and how it is reached.
type target struct {
	sandbox.Sandbox
	*sandboxes
	// service is its command service, as root.
	service *envd.Client
}

// target finds a sandbox by name or id. The caller closes it.
func (a *app) target(ctx context.Context, nameOrID string) (*target, error) {
	all, err := a.sandboxes(ctx)
	if err != nil {
		return nil, err
	}
	t, err := all.target(ctx, nameOrID)
	if err != nil {
		all.close()
		return nil, err
	}
	return t, nil
}

func (s *sandboxes) target(ctx context.Context, nameOrID string) (*target, error) {
	found, err := s.find(ctx, nameOrID)
	if err != nil {
		return nil, err
	}
	// Lists lack the domain, and the May version's get the state wrong.
	if found, err = s.client.Refresh(ctx, found); err != nil {
		return nil, sandboxFailed(err)
	}
	service, err := s.client.Route.Service(found)
	if err != nil {
		return nil, err
	}
	return &target{found, s, service}, nil
}

// reach is how a port of the sandbox is reached through the proxy.
func (t *target) reach(port int) envd.Target { return t.client.Route.Target(port, t.Sandbox) }

// webUI is the address of its Web UI without the token, and the token, which
// then is masked wherever it would be printed.
func (t *target) webUI(ctx context.Context) (address, token string, err error) {
	token, err = t.client.Token(ctx, t.Sandbox, t.service)
	if err != nil {
		return "", "", sandboxFailed(err)
	}
	return t.client.Route.WebUI(t.Sandbox), token, nil
}

func (t *target) close() {
	t.service.Close()
	t.sandboxes.close()
}

// find is the sandbox of a name or id, asked of Cube now.
func (s *sandboxes) find(ctx context.Context, nameOrID string) (sandbox.Sandbox, error) {
	all, err := s.client.List(ctx)
	if err != nil {
		return sandbox.Sandbox{}, sandboxFailed(err)
	}
	return s.pick(all, nameOrID)
}

// pick is find among those listed.
func (s *sandboxes) pick(all []sandbox.Sandbox, nameOrID string) (sandbox.Sandbox, error) {
	found, err := sandbox.Pick(all, nameOrID)
	if err != nil {
		return found, &failure{err: err, code: exitFailed, hint: s.app.again() + " sandbox ls lists what there is"}
	}
	return found, nil
}
