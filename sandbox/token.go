package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hermesbox/hermesbox/internal/envd"
)

// ErrNoToken means that the Web UI has no token: it was never started, or it
// is of a version that has users instead.
var ErrNoToken = errors.New("the Web UI has no token")

// tokenScript prints the token: the one that the Web UI was started with, else
// the one that it made itself.
const tokenScript = `
set -eu
home=/root/.hermes
token=''
# A fifo would never end.
if [ -f "$home/.hermesbox/env" ]; then token=$(sed -n 's/^AUTH_TOKEN=//p' "$home/.hermesbox/env" 2>/dev/null | tail -n 1); fi
if [ -z "$token" ] && [ -f "$home/web-ui/.token" ]; then token=$(head -c 4096 "$home/web-ui/.token" 2>/dev/null | head -n 1) || true; fi
printf '%s\n' "$token"
`

// Token reads the token of the Web UI in a sandbox and tells Secret of it. The
// error wraps [ErrNoToken] or [ErrUsers].
func (c *Client) Token(ctx context.Context, s Sandbox, service *envd.Client) (string, error) {
	if c.users(ctx, s) {
		return "", ErrUsers
	}
	out, err := inside(ctx, service, tokenScript)
	if err != nil {
		return "", fmt.Errorf("reading the token: %w", err)
	}
	token := strings.TrimSpace(out)
	if token == "" {
		return "", ErrNoToken
	}
	c.secret(token)
	return token, nil
}

// insideTimeout is how long a script inside may take, which does little.
const insideTimeout = time.Minute

// inside runs a script in a sandbox and returns what it printed. What it said
// about a failure is the error.
func inside(ctx context.Context, service *envd.Client, text string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, insideTimeout)
	defer cancel()
	var out, said bytes.Buffer
	cmd := envd.Command{Path: "/bin/sh", Args: append([]string{"-c", text, "hermesbox"}, args...), Dir: "/"}
	exit, err := service.Run(ctx, cmd, nil, envd.Output{Stdout: &out, Stderr: &said})
	if err != nil {
		return "", err
	}
	if !exit.OK() {
		return "", &ScriptError{Code: exit.Code, Said: firstLine(said.String())}
	}
	return out.String(), nil
}

// ScriptError is a script that failed inside a sandbox.
type ScriptError struct {
	Code int
	Said string
}

func (e *ScriptError) Error() string {
	if e.Said == "" {
		return fmt.Sprintf("exit code %d inside the sandbox", e.Code)
	}
	return e.Said
}
