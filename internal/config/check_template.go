package config

import (
	"fmt"
	"net/netip"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

var (
	// alias is CubeMaster's rule for a template's name.
	alias = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,63}$`)
	// quantity is a positive Kubernetes quantity of bytes.
	quantity = regexp.MustCompile(`^([0-9]*[1-9][0-9]*(\.[0-9]+)?|0*\.[0-9]*[1-9][0-9]*)([KMGTPE]i|[kMGTPE])?$`)
	nodeName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:-]*$`)
)

func checkTemplate(c Template) []finding {
	name := alias.MatchString(c.Name) && !strings.HasPrefix(c.Name, "tpl-") && !strings.HasPrefix(c.Name, "snap-")
	return slices.Concat(
		unless(name, "template.name", c.Name,
			"at most 64 lower-case letters, digits and -, not beginning with -, tpl- or snap-"),
		positive("template.cpu", c.CPU, "thousandths of a core, more than 0"),
		positive("template.memory", c.Memory, "MiB, more than 0"),
		matches(quantity, "template.writable_layer_size", c.WritableLayerSize, "a size such as 20Gi"),
		each("template.nodes", c.Nodes, func(key, value string) []finding {
			return matches(nodeName, key, value, "a node's name or address")
		}),
		each("template.dns", c.DNS, func(key, value string) []finding {
			_, err := netip.ParseAddr(value)
			return unless(err == nil, key, value, "the address of a resolver such as 10.0.0.2")
		}),
	)
}

func positive(key string, value int, wanted string) []finding {
	return unless(value > 0, key, strconv.Itoa(value), wanted)
}

// checkNodes wants names that tell nodes apart and addresses to reach them.
func checkNodes(nodes []Node) []finding {
	var all []finding
	seen := map[string]bool{}
	for i, n := range nodes {
		key := fmt.Sprintf("nodes[%d]", i)
		all = append(all, matches(nodeName, key+".name", n.Name, "a name such as node-1")...)
		all = append(all, unless(!seen[n.Name], key+".name", n.Name, "a name that no other node has")...)
		all = append(all, unless(isSSH(n.SSH), key+".ssh", n.SSH, "[user@]host[:port] such as root@10.0.0.5")...)
		all = append(all, unless(!strings.ContainsAny(n.Become, "\n\r\x00"), key+".become", n.Become, `a command such as "sudo -n"`)...)
		seen[n.Name] = true
	}
	return all
}

func checkSharedRoot(root string) []finding {
	holds := path.IsAbs(root) && path.Clean(root) == root && root != "/" && !strings.ContainsAny(root, "\n\r\x00")
	return unless(holds, "shared_root", root, "an absolute path such as /data/shared, without . or .. in it")
}
