package cluster

import (
	"regexp"
	"slices"
	"strings"
)

// TemplateSpec is a request for a template from an image.
type TemplateSpec struct {
	ID           string // honoured under [GivenID] only
	Alias        string
	Image        string
	Size         string // of the writable layer, for the record: Docker sets no bound
	InstanceType string
	NetworkType  string
	Network      *Network
	NetworkKey   string // the spelling that the request used
	Ports        []int
	Scope        []string
	Overrides    Overrides
	Username     string
	Password     string
	// Body is the request without its id, to tell a repeated request from another one.
	Body string
}

// Overrides are the container settings that a request may set, in CubeMaster's JSON.
type Overrides struct {
	Command     []string          `json:"command,omitempty"`
	Args        []string          `json:"args,omitempty"`
	WorkingDir  string            `json:"working_dir,omitempty"`
	Envs        []Env             `json:"envs,omitempty"`
	DNS         *DNSConfig        `json:"dns_config,omitempty"`
	Resources   *Resources        `json:"resources,omitempty"`
	Probe       *Probe            `json:"probe,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
	Mounts      []VolumeMount     `json:"volume_mounts,omitempty"`
}

// Env is one variable of the image's environment.
type Env struct {
	Key   string `json:"key,omitempty"`
	Value string `json:"value,omitempty"`
}

// DNSConfig names the resolvers of a sandbox.
type DNSConfig struct {
	Servers []string `json:"servers,omitempty"`
}

// Resources are CPU and memory as Kubernetes quantities.
type Resources struct {
	CPU string `json:"cpu,omitempty"`
	Mem string `json:"mem,omitempty"`
}

// VolumeMount is a volume of the node in a container.
type VolumeMount struct {
	Name          string `json:"name,omitempty"`
	ContainerPath string `json:"container_path,omitempty"`
}

// Probe is the request that must succeed before a template is READY.
type Probe struct {
	Handler          ProbeHandler `json:"probe_handler"`
	TimeoutMS        int          `json:"timeout_ms,omitempty"`
	PeriodMS         int          `json:"period_ms,omitempty"`
	SuccessThreshold int          `json:"success_threshold,omitempty"`
	FailureThreshold int          `json:"failure_threshold,omitempty"`
}

// ProbeHandler says how to probe; only HTTP is known.
type ProbeHandler struct {
	HTTPGet *HTTPGet `json:"http_get,omitempty"`
}

// HTTPGet is a GET that must answer 2xx.
type HTTPGet struct {
	Path string `json:"path,omitempty"`
	Port int    `json:"port,omitempty"`
	Host string `json:"host,omitempty"`
}

// freePorts do not count as custom: 49983 is always there, the others as measured.
var freePorts = []int{8080, 32000, EnvdPort}

// EnvdPort is where the command service listens.
const EnvdPort = 49983

const maxCustomPorts = 3

var aliasForm = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,63}$`)

// check refuses what CubeMaster refuses on submission, in its order and words.
func (s *TemplateSpec) check() error {
	switch {
	case strings.TrimSpace(s.Image) == "":
		return fault(CodeParams, "source_image_ref is required")
	case strings.TrimSpace(s.Size) == "":
		return fault(CodeParams, "writable_layer_size is required")
	}
	if err := s.checkPorts(); err != nil {
		return err
	}
	if err := checkAlias(s.Alias); err != nil {
		return err
	}
	return s.Network.check()
}

func (s *TemplateSpec) checkPorts() error {
	for _, port := range s.Ports {
		if port < 1 || port > 65535 {
			return fault(CodeParams, "invalid exposed port %d", port)
		}
	}
	s.Ports = slices.Compact(slices.Sorted(slices.Values(s.Ports)))
	custom := slices.DeleteFunc(slices.Clone(s.Ports), func(p int) bool { return slices.Contains(freePorts, p) })
	if len(custom) > maxCustomPorts {
		return fault(CodeParams, "at most %d custom exposed ports are supported", maxCustomPorts)
	}
	return nil
}

func checkAlias(alias string) error {
	switch {
	case alias == "":
		return nil
	case strings.HasPrefix(alias, "tpl-"), strings.HasPrefix(alias, "snap-"):
		return fault(CodeParams, "alias %q must not start with 'tpl-' or 'snap-'", alias)
	case !aliasForm.MatchString(alias):
		return fault(CodeParams, "alias %q is invalid: must match %s (lowercase alphanumeric and hyphens, max 64 chars)", alias, aliasForm)
	}
	return nil
}
