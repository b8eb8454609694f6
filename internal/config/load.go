package config

import (
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
)

// Options says where configuration comes from. The zero value reads
// hermesbox.yaml upwards from the working directory and no environment.
type Options struct {
	// WorkDir is the working directory, "" the process's.
	WorkDir string
	// Path is a configuration file to read instead of looking for one,
	// relative to WorkDir.
	Path string
	// Getenv reads the environment.
	Getenv func(string) string
	// Set are flags, the strongest layer; a later one wins.
	Set []Override
}

// Loaded is a configuration that passed every check.
type Loaded struct {
	// Config is the result. Paths in it are relative to Options.WorkDir or
	// absolute.
	Config Config
	// Path is the hermesbox.yaml used, relative to Options.WorkDir where that
	// is possible; "" is none.
	Path string
	// Origin says for each dotted key where its value came from: "default",
	// "hermesbox.yaml:12", the name of an environment variable, or a flag.
	// Entries have an origin too: "image.build_args.NAME", "nodes[0].ssh".
	Origin map[string]string
}

// Load reads all layers and checks the result. A wrong configuration is an
// *Error, which always has a hint.
func Load(opts Options) (*Loaded, error) {
	path, err := locate(opts)
	if err != nil {
		return nil, err
	}
	l := &Loaded{Config: Default(), Path: path, Origin: map[string]string{}}
	for _, leaf := range leaves(reflect.ValueOf(&l.Config).Elem(), "") {
		l.Origin[leaf.key] = "default"
	}
	if err := l.layers(opts); err != nil {
		return nil, withHint(err)
	}
	return l, nil
}

// layers lays everything over the defaults and checks the result.
func (l *Loaded) layers(opts Options) error {
	if l.Path != "" {
		if err := l.readFile(opts.WorkDir); err != nil {
			return err
		}
	}
	if opts.Getenv != nil {
		if err := setEnv(&l.Config, l.Origin, opts.Getenv); err != nil {
			return err
		}
	}
	for _, o := range opts.Set {
		if err := set(&l.Config, l.Origin, o); err != nil {
			return err
		}
	}
	return l.check()
}

// locate returns the file to read, as the user would name it from WorkDir.
func locate(opts Options) (string, error) {
	if opts.Path != "" {
		return opts.Path, nil
	}
	path, err := Find(opts.WorkDir)
	if err != nil || path == "" {
		return "", err
	}
	dir, err := filepath.Abs(opts.WorkDir)
	if err != nil {
		return "", fmt.Errorf("finding the working directory: %w", err)
	}
	return filepath.Rel(dir, path)
}

// readFile lays the file over the defaults and makes the paths of both
// relative to the working directory.
func (l *Loaded) readFile(workDir string) error {
	path := l.Path
	if !filepath.IsAbs(path) {
		path = filepath.Join(workDir, path)
	}
	data, err := readFile(path, l.Path)
	if err != nil {
		return err
	}
	if err := parseFile(data, l.Path, &l.Config, l.Origin); err != nil {
		return err
	}
	l.Config.anchor(filepath.Dir(l.Path))
	return nil
}

// anchor makes relative paths relative to dir. The defaults are anchored
// too: a key left out means the same as its default written in the file.
func (c *Config) anchor(dir string) {
	for _, p := range c.paths() {
		if *p.value != "" && !filepath.IsAbs(*p.value) && !isTilde(*p.value) {
			*p.value = filepath.Join(dir, *p.value)
		}
	}
}

// localPath is a key that names a file or directory of the caller's machine.
type localPath struct {
	key   string
	value *string
}

// paths lists them, in the order of the file.
func (c *Config) paths() []localPath {
	return []localPath{
		{"source", &c.Source},
		{"image.dockerfile", &c.Image.Dockerfile},
		{"image.ca_bundle", &c.Image.CABundle},
		{"image.web_ui.package", &c.Image.WebUI.Package},
		{"cube.ca_file", &c.Cube.CAFile},
		{"skills.source", &c.Skills.Source},
	}
}

// isTilde tells whether a shell would put a home directory into the path.
func isTilde(path string) bool { return path == "~" || strings.HasPrefix(path, "~/") }
