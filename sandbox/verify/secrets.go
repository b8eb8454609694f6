package verify

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/hermesbox/hermesbox/internal/check"
	"github.com/hermesbox/hermesbox/internal/redact"
	"github.com/hermesbox/hermesbox/sandbox"
)

// harmless are variables that only sound like a secret: Python's images name
// the public key that signs its releases.
var harmless = map[string]bool{"GPG_KEY": true}

func (s *subject) secrets(ctx context.Context) check.Result {
	var found struct {
		Init []string `json:"init"`
		// Addresses are variables in whose value an address has a password.
		Addresses []string     `json:"addresses"`
		Files     []secretFile `json:"files"`
	}
	if err := s.read("facts", "secrets", &found); err != nil {
		return unknown(err)
	}
	const remedy = "whoever has one sandbox of this template has this secret: remove it from the image, change it, and make the template anew"
	var named []string
	for _, name := range found.Init {
		if redact.IsSecretName(name) && !harmless[name] {
			named = append(named, name)
		}
	}
	for _, name := range found.Addresses {
		if !slices.Contains(named, name) {
			named = append(named, name)
		}
	}
	files := s.fromImage(found.Files)
	var parts []string
	if len(named) > 0 {
		parts = append(parts, "in the environment of process 1: "+shown(named))
	}
	if len(files) > 0 {
		parts = append(parts, "in the image, outside of home and workspace: "+shown(files))
	}
	if len(parts) > 0 {
		return failing(remedy, "%s", strings.Join(parts, "; "))
	}
	if r := s.startedEarly(); r.Status == check.Fail {
		return r
	}
	if node := s.defaultSecrets(); node.Status == check.Fail {
		return node
	}
	return s.tokenWanted(ctx)
}

// secretFile is a file of credentials, and when it was last changed, in seconds
// since 1970.
type secretFile struct {
	Path string  `json:"path"`
	At   float64 `json:"at"`
}

// fromImage are the files that were there before the sandbox; others its user
// made, and no other sandbox has them.
func (s *subject) fromImage(files []secretFile) []string {
	var out []string
	made := s.box.Made()
	for _, f := range files {
		if made.IsZero() || time.UnixMilli(int64(f.At*1000)).Sub(made) < clockFail { // clocks differ a little
			out = append(out, f.Path)
		}
	}
	return out
}

// startedEarly: a Web UI that ran before the sandbox was made is a memory that
// all sandboxes of the template share.
func (s *subject) startedEarly() check.Result {
	var web *identity
	if err := s.read("facts", "web", &web); err != nil {
		return unknown(err)
	}
	made := s.box.Made()
	if web == nil || made.IsZero() || web.Began == 0 {
		return passed("")
	}
	began := time.UnixMilli(int64(web.Began * 1000))
	if off := made.Sub(began); off > time.Minute { // clocks differ a little
		return failing("let nothing start the Web UI while the template is made: its token is in the template's memory",
			"the Web UI runs since %s, %s before the sandbox was made", began.UTC().Format(time.RFC3339), off.Round(time.Second))
	}
	return passed("")
}

// defaultSecrets looks at the names in the default home, and at its settings.
func (s *subject) defaultSecrets() check.Result {
	if s.nonces == nil {
		return passed("")
	}
	found, err := s.nonces.get()
	if err != nil {
		return passed("") // the node check tells
	}
	for _, n := range found.nodes {
		bad := slices.Clone(n.secrets)
		for _, name := range n.defaults {
			if secretFiles[name.name] && !slices.Contains(bad, name.name) {
				bad = append(bad, name.name)
			}
		}
		if key, err := sandbox.SecretIn([]byte(n.config)); err != nil {
			bad = append(bad, err.Error()) // what Hermes cannot read, nobody can vouch for
		} else if key != "" {
			bad = append(bad, key+" in config.yaml")
		}
		if len(bad) > 0 {
			return failing("every home would get it: replace it with hermesbox home seed --from-template --refresh", "in the default home of node %s: %s", n.node.Name(), shown(bad))
		}
	}
	return passed("")
}

// secretFiles are what no default home has.
var secretFiles = map[string]bool{
	".env": true, ".token": true, "auth.json": true, "state.db": true, "web-ui": true, ".hermes-web-ui": true, ".anthropic_oauth.json": true,
	"mcp-tokens": true, "sessions": true, "memories": true, "logs": true, ".hermesbox": true, "hermes-web-ui.db": true,
}

// tokenWanted asks the Web UI once without its token, and then clears the count
// of refusals: three lock the address of the proxy for an hour in 0.5.16.
func (s *subject) tokenWanted(ctx context.Context) check.Result {
	const remedy = "do not start the Web UI with AUTH_DISABLED, and use a version that asks"
	limited, cancel := context.WithTimeout(ctx, webTimeout)
	defer cancel()
	token, tokenErr := s.client.Token(limited, s.box, s.service)
	status, err := s.request(ctx, http.MethodGet, "/api/hermes/skills", "")
	switch {
	case err != nil:
		return failing("see the web-ui check", "asking the Web UI without its token: %v", err)
	case status == http.StatusTooManyRequests:
		return warning("wait an hour, or delete "+sandbox.HomeMount+"/web-ui/.login-lock.json and rebuild", "the Web UI refuses, since it refused too often (HTTP 429)")
	case status != http.StatusUnauthorized && status != http.StatusForbidden:
		return failing(remedy, "the Web UI answers HTTP %d without its token", status)
	}
	switch {
	case errors.Is(tokenErr, sandbox.ErrUsers):
		return passed("nothing in image, process 1 and default home; the Web UI refuses without log-in (HTTP %d)", status)
	case tokenErr != nil:
		return failing("hermesbox sandbox rebuild starts the Web UI anew", "reading the token: %v", tokenErr)
	}
	with, err := s.request(ctx, http.MethodDelete, "/api/auth/locked-ips", token)
	switch {
	case err == nil && (with == http.StatusUnauthorized || with == http.StatusForbidden):
		return failing("hermesbox sandbox rebuild starts it anew; where that does not help, something starts it while the template is made",
			"the Web UI refuses the token of its home (HTTP %d): it runs with another, as one does that began before the home was mounted", with)
	case err != nil || with/100 != 2:
		return warning("three refusals lock the address of the proxy for an hour", "the Web UI refuses without its token (HTTP %d); clearing the count of that: HTTP %d %v", status, with, err)
	}
	return passed("nothing in image, process 1 and default home; the Web UI refuses without its token (HTTP %d)", status)
}

// webTimeout is how long the Web UI may take to answer.
const webTimeout = 20 * time.Second

// request sends one request through the proxy; token may be empty.
func (s *subject) request(ctx context.Context, method, path, token string) (status int, err error) {
	target := s.client.Route.Target(sandbox.WebUIPort, s.box)
	client := s.client.Route.HTTP(target)
	defer client.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(ctx, webTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, target.URL+path, nil)
	if err != nil {
		return 0, err
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := client.Do(req)
	if err != nil {
		return 0, fmt.Errorf("%s %s: %s", method, path, strings.TrimSpace(err.Error()))
	}
	return res.StatusCode, res.Body.Close()
}
