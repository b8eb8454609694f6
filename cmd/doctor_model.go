package cmd

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"github.com/hermesbox/hermesbox/internal/check"
	"github.com/hermesbox/hermesbox/internal/config"
	"github.com/hermesbox/hermesbox/internal/redact"
	"github.com/hermesbox/hermesbox/template"
)

// doctorTemplate is the template that up would register.
func doctorTemplate(loaded *config.Loaded) (template.Spec, error) {
	var opts templateOptions
	opts.AddFlags(pflag.NewFlagSet("", pflag.ContinueOnError))
	return opts.spec(loaded)
}

// examineEgress judges the outbound policy as template lint does.
func examineEgress(loaded *config.Loaded) check.Result {
	spec, err := doctorTemplate(loaded)
	if err != nil {
		return wrong(err, "correct it in hermesbox.yaml")
	}
	status := map[template.Severity]check.Status{template.Error: check.Fail, template.Warning: check.Warn, template.Note: check.Pass}
	var checks []check.Check
	for _, f := range template.Lint(spec, loaded.Config.Sandbox.ModelEndpoints) {
		checks = append(checks, check.Check{ID: f.ID, Status: status[f.Severity], Evidence: f.Detail, Remedy: f.Remedy})
	}
	return condense(checks, "hermesbox template lint explains it", "hermesbox template lint tells more")
}

// modelPatience is how long a model endpoint may take.
const modelPatience = 10 * time.Second

// examineModels asks each model endpoint from here, which for the local Cube is
// where sandboxes ask from.
func (a *app) examineModels(ctx context.Context, loaded *config.Loaded) check.Result {
	endpoints := loaded.Config.Sandbox.ModelEndpoints
	if len(endpoints) == 0 {
		return skip("sandbox.model_endpoints names none")
	}
	checks := make([]check.Check, len(endpoints))
	var wait sync.WaitGroup
	for i, endpoint := range endpoints {
		wait.Go(func() {
			r := askModel(ctx, endpoint)
			if r.Status == check.Fail && loaded.Config.Cube.Engine != "local" {
				r.Status = check.Warn
				r.Remedy += "; sandboxes ask from their node, which may reach what this machine does not: hermesbox verify tells"
			}
			checks[i] = check.Check{ID: redact.URL(endpoint), Status: r.Status, Evidence: r.Evidence, Remedy: r.Remedy}
		})
	}
	wait.Wait()
	return condense(checks, count(len(checks), "endpoint")+" answered", "see whether curl gets an answer there")
}

// askModel asks an endpoint for its models, as verify does from inside.
func askModel(ctx context.Context, endpoint string) check.Result {
	const remedy = "see that the model's server runs and listens on more than loopback, and correct sandbox.model_endpoints"
	u, err := url.Parse(endpoint)
	if err != nil || u.Hostname() == "" {
		return check.Result{Status: check.Fail, Evidence: "it is no address", Remedy: "write it as http://10.10.0.5:8000 in sandbox.model_endpoints"}
	}
	if addrs, err := net.DefaultResolver.LookupHost(ctx, u.Hostname()); err != nil {
		return check.Result{Status: check.Fail, Evidence: err.Error(), Remedy: "correct the name in sandbox.model_endpoints, or write its address"}
	} else if slices.ContainsFunc(addrs, func(text string) bool { return net.ParseIP(text).IsLoopback() }) {
		return check.Result{Status: check.Fail, Evidence: "in a sandbox that is the sandbox itself", Remedy: "name the address that other machines use in sandbox.model_endpoints, and have the server listen there"}
	}
	got, kind, err := getModels(ctx, u)
	switch {
	case err != nil:
		return check.Result{Status: check.Fail, Evidence: err.Error(), Remedy: remedy}
	case slices.Contains([]int{http.StatusUnauthorized, http.StatusForbidden}, got):
		return check.Result{Status: check.Pass}
	case got != http.StatusOK || strings.Contains(kind, "html"):
		return check.Result{Status: check.Warn, Evidence: fmt.Sprintf("/v1/models answers HTTP %d, %s", got, firstOf(kind, "of no type")), Remedy: "something else than a model's server listens there: correct sandbox.model_endpoints"}
	}
	return check.Result{Status: check.Pass}
}

func getModels(ctx context.Context, u *url.URL) (status int, kind string, err error) {
	ctx, cancel := context.WithTimeout(ctx, modelPatience)
	defer cancel()
	at := u.JoinPath("v1", "models")
	if strings.HasSuffix(strings.TrimSuffix(u.Path, "/"), "/v1") {
		at = u.JoinPath("models")
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return 0, "", err
	}
	transport := &http.Transport{DisableKeepAlives: true} // sandboxes have no proxy of this machine's
	answer, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		return 0, "", err
	}
	_, _ = io.CopyN(io.Discard, answer.Body, 4<<10) // only the head counts
	return answer.StatusCode, answer.Header.Get("Content-Type"), answer.Body.Close()
}
