package cube

import (
	"slices"
	"strconv"
	"strings"
)

// CreateRequest is what sandboxes of a template are created with, as Cube
// stores it: the template request filled up from the image. The token that
// downloads the image from CubeMaster is not read.
type CreateRequest struct {
	InstanceType string            `json:"instance_type,omitempty"`
	NetworkType  string            `json:"network_type,omitempty"`
	Annotations  map[string]string `json:"annotations,omitempty"`
	Containers   []Container       `json:"containers,omitempty"`
	// The two spellings; [CreateRequest.Network] has the one that is there.
	OldNetwork *Network `json:"cubevs_context,omitempty"`
	NewNetwork *Network `json:"cube_network_config,omitempty"`
}

// Container is the one container of a sandbox.
type Container struct {
	Image       ContainerImage    `json:"image,omitzero"`
	Command     []string          `json:"command,omitempty"`
	Args        []string          `json:"args,omitempty"`
	WorkingDir  string            `json:"working_dir,omitempty"`
	Env         []EnvVar          `json:"envs,omitempty"`
	DNS         *DNS              `json:"dns_config,omitempty"`
	Resources   *Resources        `json:"resources,omitempty"`
	Probe       *Probe            `json:"probe,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// ContainerImage is the root file system that was made of the image.
type ContainerImage struct {
	Image             string `json:"image"`
	WritableLayerSize string `json:"writable_layer_size,omitempty"`
}

// Network is the network of whichever spelling this version has; nil where
// nothing was said.
func (r *CreateRequest) Network() *Network { return first(r.NewNetwork, r.OldNetwork) }

// Annotation finds an annotation of the template request, wherever this
// version keeps it; empty where it does not.
func (r *CreateRequest) Annotation(name string) string {
	for _, c := range r.Containers {
		if v := c.Annotations[name]; v != "" {
			return v
		}
	}
	return r.Annotations[name]
}

// Ports are the exposed ports, ascending.
func (r *CreateRequest) Ports() []int {
	var out []int
	for text := range strings.SplitSeq(r.Annotations["com.exposed_ports"], ":") {
		if port, err := strconv.Atoi(text); err == nil {
			out = append(out, port)
		}
	}
	slices.Sort(out)
	return out
}
