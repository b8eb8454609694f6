package sandbox

import (
	"os"
	"testing"

	"go.yaml.in/yaml/v3"
)

func TestSecretIn(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ config, want string }{
		"none":         {"model: {provider: custom, default: x}\nmax_tokens: 40960000\nkey_env: LAN_API_KEY\ntokenizer: something\n", ""},
		"api key":      {"model:\n  api_key: sk-0123456789\n", "model.api_key"},
		"apikey":       {"apiKey: sk-0123456789\n", "apiKey"},
		"in a list":    {"mcp:\n  - env: {GITHUB_TOKEN: ghp_0123456789}\n", "mcp.env.GITHUB_TOKEN"},
		"password":     {"a: {b: {password: 'correct horse'}}", "a.b.password"},
		"placeholder":  {"model: {api_key: no-key-required}\n", ""},
		"variable":     {"model: {api_key: \"${LAN_API_KEY}\"}\n", ""},
		"number":       {"token: 1234567890\n", ""},
		"switch":       {"secret: false\n", ""},
		"short":        {"api_key: none\n", ""},
		"header":       {"mcp_servers: {a: {headers: {Authorization: Bearer 0123456789}}}\n", "mcp_servers.a.headers.Authorization"},
		"header's":     {"headers: {X-API-Key: abcdefgh}\n", "headers.X-API-Key"},
		"camelCase":    {"a: {botToken: abcdefgh}\n", "a.botToken"},
		"of a process": {"env: {AWS_SECRET_ACCESS_KEY: abcdefgh}\n", "env.AWS_SECRET_ACCESS_KEY"},
		"some":         {"api_keys: [none, sk-0123456789]\n", "api_keys"},
		"in a header":  {"headers: {Authorization: \"Bearer ${MCP_TOKEN}\"}\n", ""},
		"no secret":    {"api_key_env: SOME_API_KEY\nkeyboard: something\nmaxTokens: something\nsession_key: something\nCOOKIES: something\n", ""},
		"empty":        {"", ""},
		"only comment": {"# api_key: sk-0123456789\n", ""},
		"anchored":     {"x: &k sk-0123456789\ny: {api_key: *k}\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := secretIn([]byte(c.config))
			if name == "anchored" {
				c.want = "y.api_key"
			}
			if err != nil || got != c.want {
				t.Errorf("got %q, %v, want %q", got, err, c.want)
			}
		})
	}
}

func TestWithSkills(t *testing.T) {
	t.Parallel()
	has := "# mine\nskills:\n  external_dirs: [/opt/hermes-common-skills]   # there\n"
	for name, c := range map[string]struct{ config, want string }{
		"has":        {has, has},
		"empty":      {"", "skills:\n  external_dirs:\n    - /opt/hermes-common-skills\n"},
		"none":       {"# note\nmodel: {default: x} # here\n", "# note\nmodel: {default: x} # here\nskills:\n  external_dirs:\n    - /opt/hermes-common-skills\n"},
		"null":       {"skills:\n", "skills:\n  external_dirs:\n    - /opt/hermes-common-skills\n"},
		"other dirs": {"skills:\n  external_dirs:\n    - /mine\n", "skills:\n  external_dirs:\n    - /mine\n    - /opt/hermes-common-skills\n"},
		"disabled":   {"skills: {disabled: [x]}\n", "skills: {disabled: [x], external_dirs: [/opt/hermes-common-skills]}\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := withSkills([]byte(c.config))
			if err != nil || string(got) != c.want {
				t.Errorf("got %q, %v, want %q", got, err, c.want)
			}
		})
	}
	for _, bad := range []string{"a: [", "- a\n", "skills: yes\n", "skills: {external_dirs: x}\n"} {
		if got, err := withSkills([]byte(bad)); err == nil {
			t.Errorf("%q became %q", bad, got)
		}
	}
}

// TestRecipeConfig: the settings of our own image go into a default home byte for byte.
func TestRecipeConfig(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../recipe/config.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if secret, err := secretIn(text); err != nil || secret != "" {
		t.Errorf("secret %q, %v", secret, err)
	}
	if with, err := withSkills(text); err != nil || string(with) != string(text) {
		t.Errorf("changed to %q, %v", with, err)
	}
}

// FuzzConfig: settings that can be read can be read with the skills added too, and adding is done once.
func FuzzConfig(f *testing.F) {
	f.Add([]byte("skills:\n  external_dirs: [/a]\nmodel: {api_key: x}\n"))
	f.Add([]byte("a: &a [*a]\n<<: *a\n"))
	f.Fuzz(func(t *testing.T, config []byte) {
		_, _ = secretIn(config)
		with, err := withSkills(config)
		if err != nil {
			return
		}
		var doc yaml.Node
		if err := yaml.Unmarshal(with, &doc); err != nil {
			t.Fatalf("%q became %q: %v", config, with, err)
		}
		if again, err := withSkills(with); err != nil || string(again) != string(with) {
			t.Errorf("%q became %q, then %q: %v", config, with, again, err)
		}
	})
}
