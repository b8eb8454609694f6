package template

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/hermesbox/hermesbox/internal/cube"
)

// ErrSpec means that a value of a Spec cannot be used; the text names it.
var ErrSpec = errors.New("unusable template")

// Annotation carries a spec's digest in the template's container overrides.
const Annotation = "hermesbox.spec"

// Spec is the template that is wanted. A zero field is left to Cube and not sent.
type Spec struct {
	Name  string // alias, since Cube 0.6.0
	Image string // reference that Cube can pull
	// ImageDigest is what Image stands for now, where it is a tag and a registry told.
	ImageDigest string
	Egress      Egress
	Ports       []int // exposed
	Probe       *cube.Probe
	CPU         int // thousandths of a core
	Memory      int // MiB
	// WritableLayerSize is a quantity such as 20Gi; Cube insists on it.
	WritableLayerSize string
	Nodes             []string // ids or addresses; empty is all
	DNS               []string // resolvers' addresses
	Command, Args     []string // empty: the image's
}

// cubeResource is what Cube takes for the CPU and the memory where only the
// other one is said, or none: thousandths of a core, and MiB.
const cubeResource = 2000

// identity is what the digest covers: everything that decides what sandboxes
// of the template are. The name is not among it.
type identity struct {
	Version  int            `json:"version"`
	Image    string         `json:"image"`
	Internet bool           `json:"internet"`
	Allow    []netip.Prefix `json:"allow"`
	Deny     []netip.Prefix `json:"deny"`
	Ports    []int          `json:"ports"`
	Probe    string         `json:"probe"`
	CPU      int            `json:"cpu"`
	Memory   int            `json:"memory"`
	Size     string         `json:"writable_layer_size"`
	Nodes    []string       `json:"nodes"`
	DNS      []string       `json:"dns"`
	Command  []string       `json:"command"`
	Args     []string       `json:"args"`
}

// Digest is "sha256:" and the hex sha256 over all that makes the template what
// it is, its name apart. Order and doubles of networks, ports and nodes do not
// count, nor whether a default was spelled out.
func (s Spec) Digest() (string, error) {
	id := identity{
		Version: 1, Image: s.pinned(), Internet: s.Egress.Internet(),
		Allow: sorted(s.Egress.Allow, netip.Prefix.Compare), Deny: sorted(s.Egress.Deny, netip.Prefix.Compare),
		Ports: sorted(s.Ports, func(a, b int) int { return a - b }), CPU: orDefault(s.CPU), Memory: orDefault(s.Memory),
		Size: s.WritableLayerSize, Nodes: sorted(s.Nodes, strings.Compare), DNS: s.DNS, Command: s.Command, Args: s.Args,
	}
	if s.Probe != nil {
		id.Probe = fmt.Sprintf("%d%s", s.Probe.Port, s.Probe.Path)
	}
	content, err := json.Marshal(id)
	if err != nil {
		return "", fmt.Errorf("hashing the template's spec: %w", err)
	}
	sum := sha256.Sum256(content)
	return "sha256:" + hex.EncodeToString(sum[:]), nil
}

// pinned is the image by what it stands for now.
func (s Spec) pinned() string {
	if s.ImageDigest == "" {
		return s.Image
	}
	return s.Image + "@" + s.ImageDigest
}

// sorted is a sorted copy of a list without doubles; empty and nil are the same.
func sorted[T any](list []T, compare func(a, b T) int) []T {
	out := slices.SortedFunc(slices.Values(list), compare)
	return slices.CompactFunc(out, func(a, b T) bool { return compare(a, b) == 0 })
}

func orDefault(n int) int {
	if n == 0 {
		return cubeResource
	}
	return n
}

// request is what Cube is asked for.
func (s Spec) request(digest string) cube.TemplateRequest {
	r := cube.TemplateRequest{
		Name: s.Name, Image: s.Image, WritableLayerSize: s.WritableLayerSize, ExposedPorts: s.Ports, Network: s.Egress.network(),
		Nodes: s.Nodes, DNS: s.DNS, Command: s.Command, Args: s.Args, Probe: s.Probe, Annotations: map[string]string{Annotation: digest},
	}
	if s.CPU != 0 || s.Memory != 0 {
		r.Resources = cube.NewResources(orDefault(s.CPU), orDefault(s.Memory))
	}
	return r
}
