package cube

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// TemplateRequest is a template to be made from an image. What goes over the
// wire is, for equal input, what cubemastercli sends, plus Annotations, Name
// and the network object in its second spelling. Nothing is checked here.
type TemplateRequest struct {
	// ID is honoured by the May version only; later ones make their own, which
	// the job names.
	ID string
	// Name is the alias, since Cube 0.6.0.
	Name  string
	Image string
	// WritableLayerSize is a quantity such as 20Gi.
	WritableLayerSize string
	RegistryUsername  string
	RegistryPassword  Secret
	// InstanceType and NetworkType are cubebox and tap where empty.
	InstanceType, NetworkType string
	ExposedPorts              []int
	Network                   *Network
	// Nodes are ids or addresses; empty is all.
	Nodes []string
	// Command is the entry point, Args its arguments; empty are the image's.
	Command, Args []string
	// Env replaces the image's environment, it is not merged.
	Env       []EnvVar
	DNS       []string
	Probe     *Probe
	Resources *Resources
	// Annotations travel in container_overrides.
	Annotations map[string]string
}

// EnvVar is one variable.
type EnvVar struct {
	Key   string `json:"key,omitempty"`
	Value string `json:"value,omitempty"`
}

// DNS lists the resolvers of a sandbox.
type DNS struct {
	Servers []string `json:"servers,omitempty"`
}

// Resources are quantities, such as 2000m and 2000Mi.
type Resources struct {
	CPU    string `json:"cpu"`
	Memory string `json:"mem"`
}

// NewResources writes millicores and MiB as Cube does.
func NewResources(cpuMilli, memoryMiB int) *Resources {
	return &Resources{CPU: strconv.Itoa(cpuMilli) + "m", Memory: strconv.Itoa(memoryMiB) + "Mi"}
}

// Probe is the HTTP request that must be answered with 2xx before a template
// is READY. It tries every 0.5 s, 60 times, 30 s each, as cubemastercli says.
type Probe struct {
	Port int
	Path string
}

type probeWire struct {
	Handler struct {
		HTTPGet struct {
			Path string `json:"path"`
			Port int    `json:"port"`
			Host string `json:"host"`
		} `json:"http_get"`
	} `json:"probe_handler"`
	TimeoutMS        int `json:"timeout_ms"`
	PeriodMS         int `json:"period_ms"`
	SuccessThreshold int `json:"success_threshold"`
	FailureThreshold int `json:"failure_threshold"`
}

// MarshalJSON writes Cube's form.
func (p Probe) MarshalJSON() ([]byte, error) {
	w := probeWire{TimeoutMS: 30000, PeriodMS: 500, SuccessThreshold: 1, FailureThreshold: 60}
	w.Handler.HTTPGet.Path, w.Handler.HTTPGet.Port = p.Path, p.Port
	return json.Marshal(w)
}

// UnmarshalJSON reads Cube's form.
func (p *Probe) UnmarshalJSON(text []byte) error {
	var w probeWire
	if err := json.Unmarshal(text, &w); err != nil {
		return fmt.Errorf("reading a probe: %w", err)
	}
	*p = Probe{w.Handler.HTTPGet.Port, w.Handler.HTTPGet.Path}
	return nil
}

// fromImage is the body of CubeMaster's from-image route.
type fromImage struct {
	RequestID         string     `json:"requestID,omitempty"`
	Image             string     `json:"source_image_ref"`
	RegistryUsername  string     `json:"registry_username,omitempty"`
	RegistryPassword  string     `json:"registry_password,omitempty"`
	TemplateID        string     `json:"template_id,omitempty"`
	Alias             string     `json:"alias,omitempty"`
	InstanceType      string     `json:"instance_type,omitempty"`
	NetworkType       string     `json:"network_type,omitempty"`
	OldNetwork        *Network   `json:"cubevs_context,omitempty"`
	NewNetwork        *Network   `json:"cube_network_config,omitempty"`
	WritableLayerSize string     `json:"writable_layer_size"`
	ExposedPorts      []int      `json:"exposed_ports,omitempty"`
	Nodes             []string   `json:"distribution_scope,omitempty"`
	Overrides         *overrides `json:"container_overrides,omitempty"`
}

type overrides struct {
	Command     []string          `json:"command,omitempty"`
	Args        []string          `json:"args,omitempty"`
	Env         []EnvVar          `json:"envs,omitempty"`
	DNS         *DNS              `json:"dns_config,omitempty"`
	Resources   *Resources        `json:"resources,omitempty"`
	Probe       *Probe            `json:"probe,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

func (r TemplateRequest) fromImage() fromImage {
	network := r.Network.clean()
	return fromImage{
		RequestID: requestID(), Image: r.Image,
		RegistryUsername: r.RegistryUsername, RegistryPassword: r.RegistryPassword.Reveal(),
		TemplateID: r.ID, Alias: r.Name,
		InstanceType: first(r.InstanceType, "cubebox"), NetworkType: first(r.NetworkType, "tap"),
		OldNetwork: network, NewNetwork: network,
		WritableLayerSize: r.WritableLayerSize, ExposedPorts: r.ExposedPorts, Nodes: r.Nodes,
		Overrides: r.overrides(),
	}
}

func (r TemplateRequest) overrides() *overrides {
	o := overrides{
		Command: r.Command, Args: r.Args, Env: r.Env, Resources: r.Resources, Probe: r.Probe, Annotations: r.Annotations,
	}
	if len(r.DNS) > 0 {
		o.DNS = &DNS{r.DNS}
	}
	if len(o.Command)+len(o.Args)+len(o.Env)+len(o.Annotations) == 0 && o.DNS == nil && o.Resources == nil && o.Probe == nil {
		return nil
	}
	return &o
}

// secrets are the values that no error may show.
func (r TemplateRequest) secrets() []string {
	env := map[string]string{}
	for _, v := range r.Env {
		env[v.Key] = v.Value
	}
	return append(secretsOf(env), r.RegistryPassword.Reveal())
}
