package config

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"
)

// variable is an environment variable that has a key.
type variable struct {
	name, key string
	// read turns the variable's text into the key's; nil takes it as it is.
	read func(string) (string, error)
}

// variables lists them, the weaker first where two set one key. They are the
// variables of the Cube and E2B SDKs, of buildctl and of OpenSSL.
func variables() []variable {
	return []variable{
		{name: "BUILDKIT_HOST", key: "image.builder", read: buildkitHost},
		{name: "E2B_API_URL", key: "cube.api_url"},
		{name: "CUBE_API_URL", key: "cube.api_url"},
		{name: "CUBE_MASTER_ADDR", key: "cube.master_addr"},
		{name: "CUBE_SANDBOX_DOMAIN", key: "cube.domain"},
		{name: "CUBE_PROXY_NODE_IP", key: "cube.proxy.ip"},
		{name: "CUBE_PROXY_PORT_HTTP", key: "cube.proxy.port"},
		{name: "CUBE_PROXY_SCHEME", key: "cube.proxy.scheme"},
		{name: "CUBE_TIMEOUT", key: "sandbox.timeout", read: seconds},
		{name: "SSL_CERT_FILE", key: "cube.ca_file"},
	}
}

// isVariable tells whether name is one of them.
func isVariable(name string) bool {
	return slices.ContainsFunc(variables(), func(v variable) bool { return v.name == name })
}

// setEnv lays the variables that are set over c. An empty one is not set.
func setEnv(c *Config, origin map[string]string, getenv func(string) string) error {
	for _, v := range variables() {
		text := getenv(v.name)
		if text == "" {
			continue
		}
		if v.read != nil {
			read, err := v.read(text)
			if err != nil {
				return &Error{Origin: v.name, Key: v.key, Problem: err.Error()}
			}
			text = read
		}
		if err := set(c, origin, Override{Key: v.key, Value: text, Flag: v.name}); err != nil {
			return err
		}
	}
	return nil
}

// buildkitHost takes the addresses that name a buildkitd for us. buildctl's
// ssh:// reaches a buildkitd where image.builder's reaches an Engine, so it
// is not passed on.
func buildkitHost(text string) (string, error) {
	if !buildkitd.MatchString(text) {
		return "", fmt.Errorf("wanted tcp://host:port or unix:///path, got %q", short(text))
	}
	return text, nil
}

// seconds reads what the Cube SDKs do: a Go duration or seconds, which may
// have a fraction.
func seconds(text string) (string, error) {
	d, err := ParseTimeout(text)
	if err != nil {
		return "", err
	}
	return d.String(), nil
}

// ParseTimeout reads CUBE_TIMEOUT and CUBE_REQUEST_TIMEOUT as the Cube SDKs
// do: a Go duration, or seconds with or without a fraction.
func ParseTimeout(text string) (time.Duration, error) {
	if d, err := time.ParseDuration(text); err == nil {
		return d, nil
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(f) || math.Abs(f) > math.MaxInt32 {
		return 0, fmt.Errorf("wanted seconds or a duration such as 90s, got %q", short(text))
	}
	return time.Duration(f * float64(time.Second)), nil
}
