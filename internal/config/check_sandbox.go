package config

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"time"
)

// id is the form of home and workspace ids.
var id = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,62}$`)

// CheckID says what is wrong with a home-id or workspace-id, "" for nothing.
func CheckID(s string) (problem string) {
	switch {
	case s == "default":
		return `the id "default" is reserved for the home that others are made from`
	case !id.MatchString(s):
		return "wanted an id of at most 63 lower-case letters, digits, . _ and -, beginning with a letter or digit, got " + quoted(s)
	}
	return ""
}

func checkSandbox(c Sandbox) []finding {
	idle := c.Timeout.Std()
	return slices.Concat(
		checkID("sandbox.home", c.Home),
		checkID("sandbox.workspace", c.Workspace),
		unless(idle >= time.Second && idle%time.Second == 0, "sandbox.timeout", c.Timeout.String(),
			"whole seconds, at least 1s"),
		oneOf("sandbox.on_timeout", c.OnTimeout, "pause", "kill"),
		checkNames("sandbox.env", c.Env),
		each("sandbox.model_endpoints", c.ModelEndpoints, func(key, value string) []finding {
			return unless(isWebURL(value), key, value,
				"an address such as http://10.0.0.7:8000/v1, without user and password")
		}),
	)
}

func checkID(key, value string) []finding {
	if value == "" {
		return nil
	}
	if problem := CheckID(value); problem != "" {
		return []finding{{key: key, problem: problem}}
	}
	return nil
}

func sortedNames(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }

func quoted(s string) string { return strconv.Quote(short(s)) }
