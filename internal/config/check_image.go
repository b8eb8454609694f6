package config

import (
	"regexp"
	"slices"
	"strings"
)

var (
	platform = regexp.MustCompile(`^[a-z0-9]+/[a-z0-9_]+(/[a-z0-9]+)?$`)
	// buildkitd is the address of a BuildKit daemon.
	buildkitd = regexp.MustCompile(`^(tcp://[^\s/@]+:[0-9]{1,5}|unix:///[^\s]+)$`)
	// sshHost is [user@]host[:port]. Nothing in it can be taken for an option
	// of a command.
	sshHost   = regexp.MustCompile(`^([A-Za-z0-9_][A-Za-z0-9._-]*@)?([A-Za-z0-9][A-Za-z0-9.-]*|\[[0-9A-Fa-f:.]+(%[A-Za-z0-9.-]+)?\])(:[0-9]{1,5})?$`)
	extra     = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$`)
	version   = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z.+-]*$`)
	reference = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z._:/@-]*$`)
	envName   = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

func checkImage(c Image) []finding {
	return slices.Concat(
		matches(reference, "image.name", c.Name, "a repository such as registry.example.com/team/hermes-studio"),
		unless(c.Base == "" || reference.MatchString(c.Base), "image.base", c.Base, "an image reference"),
		matches(platform, "image.platform", c.Platform, "one os/arch such as linux/amd64"),
		unless(isBuilder(c.Builder), "image.builder", c.Builder,
			"docker, ssh://[user@]host[:port], tcp://host:port or unix:///path"),
		checkNames("image.build_args", c.BuildArgs),
		each("image.hermes_extras", c.HermesExtras, func(key, value string) []finding {
			return matches(extra, key, value, "the name of an extra such as mcp")
		}),
		matches(version, "image.web_ui.version", c.WebUI.Version, "a version such as 0.5.16"),
	)
}

// isBuilder tells whether s names a builder.
func isBuilder(s string) bool {
	if host, ok := strings.CutPrefix(s, "ssh://"); ok {
		return isSSH(host)
	}
	return s == "docker" || buildkitd.MatchString(s)
}

// isSSH tells whether s is [user@]host[:port] with a possible port.
func isSSH(s string) bool {
	m := sshHost.FindStringSubmatch(s)
	return m != nil && (m[4] == "" || isPort(m[4][1:]))
}

// checkNames wants names that an environment can carry, and values that it
// can.
func checkNames(key string, values map[string]string) []finding {
	var all []finding
	for _, name := range sortedNames(values) {
		if !envName.MatchString(name) {
			all = append(all, finding{key: key, problem: "wanted a name of letters, digits and _, got " + quoted(name)})
		}
		if strings.ContainsRune(values[name], 0) {
			all = append(all, finding{key: join(key, name), problem: "a value cannot hold a NUL byte"})
		}
	}
	return all
}
