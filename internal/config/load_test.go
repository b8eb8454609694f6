package config_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hermesbox/hermesbox/internal/config"
)

// write makes a file, and the directories to it, below dir.
func write(t *testing.T, dir, name, content string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// env is an environment of these variables alone.
func env(vars map[string]string) func(string) string {
	return func(name string) string { return vars[name] }
}

func TestLoadNothing(t *testing.T) {
	t.Parallel()
	l, err := config.Load(config.Options{WorkDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(config.Default(), l.Config); diff != "" {
		t.Errorf("config (-default +got):\n%s", diff)
	}
	if l.Path != "" || l.Origin["image.base"] != "default" {
		t.Errorf("path %q, origin of image.base %q", l.Path, l.Origin["image.base"])
	}
}

// everything sets each key to something other than its default.
const everything = `
source: hermes
context: {keep: [._SUCCESS.crc], exclude: ["*.log"]}
image:
  name: registry.example.com/team/hermes
  base: python:3.12
  dockerfile: docker/Dockerfile
  platform: linux/arm64
  builder: ssh://me@build.example.com:2222
  push: true
  build_args: {A: b, N: 1, F: true}
  ca_bundle: /etc/ca.pem
  hermes_extras: []
  web_ui: {version: 0.6.0-rc.1, package: web-ui.tgz}
cube:
  engine: local
  api_url: https://cube.example.com/api
  master_addr: 10.0.0.5:8089
  domain: cube.example.com
  version: v0.7.0
  ca_file: ca/root.pem
  proxy: {ip: 10.0.0.6, port: 8443, scheme: https}
template:
  name: studio
  cpu: 4000
  memory: 8192
  writable_layer_size: 1.5Gi
  nodes: [node-1]
  dns: [10.0.0.2]
  egress: {internet: false, allow: [10.1.0.0/16], deny: [0.0.0.0/0]}
nodes:
  - {name: node-1, ssh: root@10.0.0.5, become: ""}
  - {name: node-2, ssh: "[fd00::1]:22", become: sudo -n}
shared_root: /srv/shared
sandbox:
  home: alice
  workspace: alice.work-1
  timeout: 1h30m
  on_timeout: kill
  auto_resume: false
  env: {LANG: C.UTF-8}
  model_endpoints: [http://10.0.0.7:8000/v1]
skills: {source: ../skills}
`

func TestLoadEveryKey(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "conf/hermesbox.yaml", everything)
	l, err := config.Load(config.Options{WorkDir: dir, Path: "conf/hermesbox.yaml"})
	if err != nil {
		t.Fatal(err)
	}
	want := config.Config{
		Source:  "conf/hermes",
		Context: config.Context{Keep: []string{"._SUCCESS.crc"}, Exclude: []string{"*.log"}},
		Image: config.Image{
			Name: "registry.example.com/team/hermes", Base: "python:3.12", Dockerfile: "conf/docker/Dockerfile",
			Platform: "linux/arm64", Builder: "ssh://me@build.example.com:2222", Push: true,
			BuildArgs: map[string]string{"A": "b", "N": "1", "F": "true"},
			CABundle:  "/etc/ca.pem", HermesExtras: []string{},
			WebUI: config.WebUI{Version: "0.6.0-rc.1", Package: "conf/web-ui.tgz"},
		},
		Cube: config.Cube{
			Engine: "local", APIURL: "https://cube.example.com/api", MasterAddr: "10.0.0.5:8089",
			Domain: "cube.example.com", Version: "v0.7.0", CAFile: "conf/ca/root.pem",
			Proxy: config.Proxy{IP: "10.0.0.6", Port: 8443, Scheme: "https"},
		},
		Template: config.Template{
			Name: "studio", CPU: 4000, Memory: 8192, WritableLayerSize: "1.5Gi",
			Nodes: []string{"node-1"}, DNS: []string{"10.0.0.2"},
			Egress: config.Egress{Allow: []string{"10.1.0.0/16"}, Deny: []string{"0.0.0.0/0"}},
		},
		Nodes: []config.Node{
			{Name: "node-1", SSH: "root@10.0.0.5"},
			{Name: "node-2", SSH: "[fd00::1]:22", Become: "sudo -n"},
		},
		SharedRoot: "/srv/shared",
		Sandbox: config.Sandbox{
			Home: "alice", Workspace: "alice.work-1", Timeout: config.Duration(90 * time.Minute), OnTimeout: "kill",
			Env: map[string]string{"LANG": "C.UTF-8"}, ModelEndpoints: []string{"http://10.0.0.7:8000/v1"},
		},
		Skills: config.Skills{Source: "skills"},
	}
	if diff := cmp.Diff(want, l.Config); diff != "" {
		t.Errorf("config (-want +got):\n%s", diff)
	}
	for key, origin := range l.Origin {
		if origin == "default" {
			t.Errorf("%s is set in the file, but its origin is the default", key)
		}
	}
}

func TestLoadLayers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "hermesbox.yaml", `image:
  base: from-file
  build_args: {A: file, B: file}
  hermes_extras: [file]
cube:
  api_url: http://file:3000
  domain: file.example.com
nodes:
  - name: node-1
    ssh: root@10.0.0.5
`)
	write(t, dir, "a/b/keep", "")
	l, err := config.Load(config.Options{
		WorkDir: filepath.Join(dir, "a", "b"),
		Getenv: env(map[string]string{
			"CUBE_API_URL": "http://env:3000", "E2B_API_URL": "http://e2b:3000", "CUBE_SANDBOX_DOMAIN": "",
			"CUBE_PROXY_PORT_HTTP": "81", "CUBE_TIMEOUT": "90.0",
		}),
		Set: []config.Override{
			{Key: "image.base", Value: "from-flag", Flag: "--base"},
			{Key: "image.push", Value: "true", Flag: "--push"},
			{Key: "image.build_args", Values: []string{"B=flag", "C=a=b"}, Flag: "--build-arg"},
			{Key: "image.hermes_extras", Values: []string{"x", "y"}, Flag: "--extra"},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	type from struct {
		Value  any
		Origin string
	}
	got := map[string]from{}
	for _, v := range l.Values() {
		if v.Origin != "default" {
			got[v.Key] = from{v.Value, v.Origin}
		}
	}
	want := map[string]from{
		"image.base":          {"from-flag", "--base"},
		"image.push":          {true, "--push"},
		"image.build_args.A":  {"file", "../../hermesbox.yaml:3"},
		"image.build_args.B":  {"flag", "--build-arg"},
		"image.build_args.C":  {"a=b", "--build-arg"},
		"image.hermes_extras": {[]string{"x", "y"}, "--extra"},
		"cube.api_url":        {"http://env:3000", "CUBE_API_URL"},
		"cube.domain":         {"file.example.com", "../../hermesbox.yaml:7"},
		"cube.proxy.port":     {81, "CUBE_PROXY_PORT_HTTP"},
		"nodes":               {[]config.Node{{Name: "node-1", SSH: "root@10.0.0.5"}}, "../../hermesbox.yaml:8"},
		"sandbox.timeout":     {config.Duration(90 * time.Second), "CUBE_TIMEOUT"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("values that are no defaults (-want +got):\n%s", diff)
	}
	if got, want := l.Config.Source, "../.."; got != want {
		t.Errorf("source %q, want the file's directory %q", got, want)
	}
}

// TestLoadFlagsUndoNothing pins that overrides never reach into the defaults
// or another load's maps.
func TestLoadLeavesNoTrace(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	set := []config.Override{{Key: "sandbox.env", Values: []string{"A=1"}, Flag: "--env"}}
	if _, err := config.Load(config.Options{WorkDir: dir, Set: set}); err != nil {
		t.Fatal(err)
	}
	l, err := config.Load(config.Options{WorkDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if len(l.Config.Sandbox.Env) != 0 {
		t.Errorf("env %v after a load that set it", l.Config.Sandbox.Env)
	}
}

func TestFind(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "hermesbox.yaml", "")
	write(t, dir, "a/hermesbox.yaml", "")
	write(t, dir, "a/b/file", "")
	write(t, dir, "c/file", "")
	tests := []struct{ name, from, want string }{
		{"here", ".", "hermesbox.yaml"},
		{"nearest above", "a/b", "a/hermesbox.yaml"},
		{"far above", "c", "hermesbox.yaml"},
		{"from a file", "c/file", "hermesbox.yaml"},
		{"from what is not there", "c/d/e", "hermesbox.yaml"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := config.Find(filepath.Join(dir, tt.from))
			if want := filepath.Join(dir, tt.want); got != want || err != nil {
				t.Errorf("Find = %q, %v, want %q", got, err, want)
			}
		})
	}
}

func TestFindUnreadable(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Symlink("hermesbox.yaml", filepath.Join(dir, "hermesbox.yaml")); err != nil {
		t.Fatal(err)
	}
	if path, err := config.Find(dir); err == nil {
		t.Errorf("Find over a link to itself = %q, want an error", path)
	}
}
