package verify

import (
	"context"
	"encoding/json"
	"errors"
	"net"

	"github.com/hermesbox/hermesbox/internal/check"
	"github.com/hermesbox/hermesbox/sandbox"
)

// answers are what the ports say from inside.
type answers struct {
	Service heard `json:"49983"`
	Page    heard `json:"9000"`
	Health  heard `json:"health"`
}

// heard is one of HTTP; status 0 is none.
type heard struct {
	Status int    `json:"status"`
	Body   string `json:"body"`
}

func (s *subject) commandService(ctx context.Context) check.Result {
	const remedy = "the image must keep its base's entrypoint and services; hermesbox sandbox show tells how the sandbox stands"
	err := s.service.Health(ctx)
	var dial *net.OpError
	switch {
	case errors.As(err, &dial) && dial.Op == "dial":
		return failing("check cube.proxy and cube.domain, and that the proxy runs: hermesbox doctor", "the proxy does not answer: %v", err)
	case err != nil:
		return failing(remedy, "through the proxy: %v", err)
	}
	var local answers
	if err := s.read("facts", "local", &local); err != nil {
		return unknown(err)
	}
	if local.Service.Status != 204 {
		return failing(remedy, "inside, GET :49983/health: %d %.100q, wanted 204", local.Service.Status, local.Service.Body)
	}
	return passed("GET :49983/health: 204 inside, and through the proxy")
}

func (s *subject) webUI(ctx context.Context) check.Result {
	const remedy = "hermesbox sandbox logs shows what it says; hermesbox sandbox rebuild starts it"
	var local answers
	if err := s.read("facts", "local", &local); err != nil {
		return unknown(err)
	}
	if local.Page.Status != 200 {
		return failing(remedy, "inside, GET :9000/: %d %.100q, wanted 200", local.Page.Status, local.Page.Body)
	}
	var inside sandbox.Health
	if err := json.Unmarshal([]byte(local.Health.Body), &inside); err != nil {
		return failing(remedy, "inside, GET :9000/health: %d %.100q", local.Health.Status, local.Health.Body)
	}
	if problem := inside.Problem(); problem != "" {
		return failing(remedy, "inside, GET :9000/health: %s", problem)
	}
	health, err := s.client.WebUIHealth(ctx, s.box)
	switch {
	case err != nil:
		return failing("it answers inside: check cube.proxy and cube.domain, and that the template exposes 9000", "through the proxy: %v", err)
	case health.Problem() != "":
		return failing(remedy, "through the proxy: %s", health.Problem())
	}
	return passed("GET :9000/: 200 inside; through the proxy Web UI %.40q says ok, Hermes %.40q", health.WebUI, health.Version)
}
