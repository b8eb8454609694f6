package config_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hermesbox/hermesbox/internal/config"
)

// TestBadValues gives each check a value it must refuse, by flag.
func TestBadValues(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 64)
	tests := []struct{ key, value, want string }{
		{"source", "", `wanted a directory, got ""`},
		{"source", "~/hermes", `~ is not expanded here`},
		{"image.ca_bundle", "~", `~ is not expanded here`},
		{"image.dockerfile", "a\x00b", `a path cannot hold a NUL byte`},
		{"image.name", "", `wanted a repository such as registry.example.com/team/hermes-studio, got ""`},
		{"image.name", "-t", `wanted a repository such as registry.example.com/team/hermes-studio, got "-t"`},
		{"image.base", "a b", `wanted an image reference, got "a b"`},
		{"image.platform", "linux", `wanted one os/arch such as linux/amd64, got "linux"`},
		{"image.platform", "linux/amd64,linux/arm64", `wanted one os/arch such as linux/amd64, got "linux/amd64,linux/arm64"`},
		{"image.builder", "podman", `wanted docker, ssh://[user@]host[:port], tcp://host:port or unix:///path, got "podman"`},
		{"image.builder", "ssh://-oProxyCommand=x", `wanted docker, ssh://[user@]host[:port], tcp://host:port or unix:///path, got "ssh://-oProxyCommand=x"`},
		{"image.builder", "ssh://me:pw@h", `wanted docker, ssh://[user@]host[:port], tcp://host:port or unix:///path, got "ssh://me:***@h"`},
		{"image.builder", "ssh://h:99999", `wanted docker, ssh://[user@]host[:port], tcp://host:port or unix:///path, got "ssh://h:99999"`},
		{"image.builder", "unix://run/buildkitd.sock", `wanted docker, ssh://[user@]host[:port], tcp://host:port or unix:///path, got "unix://run/buildkitd.sock"`},
		{"image.push", "1", `wanted true or false, got "1"`},
		{"image.web_ui.version", "latest release", `wanted a version such as 0.5.16, got "latest release"`},
		{"cube.engine", "remote", `wanted "" or local, got "remote"`},
		{"cube.api_url", "10.0.0.5:3000", `wanted an address such as http://10.0.0.5:3000, without user and password, got "10.0.0.5:3000"`},
		{"cube.api_url", "http://u:p@h:3000", `wanted an address such as http://10.0.0.5:3000, without user and password, got "http://***@h:3000"`},
		{"cube.api_url", "http://h:0", `wanted an address such as http://10.0.0.5:3000, without user and password, got "http://h:0"`},
		{"cube.api_url", "http://h/?a", `wanted an address such as http://10.0.0.5:3000, without user and password, got "http://h/?a"`},
		{"cube.master_addr", "h/x", `wanted host:port or an address such as http://10.0.0.5:8089, got "h/x"`},
		{"cube.domain", "*.cube.app", `wanted a domain such as cube.app, got "*.cube.app"`},
		{"cube.version", "latest", `wanted a version such as 0.7.0, got "latest"`},
		{"cube.proxy.ip", "10.0.0.5:80", `wanted an address or host name, without port, got "10.0.0.5:80"`},
		{"cube.proxy.port", "70000", `wanted a port, or 0 for the scheme's, got "70000"`},
		{"cube.proxy.port", "http", `wanted a whole number, got "http"`},
		{"cube.proxy.scheme", "ftp", `wanted "" or http or https, got "ftp"`},
		{"template.name", "tpl-x", `wanted at most 64 lower-case letters, digits and -, not beginning with -, tpl- or snap-, got "tpl-x"`},
		{"template.cpu", "0", `wanted thousandths of a core, more than 0, got "0"`},
		{"template.memory", "-1", `wanted MiB, more than 0, got "-1"`},
		{"template.writable_layer_size", "20GB", `wanted a size such as 20Gi, got "20GB"`},
		{"template.writable_layer_size", "0Gi", `wanted a size such as 20Gi, got "0Gi"`},
		{"shared_root", "data", `wanted an absolute path such as /data/shared, without . or .. in it, got "data"`},
		{"shared_root", "/data/../etc", `wanted an absolute path such as /data/shared, without . or .. in it, got "/data/../etc"`},
		{"shared_root", "/", `wanted an absolute path such as /data/shared, without . or .. in it, got "/"`},
		{"sandbox.home", "default", `the id "default" is reserved for the home that others are made from`},
		{"sandbox.home", "Alice", `wanted an id of at most 63 lower-case letters, digits, . _ and -, beginning with a letter or digit, got "Alice"`},
		{"sandbox.home", "../x", `wanted an id of at most 63 lower-case letters, digits, . _ and -, beginning with a letter or digit, got "../x"`},
		{"sandbox.workspace", long, `wanted an id of at most 63 lower-case letters, digits, . _ and -, beginning with a letter or digit, got "` + long[:40] + `…"`},
		{"sandbox.timeout", "0s", `wanted whole seconds, at least 1s, got "0s"`},
		{"sandbox.timeout", "-5m", `wanted whole seconds, at least 1s, got "-5m"`},
		{"sandbox.timeout", "1500ms", `wanted whole seconds, at least 1s, got "1.5s"`},
		{"sandbox.timeout", "900", `wanted a duration such as 15m or 90s, got "900"`},
		{"sandbox.on_timeout", "stop", `wanted pause or kill, got "stop"`},
	}
	for _, tt := range tests {
		t.Run(tt.key+" "+tt.value, func(t *testing.T) {
			t.Parallel()
			set := []config.Override{{Key: tt.key, Value: tt.value, Flag: "--flag"}}
			e := wrong(t, config.Options{WorkDir: t.TempDir(), Set: set})
			if diff := cmp.Diff("--flag: "+tt.key+": "+tt.want, e.Error()); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		})
	}
}

// TestBadEntries gives each check of an entry a value it must refuse.
func TestBadEntries(t *testing.T) {
	t.Parallel()
	tests := []struct {
		key    string
		values []string
		want   string
	}{
		{"image.hermes_extras", []string{"mcp", "a;b"}, `image.hermes_extras[1]: wanted the name of an extra such as mcp, got "a;b"`},
		{"image.build_args", []string{"A"}, `image.build_args: wanted NAME=VALUE, got the name "A" alone`},
		{"image.build_args", []string{"A-B=1"}, `image.build_args: wanted a name of letters, digits and _, got "A-B"`},
		{"sandbox.env", []string{"=1"}, `sandbox.env: wanted a name of letters, digits and _, got ""`},
		{"sandbox.env", []string{"A=\x00"}, `sandbox.env.A: a value cannot hold a NUL byte`},
		{"template.nodes", []string{"-x"}, `template.nodes[0]: wanted a node's name or address, got "-x"`},
		{"template.dns", []string{"10.0.0.2", "dns.example.com"}, `template.dns[1]: wanted the address of a resolver such as 10.0.0.2, got "dns.example.com"`},
		{"template.egress.allow", []string{"10.0.0.0/8", "10.10.0.1/16"}, `template.egress.allow[1]: "10.10.0.1/16" has host bits set: write 10.10.0.0/16`},
		{"template.egress.deny", []string{"x"}, `template.egress.deny[0]: "x" is no network: write an IPv4 network such as 10.0.0.0/16`},
		{"sandbox.model_endpoints", []string{"10.0.0.7:8000"}, `sandbox.model_endpoints[0]: wanted an address such as http://10.0.0.7:8000/v1, without user and password, got "10.0.0.7:8000"`},
		{"nodes", []string{"root@h"}, `nodes: this list can only be given in hermesbox.yaml`},
	}
	for _, tt := range tests {
		t.Run(tt.want, func(t *testing.T) {
			t.Parallel()
			set := []config.Override{{Key: tt.key, Values: tt.values, Flag: "--flag"}}
			e := wrong(t, config.Options{WorkDir: t.TempDir(), Set: set})
			if diff := cmp.Diff("--flag: "+tt.want, e.Error()); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		})
	}
}

func TestBadNodes(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, nodes, want string }{
		{"no name", "\n- ssh: h", `hermesbox.yaml:2: nodes[0].name: wanted a name such as node-1, got ""`},
		{"no ssh", "\n- name: a\n- name: b\n  ssh: h", `hermesbox.yaml:2: nodes[0].ssh: wanted [user@]host[:port] such as root@10.0.0.5, got ""`},
		{"ssh url", "\n- name: a\n  ssh: ssh://h", `hermesbox.yaml:3: nodes[0].ssh: wanted [user@]host[:port] such as root@10.0.0.5, got "ssh://h"`},
		{"option as host", "\n- name: a\n  ssh: -oX=y", `hermesbox.yaml:3: nodes[0].ssh: wanted [user@]host[:port] such as root@10.0.0.5, got "-oX=y"`},
		{"one name twice", "\n- {name: a, ssh: h}\n- {name: a, ssh: i}", `hermesbox.yaml:3: nodes[1].name: wanted a name that no other node has, got "a"`},
		{"two lines", "\n- {name: a, ssh: h, become: \"a\\nb\"}", `hermesbox.yaml:2: nodes[0].become: wanted a command such as "sudo -n", got "a\nb"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			write(t, dir, "hermesbox.yaml", "nodes:"+tt.nodes+"\n")
			e := wrong(t, config.Options{WorkDir: dir})
			if diff := cmp.Diff(tt.want, e.Error()); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEnvironment(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, value, key, want string }{
		{"E2B_API_URL", "http://h:3000", "cube.api_url", "http://h:3000"},
		{"CUBE_API_URL", "http://h:3000", "cube.api_url", "http://h:3000"},
		{"CUBE_MASTER_ADDR", "http://h:8089", "cube.master_addr", "http://h:8089"},
		{"CUBE_SANDBOX_DOMAIN", "cube.app", "cube.domain", "cube.app"},
		{"CUBE_PROXY_NODE_IP", "fd00::1", "cube.proxy.ip", "fd00::1"},
		{"CUBE_PROXY_SCHEME", "https", "cube.proxy.scheme", "https"},
		{"SSL_CERT_FILE", "/ca.pem", "cube.ca_file", "/ca.pem"},
		{"BUILDKIT_HOST", "tcp://h:1234", "image.builder", "tcp://h:1234"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			l, err := config.Load(config.Options{WorkDir: t.TempDir(), Getenv: env(map[string]string{tt.name: tt.value})})
			if err != nil {
				t.Fatal(err)
			}
			for _, v := range l.Values() {
				if v.Key == tt.key && (v.Value != tt.want || v.Origin != tt.name) {
					t.Errorf("%s is %v from %s, want %q from %s", tt.key, v.Value, v.Origin, tt.want, tt.name)
				}
			}
		})
	}
}

func TestBadEnvironment(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, value, want string }{
		{"CUBE_TIMEOUT", "soon", `CUBE_TIMEOUT: sandbox.timeout: wanted seconds or a duration such as 90s, got "soon"`},
		{"CUBE_TIMEOUT", "-1", `CUBE_TIMEOUT: sandbox.timeout: wanted whole seconds, at least 1s, got "-1s"`},
		{"CUBE_PROXY_PORT_HTTP", "80/tcp", `CUBE_PROXY_PORT_HTTP: cube.proxy.port: wanted a whole number, got "80/tcp"`},
		{"CUBE_API_URL", "localhost", `CUBE_API_URL: cube.api_url: wanted an address such as http://10.0.0.5:3000, without user and password, got "localhost"`},
		{"BUILDKIT_HOST", "ssh://h", `BUILDKIT_HOST: image.builder: wanted tcp://host:port or unix:///path, got "ssh://h"`},
	}
	for _, tt := range tests {
		t.Run(tt.name+" "+tt.value, func(t *testing.T) {
			t.Parallel()
			e := wrong(t, config.Options{WorkDir: t.TempDir(), Getenv: env(map[string]string{tt.name: tt.value})})
			if diff := cmp.Diff(tt.want, e.Error()); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		})
	}
}

// TestUnknownOverride is a mistake of the program, not of the user.
func TestUnknownOverride(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"image.bas", "image", "image.base.x", ""} {
		_, err := config.Load(config.Options{WorkDir: t.TempDir(), Set: []config.Override{{Key: key, Flag: "--x"}}})
		if err == nil || !strings.Contains(err.Error(), "no such key") {
			t.Errorf("override of %q: %v, want no such key", key, err)
		}
	}
}

func TestParseTimeout(t *testing.T) {
	t.Parallel()
	tests := []struct {
		text string
		want time.Duration
		ok   bool
	}{
		{"30", 30 * time.Second, true},
		{"0.5", 500 * time.Millisecond, true},
		{"2m", 2 * time.Minute, true},
		{"NaN", 0, false},
		{"1e300", 0, false},
		{"", 0, false},
	}
	for _, tt := range tests {
		if got, err := config.ParseTimeout(tt.text); got != tt.want || (err == nil) != tt.ok {
			t.Errorf("ParseTimeout(%q) = %v, %v", tt.text, got, err)
		}
	}
}

func TestDuration(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"15m", "1h", "1h30m", "1h0m5s", "90s", "0s", "500ms"} {
		var d config.Duration
		if err := d.UnmarshalText([]byte(text)); err != nil {
			t.Fatal(err)
		}
		want := text
		if text == "90s" {
			want = "1m30s"
		}
		if got := d.String(); got != want {
			t.Errorf("%s prints as %s", text, got)
		}
	}
	var d config.Duration
	if err := d.UnmarshalText([]byte("soon")); err == nil {
		t.Error("soon is no duration")
	}
}
