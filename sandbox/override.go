package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hermesbox/hermesbox/internal/envd"
	"github.com/hermesbox/hermesbox/internal/redact"
)

// overridesFile has the sandbox's environment overrides, lines of NAME=VALUE.
// It is in the home, so that a rebuild keeps them, and written and read inside
// the sandbox only.
const overridesFile = HomeMount + "/.hermesbox/env"

const overridesLimit = 1 << 20

// keysScript prints the names that the home's own .env sets, never a value.
const keysScript = `[ ! -f /root/.hermes/.env ] || sed -n 's/^[[:space:]]*\(export[[:space:]][[:space:]]*\)\{0,1\}\([A-Za-z_][A-Za-z0-9_]*\)[[:space:]]*=.*/\2/p' /root/.hermes/.env 2>/dev/null || true`

// override adds env to the overrides of the home in a sandbox, and warns of
// those that Hermes does not heed.
func (c *Client) override(ctx context.Context, service *envd.Client, env map[string]string) error {
	limited, cancel := context.WithTimeout(ctx, insideTimeout) // a fifo would never end
	defer cancel()
	old, err := service.ReadFile(limited, overridesFile, overridesLimit)
	if err != nil && !errors.Is(err, envd.ErrNotFound) {
		return fmt.Errorf("reading the environment overrides: %w", err)
	}
	text := mergeOverrides(string(old), env)
	set := overridesOf(text)
	for name, value := range set {
		if redact.IsSecretName(name) {
			c.secret(value)
		}
	}
	if len(env) > 0 {
		if err := service.Put(ctx, overridesFile, 0o600, bytes.NewReader([]byte(text))); err != nil {
			return fmt.Errorf("writing the environment overrides: %w", err)
		}
	}
	if len(set) == 0 {
		return nil
	}
	out, err := inside(ctx, service, keysScript)
	if err != nil {
		return fmt.Errorf("reading the names in %s/.env: %w", HomeMount, err)
	}
	for _, name := range slices.Sorted(maps.Keys(set)) {
		if slices.Contains(strings.Split(out, "\n"), name) {
			c.warn("%s is also set in the home's own .env, and Hermes lets that file win", name)
		}
	}
	return nil
}

// mergeOverrides puts env into the text of an overrides file: lines of other
// names stay as they are.
func mergeOverrides(text string, env map[string]string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		name, _, _ := strings.Cut(line, "=")
		if _, replaced := env[name]; !replaced {
			out.WriteString(line + "\n")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(env)) {
		out.WriteString(name + "=" + env[name] + "\n")
	}
	return out.String()
}

// overridesOf are the names and values that the launcher reads from the text.
func overridesOf(text string) map[string]string {
	set := map[string]string{}
	for line := range strings.Lines(text) {
		name, value, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		if ok && envName.MatchString(name) {
			set[name] = value
		}
	}
	return set
}
