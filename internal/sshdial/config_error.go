package sshdial

import "fmt"

// ConfigError is an ssh_config that cannot be followed: a line that OpenSSH
// would refuse, or a directive that would change the connection in a way that
// this package cannot.
type ConfigError struct {
	File string
	// Line is 0 where the fault is the file's.
	Line int
	// Directive is as written; empty where there is none.
	Directive string
	Reason    string
	// Unsupported: OpenSSH could follow it.
	Unsupported bool
}

// Error names file, line and directive.
func (e *ConfigError) Error() string {
	where := e.File
	if e.Line > 0 {
		where = fmt.Sprintf("%s:%d", e.File, e.Line)
	}
	if e.Directive != "" {
		where += ": " + e.Directive
	}
	return where + ": " + e.Reason
}
