package config_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hermesbox/hermesbox/internal/config"
)

// secretive is a configuration that holds secrets in every place that can.
const secretive = `image:
  build_args: {PIP_INDEX_URL: "https://me:hunter2@pypi.example.com/simple", NPM_TOKEN: npm_abcdef, PLAIN: "a\nb"}
sandbox:
  env: {OPENAI_API_KEY: sk-123456, LANG: C.UTF-8, EMPTY_KEY: ""}
nodes: [{name: node-1, ssh: root@10.0.0.5}]
`

func load(t *testing.T, file string) *config.Loaded {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, "hermesbox.yaml", file)
	l, err := config.Load(config.Options{WorkDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestShow(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := load(t, secretive).Show(&out); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for line := range strings.Lines(out.String()) {
		fields := strings.Fields(line)
		got[fields[0]] = strings.Join(fields[1:], " ")
	}
	want := map[string]string{
		"KEY":                            "VALUE ORIGIN",
		"image.build_args.NPM_TOKEN":     "*** hermesbox.yaml:2",
		"image.build_args.PIP_INDEX_URL": "https://***@pypi.example.com/simple hermesbox.yaml:2",
		"image.build_args.PLAIN":         `"a\nb" hermesbox.yaml:2`,
		"image.ca_bundle":                `"" default`,
		"image.hermes_extras":            `["mcp"] default`,
		"nodes":                          `[{"name":"node-1","ssh":"root@10.0.0.5","become":""}] hermesbox.yaml:5`,
		"sandbox.env.OPENAI_API_KEY":     "*** hermesbox.yaml:4",
		"sandbox.env.EMPTY_KEY":          `"" hermesbox.yaml:4`,
		"sandbox.env.LANG":               "C.UTF-8 hermesbox.yaml:4",
		"sandbox.timeout":                "15m default",
	}
	for key, line := range want {
		if got[key] != line {
			t.Errorf("%s: %q, want %q", key, got[key], line)
		}
	}
	for _, secret := range []string{"hunter2", "npm_abcdef", "sk-123456"} {
		if strings.Contains(out.String(), secret) {
			t.Errorf("%s is shown", secret)
		}
	}
}

func TestShowJSON(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := load(t, secretive).ShowJSON(&out); err != nil {
		t.Fatal(err)
	}
	var values []config.Value
	if err := json.Unmarshal(out.Bytes(), &values); err != nil {
		t.Fatal(err)
	}
	got := map[string]any{}
	for _, v := range values {
		got[v.Key] = v.Value
	}
	want := map[string]any{
		"source":                         ".",
		"image.push":                     false,
		"image.build_args.NPM_TOKEN":     "***",
		"image.build_args.PIP_INDEX_URL": "https://***@pypi.example.com/simple",
		"template.cpu":                   2000.0,
		"template.dns":                   []any{},
		"sandbox.timeout":                "15m",
		"nodes":                          []any{map[string]any{"name": "node-1", "ssh": "root@10.0.0.5", "become": ""}},
	}
	for key, value := range want {
		if diff := cmp.Diff(value, got[key]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", key, diff)
		}
	}
	if strings.Contains(out.String(), "hunter2") || strings.Contains(out.String(), "sk-123456") {
		t.Errorf("a secret is shown in %s", out.String())
	}
}

func TestSecrets(t *testing.T) {
	t.Parallel()
	if diff := cmp.Diff([]string{"npm_abcdef", "sk-123456"}, load(t, secretive).Secrets()); diff != "" {
		t.Errorf("secrets (-want +got):\n%s", diff)
	}
}

// full refuses every write, as a full disk does.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, os.ErrInvalid }

func TestShowPassesErrorsOn(t *testing.T) {
	t.Parallel()
	l := load(t, "")
	if err := l.Show(full{}); !errors.Is(err, os.ErrInvalid) {
		t.Errorf("Show: %v", err)
	}
	if err := l.ShowJSON(full{}); !errors.Is(err, os.ErrInvalid) {
		t.Errorf("ShowJSON: %v", err)
	}
}
