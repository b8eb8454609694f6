package sshdial

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// maxIncludes is how deep OpenSSH lets Include go.
const maxIncludes = 16

// option is a directive that applies to the host.
type option struct {
	name string // as written
	args []string
	file string
	line int
}

// fault makes an error of the directive.
func (o option) fault(reason string) *ConfigError {
	return &ConfigError{File: o.file, Line: o.line, Directive: o.name, Reason: reason}
}

// unsupported makes an error of a directive that OpenSSH could follow.
func (o option) unsupported() *ConfigError {
	err := o.fault("it would change the connection, and hermesbox does not follow it")
	err.Unsupported = true
	return err
}

// configReader collects the directives that apply to one host. As in OpenSSH
// the first value of a directive holds, whatever comes later.
type configReader struct {
	host string // as the user wrote it
	home string
	opts map[string][]option // by lower-case name
}

// configFile is a file being read.
type configFile struct {
	path string
	// dir is where relative Includes are.
	dir string
	// owned: others must not be able to write to it.
	owned bool
	// system: it is of the machine, not the user's.
	system bool
	depth  int
}

// read reads a file; active is whether its first lines apply.
func (r *configReader) read(f configFile, active bool) error {
	if f.depth > maxIncludes {
		return &ConfigError{File: f.path, Reason: "too many recursive includes"}
	}
	data, err := readConfigFile(f)
	if err != nil {
		return err
	}
	never := !active
	for i, line := range strings.Split(string(data), "\n") {
		o := option{file: f.path, line: i + 1}
		if err := r.line(f, line, o, &active, never); err != nil {
			return err
		}
	}
	return nil
}

func readConfigFile(f configFile) ([]byte, error) {
	info, err := os.Stat(f.path)
	if err != nil {
		return nil, &fileError{f.path, err}
	}
	if !info.Mode().IsRegular() && f.path != os.DevNull {
		return nil, &ConfigError{File: f.path, Reason: "it is not a regular file"}
	}
	if f.owned && !trusted(info) {
		return nil, &ConfigError{File: f.path, Reason: fmt.Sprintf("bad owner or permissions %04o: others than its owner could change it", info.Mode().Perm())}
	}
	data, err := os.ReadFile(f.path)
	if err != nil {
		return nil, &fileError{f.path, err}
	}
	return data, nil
}

// fileError is a configuration file that cannot be read.
type fileError struct {
	path string
	err  error
}

func (e *fileError) Error() string { return e.path + ": " + reasonOf(e.err) }
func (e *fileError) Unwrap() error { return e.err }

// reasonOf is an error of the file system without the path that the caller names.
func reasonOf(err error) string {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		return pathErr.Err.Error()
	}
	return err.Error()
}

// trusted tells whether nobody but root and the user can write to the file.
func trusted(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return true
	}
	return (stat.Uid == 0 || int(stat.Uid) == os.Getuid()) && info.Mode().Perm()&0o022 == 0
}

// line reads one line. never: the file was included where nothing applies, so
// no Host line in it does.
func (r *configReader) line(f configFile, line string, o option, active *bool, never bool) error {
	word, rest, err := keyword(line)
	if err != nil {
		return o.fault(err.Error())
	}
	if word == "" {
		return nil
	}
	o.name = word
	name := strings.ToLower(word)
	if rest == "" {
		return o.fault("an argument is missing")
	}
	d, known := lookUp(name)
	if !known {
		return r.unknown(name, o)
	}
	if d.rest {
		o.args = []string{rest}
	} else if o.args, err = arguments(rest); err != nil {
		return o.fault(err.Error())
	}
	if len(o.args) == 0 {
		return o.fault("an argument is missing")
	}
	switch name {
	case "host":
		*active = !never && matchAny(r.host, o.args)
		return nil
	case "match":
		if !f.system || !matchesAll(o.args) {
			return o.unsupported()
		}
		*active = !never
		return nil
	case "include":
		return r.include(f, o, *active)
	}
	if reason := d.fault(o.args); reason != "" {
		return o.fault(reason)
	}
	if *active {
		r.keep(name, d, o)
	}
	return nil
}

// matchesAll tells whether a Match says nothing but "all". Distributions put
// their lists of algorithms into one, to come after what users say: in the
// system's file, which is read last, it comes there anyway.
func matchesAll(args []string) bool {
	words := strings.ToLower(strings.Join(args, " "))
	return words == "all" || words == "final all"
}

// keep remembers a directive, or adds to it where it is a list.
func (r *configReader) keep(name string, d directive, o option) {
	name = d.named(name)
	if len(r.opts[name]) == 0 || d.many {
		r.opts[name] = append(r.opts[name], o)
	}
}

func (r *configReader) unknown(name string, o option) error {
	for _, ignored := range r.opts["ignoreunknown"] {
		if matchAny(name, strings.Split(strings.ToLower(ignored.args[0]), ",")) {
			return nil
		}
	}
	return o.fault("bad configuration option")
}

func (r *configReader) include(f configFile, o option, active bool) error {
	for _, arg := range o.args {
		pattern, err := expandHome(arg, r.home)
		if err != nil {
			return o.fault(err.Error())
		}
		if !filepath.IsAbs(pattern) {
			pattern = filepath.Join(f.dir, pattern)
		}
		paths, err := filepath.Glob(pattern)
		if err != nil {
			return o.fault(fmt.Sprintf("%q is no pattern for files", arg))
		}
		slices.Sort(paths)
		for _, path := range paths {
			included := configFile{path: path, dir: f.dir, owned: true, system: f.system, depth: f.depth + 1}
			if err := r.included(included, active, o); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *configReader) included(f configFile, active bool, o option) error {
	err := r.read(f, active)
	var unreadable *fileError
	if errors.As(err, &unreadable) {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // a link that dangles: OpenSSH goes on too
		}
		return o.fault(unreadable.Error())
	}
	return err
}
