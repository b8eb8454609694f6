package template

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hermesbox/hermesbox/internal/cube"
)

// Find looks for a READY template that is what a spec wants. Where there is
// none, the reason says why the nearest one is not.
func (c *Client) Find(ctx context.Context, s Spec) (found Summary, ok bool, reason string, err error) {
	all, err := c.Cube.Templates(ctx)
	if err != nil {
		return Summary{}, false, "", fmt.Errorf("listing templates: %w", err)
	}
	return c.findAmong(ctx, all, s)
}

func (c *Client) findAmong(ctx context.Context, all []cube.Template, s Spec) (found Summary, ok bool, reason string, err error) {
	digest, err := s.Digest()
	if err != nil {
		return Summary{}, false, "", err
	}
	newestFirst(all)
	for _, t := range all {
		if t.Status != cube.StatusReady || !mayHold(t, s) {
			continue
		}
		difference, err := c.compare(ctx, t, s, digest)
		switch {
		case errors.Is(err, cube.ErrNotFound):
			continue // deleted meanwhile
		case err != nil:
			return Summary{}, false, "", err
		case difference == "":
			return summary(t), true, "", nil
		case reason == "":
			reason = "template " + t.ID + difference
		}
	}
	if reason == "" {
		reason = "no READY template has the image " + s.pinned()
	}
	return Summary{}, false, reason, nil
}

// mayHold tells whether a listed template can be the wanted one: of its name,
// and of its image as far as the list tells.
func mayHold(t cube.Template, s Spec) bool {
	if t.Name != "" && s.Name != "" && !Named(t.Name, s.Name) {
		return false
	}
	return t.ImageInfo == "" || s.isImage(t.ImageInfo)
}

// isImage compares what Cube lists, a reference and, where that has none, the
// digest it had when it was pulled, with the wanted one.
func (s Spec) isImage(listed string) bool {
	if listed == s.Image {
		return true // being pulled, or pinned
	}
	digest, ok := strings.CutPrefix(listed, s.Image+"@")
	return ok && (s.ImageDigest == "" || s.ImageDigest == digest)
}

// compare says how a template differs from what is wanted, as the end of a
// sentence; empty where it does not. The digest in the annotation decides, the
// stored request where Cube does not keep it.
func (c *Client) compare(ctx context.Context, listed cube.Template, s Spec, digest string) (string, error) {
	full, err := c.Cube.GetTemplate(ctx, listed.ID, true)
	if err != nil {
		return "", fmt.Errorf("reading template %s: %w", listed.ID, err)
	}
	r := full.Request
	if r == nil {
		return " has this image, but Cube does not tell what it was made with", nil
	}
	if kept := r.Annotation(Annotation); kept != "" {
		if kept == digest {
			return "", nil
		}
		return or(differs(r, s), " was made with another specification"), nil
	}
	if listed.ImageInfo == "" || listed.ImageInfo == s.Image && s.ImageDigest != "" {
		return " has no specification annotation, and Cube does not tell its image", nil
	}
	return differs(r, s), nil
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// differs compares a stored request, which Cube has filled up from the image
// and its defaults, with what a spec says; nodes are not stored.
func differs(r *cube.CreateRequest, s Spec) string {
	if !storedEgress(r.Network()).same(s.Egress) {
		return " has another outbound policy"
	}
	if !samePorts(r.Ports(), s.Ports) {
		return fmt.Sprintf(" exposes the ports %d, not %d", r.Ports(), sorted(s.Ports, func(a, b int) int { return a - b }))
	}
	if len(r.Containers) == 0 {
		return " has no container that could be compared"
	}
	return differsContainer(r.Containers[0], s)
}

func differsContainer(c cube.Container, s Spec) string {
	want := *cube.NewResources(orDefault(s.CPU), orDefault(s.Memory))
	var dns []string
	if c.DNS != nil {
		dns = c.DNS.Servers
	}
	switch {
	case c.Resources == nil || *c.Resources != want:
		return " has another size of CPU or memory"
	case c.Image.WritableLayerSize != s.WritableLayerSize:
		return " has a writable layer of " + c.Image.WritableLayerSize
	case !slices.Equal(dns, s.DNS):
		return " has other resolvers"
	case len(s.Command) > 0 && !slices.Equal(c.Command, s.Command), len(s.Args) > 0 && !slices.Equal(c.Args, s.Args):
		return " starts another command"
	case probeOf(c.Probe) != probeOf(s.Probe):
		return " was probed in another way"
	}
	return ""
}

func probeOf(p *cube.Probe) string {
	if p == nil {
		return ""
	}
	return probeText(p)
}

// samePorts leaves 49983 out, which newer versions expose unasked.
func samePorts(stored, wanted []int) bool {
	custom := func(ports []int) []int {
		return slices.DeleteFunc(sorted(ports, func(a, b int) int { return a - b }), func(p int) bool { return p == 49983 })
	}
	return slices.Equal(custom(stored), custom(wanted))
}
