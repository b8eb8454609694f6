package template

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"
)

var (
	aliasForm = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,63}$`)
	sizeForm  = regexp.MustCompile(`^[0-9]*\.?[0-9]+([KMGTPE]i|[kMGTPE])?$`)
)

// freePorts do not count among the exposed ports of which Cube takes three:
// 49983 since about 0.2, the others as measured.
var freePorts = []int{8080, 32000, 49983}

const (
	maxCustomPorts = 3
	maxNetworks    = 8192 // of each list, the built-in ones among the denied
)

// Check refuses what Cube would refuse, or take and fail with later. It asks
// nobody. The error wraps ErrSpec.
func (s Spec) Check() error {
	problem := first(
		s.checkImage(), s.checkName(), s.checkPorts(), s.checkProbe(), s.checkSizes(), s.checkDNS(), s.Egress.check(),
	)
	if problem != "" {
		return fmt.Errorf("%w: %s", ErrSpec, problem)
	}
	return nil
}

func first(problems ...string) string {
	for _, p := range problems {
		if p != "" {
			return p
		}
	}
	return ""
}

func (s Spec) checkImage() string {
	if err := checkReference(s.Image); err != nil {
		return fmt.Sprintf("image %q: %v; wanted is one such as registry.example.com/team/image@sha256:…", s.Image, err)
	}
	return ""
}

func (s Spec) checkName() string {
	switch {
	case s.Name == "":
		return ""
	case !aliasForm.MatchString(s.Name), strings.HasPrefix(s.Name, "tpl-"), strings.HasPrefix(s.Name, "snap-"):
		return fmt.Sprintf("name %q: wanted are at most 64 lower-case letters, digits and -, not beginning with -, tpl- or snap-", s.Name)
	}
	return ""
}

func (s Spec) checkPorts() string {
	var custom []int
	for _, port := range s.Ports {
		if !isPort(port) {
			return fmt.Sprintf("exposed port %d is not between 1 and 65535", port)
		}
		if !slices.Contains(freePorts, port) && !slices.Contains(custom, port) {
			custom = append(custom, port)
		}
	}
	if len(custom) > maxCustomPorts {
		return fmt.Sprintf("exposed ports %d are %d; Cube takes at most %d besides 49983", custom, len(custom), maxCustomPorts)
	}
	return ""
}

func isPort(n int) bool { return n > 0 && n <= 65535 }

func (s Spec) checkProbe() string {
	switch {
	case s.Probe == nil:
		return ""
	case !isPort(s.Probe.Port):
		return fmt.Sprintf("probe port %d is not between 1 and 65535", s.Probe.Port)
	case strings.ContainsFunc(s.Probe.Path, isBlank):
		return fmt.Sprintf("probe path %q has a blank in it", s.Probe.Path)
	}
	return ""
}

func (s Spec) checkSizes() string {
	switch {
	case s.CPU < 0:
		return fmt.Sprintf("cpu %d is less than nothing", s.CPU)
	case s.Memory < 0:
		return fmt.Sprintf("memory %d is less than nothing", s.Memory)
	case !sizeForm.MatchString(s.WritableLayerSize):
		return fmt.Sprintf("writable layer size %q: wanted is a size such as 20Gi", s.WritableLayerSize)
	}
	return ""
}

func (s Spec) checkDNS() string {
	for _, server := range s.DNS {
		if _, err := netip.ParseAddr(server); err != nil {
			return fmt.Sprintf("resolver %q is no address such as 10.0.0.2", server)
		}
	}
	return ""
}

func isBlank(r rune) bool { return r <= ' ' || r == 0x7f }
