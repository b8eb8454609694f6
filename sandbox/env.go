package sandbox

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// Bounds of Cube for environment variables.
const (
	envNameLimit  = 256
	envValueLimit = 4096
)

var envName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// forbidden are the names that Cube refuses, in capitals: they make programs
// load other code. DYLD_ is a prefix.
var forbidden = []string{
	"BASH_ENV", "ENV", "LD_PRELOAD", "LD_AUDIT", "LD_LIBRARY_PATH", "LD_ORIGIN_PATH", "GCONV_PATH", "PATH", "PYTHONPATH",
	"NODE_PATH", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "GEM_PATH", "RUBYOPT", "RUBYLIB", "PERL5LIB", "PERLLIB", "CLASSPATH", "IFS",
}

// fixed are the names that the launcher sets itself and nobody else.
var fixed = []string{"HOME", "HERMES_HOME", "HERMES_BIN", "PORT", "BIND_HOST", "PPID", "UID", "EUID", "BASHOPTS", "SHELLOPTS"}

// CheckEnv refuses overrides that could not take effect. It names the variable,
// never its value. The error wraps [ErrSpec].
func CheckEnv(env map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(env)) {
		if problem := envProblem(name, env[name]); problem != "" {
			return fmt.Errorf("%w: environment variable %q: %s", ErrSpec, name, problem)
		}
	}
	return nil
}

func envProblem(name, value string) string {
	upper := strings.ToUpper(name)
	switch {
	case !envName.MatchString(name), len(name) > envNameLimit:
		return fmt.Sprintf("its name must be letters, digits and _, not begin with a digit, and have at most %d", envNameLimit)
	case slices.Contains(forbidden, upper), strings.HasPrefix(upper, "DYLD_"):
		return "Cube forbids this name, because it makes programs load other code"
	case slices.Contains(fixed, name):
		return "it is fixed in a sandbox of Hermes Studio"
	case len(value) > envValueLimit:
		return fmt.Sprintf("its value is longer than %d bytes, which is all that Cube allows", envValueLimit)
	case strings.ContainsFunc(value, unicode.IsControl):
		return "its value has a line end or another control character, which Cube does not allow"
	}
	return ""
}
