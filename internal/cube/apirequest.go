package cube

import (
	"strconv"
	"strings"
)

// apiTemplate is the body of CubeAPI's POST /templates, for both of its forms:
// newer versions read the fields below, the May version passes everything that
// it does not know on to CubeMaster, whose spellings are the embedded ones.
type apiTemplate struct {
	fromImage
	TemplateID       string   `json:"templateID"` // the May version insists on one
	Image            string   `json:"image"`
	Name             string   `json:"name,omitempty"`
	InstanceType     string   `json:"instanceType,omitempty"`
	NetworkType      string   `json:"networkType,omitempty"`
	Size             string   `json:"writableLayerSize,omitempty"`
	Ports            []int    `json:"exposedPorts,omitempty"`
	ProbePort        int      `json:"probePort,omitempty"`
	ProbePath        string   `json:"probePath,omitempty"`
	CPU              int      `json:"cpu,omitempty"`
	Memory           int      `json:"memory,omitempty"`
	Env              []string `json:"env,omitempty"`
	Command          []string `json:"command,omitempty"`
	Args             []string `json:"args,omitempty"`
	DNS              []string `json:"dns,omitempty"`
	Internet         *bool    `json:"allowInternetAccess,omitempty"`
	Allow            []string `json:"allowOut,omitempty"`
	Deny             []string `json:"denyOut,omitempty"`
	Nodes            []string `json:"nodes,omitempty"`
	RegistryUsername string   `json:"registryUsername,omitempty"`
	RegistryPassword string   `json:"registryPassword,omitempty"`
}

func (r TemplateRequest) forAPI() apiTemplate {
	old := r.fromImage()
	a := apiTemplate{
		TemplateID: first(r.ID, NewTemplateID()), Image: r.Image, Name: r.Name,
		InstanceType: old.InstanceType, NetworkType: old.NetworkType, Size: r.WritableLayerSize,
		Ports: r.ExposedPorts, Command: r.Command, Args: r.Args, DNS: r.DNS, Nodes: r.Nodes,
		RegistryUsername: r.RegistryUsername, RegistryPassword: r.RegistryPassword.Reveal(),
	}
	// CubeAPI sets these three itself; a second copy would contradict.
	old.RequestID, old.TemplateID, old.InstanceType = "", "", ""
	a.fromImage = old
	if n := old.NewNetwork; n != nil {
		a.Internet, a.Allow, a.Deny = n.Internet, n.Allow, n.Deny
	}
	if r.Probe != nil {
		a.ProbePort, a.ProbePath = r.Probe.Port, r.Probe.Path
	}
	if r.Resources != nil {
		a.CPU, a.Memory = quantity(r.Resources.CPU, "m"), quantity(r.Resources.Memory, "Mi")
	}
	for _, v := range r.Env {
		a.Env = append(a.Env, v.Key+"="+v.Value)
	}
	return a
}

// quantity is the number before the unit that [NewResources] writes.
func quantity(text, unit string) int {
	n, err := strconv.Atoi(strings.TrimSuffix(text, unit))
	if err != nil {
		return 0
	}
	return n
}
