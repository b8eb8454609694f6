// Package config reads what hermesbox is told: built-in defaults,
// hermesbox.yaml, the environment and flags, in that order, each layer over
// the one before.
//
// It decides what a value means and whether it can be right by itself; it
// never asks the network or the disk whether what a value names exists, and
// it knows no command. Secrets have no key: they come from the environment
// variables that the clients read, and are not kept here.
//
// Invariants: a Loaded has passed every check; every key of it has an origin;
// a key left out of hermesbox.yaml means the same as its default written
// there.
package config

import "time"

// Config holds every setting. Its JSON form has the keys of hermesbox.yaml.
type Config struct {
	// Source is the Hermes Agent checkout, relative to the working directory.
	Source   string   `json:"source"`
	Context  Context  `json:"context"`
	Image    Image    `json:"image"`
	Cube     Cube     `json:"cube"`
	Template Template `json:"template"`
	// Nodes are the machines reachable over SSH; none means no node access.
	Nodes []Node `json:"nodes"`
	// SharedRoot is the absolute directory on each node that is host-mounted.
	SharedRoot string  `json:"shared_root"`
	Sandbox    Sandbox `json:"sandbox"`
	Skills     Skills  `json:"skills"`
}

// Context adjusts what of the source is sent to the builder.
type Context struct {
	// Keep are paths, look-alikes among them, that the built-in rules would
	// leave out.
	Keep []string `json:"keep"`
	// Exclude are ignore patterns added after those of the ignore file.
	Exclude []string `json:"exclude"`
}

// Image says what is built, from what and where.
type Image struct {
	// Name is the repository to tag and push.
	Name string `json:"name"`
	// Base is the reference that the Dockerfile's ARG BASE receives.
	Base string `json:"base"`
	// Dockerfile is a path; empty is the embedded one.
	Dockerfile string `json:"dockerfile"`
	// Platform is os/arch or os/arch/variant.
	Platform string `json:"platform"`
	// Builder is docker, ssh://[user@]host[:port], tcp://… or unix://….
	Builder string `json:"builder"`
	Push    bool   `json:"push"`
	// BuildArgs are build arguments by name.
	BuildArgs map[string]string `json:"build_args"`
	// CABundle is the path of a PEM bundle for a TLS-inspecting proxy.
	CABundle string `json:"ca_bundle"`
	// HermesExtras are the extras that Hermes Agent is installed with.
	HermesExtras []string `json:"hermes_extras"`
	WebUI        WebUI    `json:"web_ui"`
}

// WebUI names the hermes-web-ui package to install.
type WebUI struct {
	Version string `json:"version"`
	// Package is the path of a local tarball; empty takes the npm registry's.
	Package string `json:"package"`
}

// Cube says how a CubeSandbox cluster is reached.
type Cube struct {
	// Engine is local for the embedded Cube, empty for a cluster.
	Engine string `json:"engine"`
	// APIURL is CubeAPI's base address, http or https.
	APIURL string `json:"api_url"`
	// MasterAddr is CubeMaster's host:port or base address.
	MasterAddr string `json:"master_addr"`
	// Domain is what sandbox host names end in; empty asks CubeAPI.
	Domain string `json:"domain"`
	// Version is the cluster's version; empty asks the cluster.
	Version string `json:"version"`
	// CAFile is the path of a PEM bundle to trust besides the system's.
	CAFile string `json:"ca_file"`
	Proxy  Proxy  `json:"proxy"`
}

// Proxy is dialled in place of the sandbox's own host name.
type Proxy struct {
	// IP is the address or host name of the node that runs CubeProxy.
	IP string `json:"ip"`
	// Port is 0 for the scheme's own.
	Port int `json:"port"`
	// Scheme is http, https, or empty to follow the port.
	Scheme string `json:"scheme"`
}

// Template is what the image is registered as.
type Template struct {
	Name string `json:"name"`
	// CPU is in thousandths of a core.
	CPU int `json:"cpu"`
	// Memory is in MiB.
	Memory int `json:"memory"`
	// WritableLayerSize is a Kubernetes quantity, such as 20Gi.
	WritableLayerSize string `json:"writable_layer_size"`
	// Nodes restricts the template to these node names or addresses.
	Nodes []string `json:"nodes"`
	// DNS are the addresses of the guest's resolvers.
	DNS    []string `json:"dns"`
	Egress Egress   `json:"egress"`
}

// Egress is what a sandbox may reach. Networks are canonical IPv4 CIDRs.
type Egress struct {
	Internet bool     `json:"internet"`
	Allow    []string `json:"allow"`
	Deny     []string `json:"deny"`
}

// Node is a Cubelet node that directories are made on.
type Node struct {
	Name string `json:"name"`
	// SSH is [user@]host[:port].
	SSH string `json:"ssh"`
	// Become is put before commands that need root, such as "sudo -n".
	Become string `json:"become"`
}

// Sandbox holds what a new sandbox gets.
type Sandbox struct {
	// Home and Workspace are ids; empty means that the command asks for one.
	Home      string `json:"home"`
	Workspace string `json:"workspace"`
	// Timeout is the idle time after which OnTimeout happens.
	Timeout Duration `json:"timeout"`
	// OnTimeout is pause or kill.
	OnTimeout  string `json:"on_timeout"`
	AutoResume bool   `json:"auto_resume"`
	// Env are environment variables by name.
	Env map[string]string `json:"env"`
	// ModelEndpoints are http or https addresses that verify tries to reach.
	ModelEndpoints []string `json:"model_endpoints"`
}

// Skills says where the public skills are.
type Skills struct {
	Source string `json:"source"`
}

// Default returns the built-in settings. Lists and maps are never nil.
func Default() Config {
	return Config{
		Source:  ".",
		Context: Context{Keep: []string{}, Exclude: []string{}},
		Image: Image{
			Name:         "hermes-studio",
			Base:         "cube-sandbox-int.tencentcloudcr.com/cube-sandbox/sandbox-code:latest",
			Platform:     "linux/amd64",
			Builder:      "docker",
			BuildArgs:    map[string]string{},
			HermesExtras: []string{"mcp"},
			WebUI:        WebUI{Version: "0.5.16"},
		},
		Template: Template{
			Name: "hermes-studio", CPU: 2000, Memory: 4096, WritableLayerSize: "20Gi",
			Nodes: []string{}, DNS: []string{},
			Egress: Egress{Internet: true, Allow: []string{}, Deny: []string{}},
		},
		Nodes:      []Node{},
		SharedRoot: "/data/shared",
		Sandbox: Sandbox{
			Timeout: Duration(15 * time.Minute), OnTimeout: "pause", AutoResume: true,
			Env: map[string]string{}, ModelEndpoints: []string{},
		},
		Skills: Skills{Source: "skills/public"},
	}
}
