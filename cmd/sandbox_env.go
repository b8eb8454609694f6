package cmd

import (
	"errors"
	"io"
	"maps"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"github.com/hermesbox/hermesbox/internal/redact"
	"github.com/hermesbox/hermesbox/sandbox"
)

// envOptions are the flags that set environment overrides.
type envOptions struct {
	env, files []string
}

func (o *envOptions) AddFlags(flags *pflag.FlagSet) {
	flags.StringArrayVar(&o.env, "env", nil, "`NAME` of a variable to pass on, or NAME=VALUE for what is no secret (repeatable)")
	flags.StringArrayVar(&o.files, "env-file", nil, "`file` of lines NAME=VALUE (repeatable)")
}

// envFileLimit is the longest env file that is read.
const envFileLimit = 1 << 20

// overridesOf collects the overrides: of the configuration, of files, of flags;
// the later one wins. From then on values of secrets are masked.
func (a *app) overridesOf(configured map[string]string, o envOptions) (map[string]string, error) {
	env := maps.Clone(configured)
	if env == nil {
		env = map[string]string{}
	}
	for _, file := range o.files {
		read, err := a.readEnvFile(file)
		if err != nil {
			return nil, err
		}
		maps.Copy(env, read)
	}
	for _, given := range o.env {
		name, value, err := a.envFlag(given)
		if err != nil {
			return nil, err
		}
		env[name] = value
	}
	for name, value := range env {
		if redact.IsSecretName(name) {
			a.secrets.Add(value)
		}
	}
	if err := sandbox.CheckEnv(env); err != nil {
		return nil, sandboxFailed(err)
	}
	return env, nil
}

// envFlag reads one --env. A secret's value on the command line would be in the
// list of processes and in the shell's history.
func (a *app) envFlag(given string) (name, value string, err error) {
	name, value, assigned := strings.Cut(given, "=")
	switch {
	case assigned && redact.IsSecretName(name):
		a.secrets.Add(value)
		return "", "", usagef("--env %s=…: the name looks like a secret's, and a secret is no flag value", name).
			withHint("set %s in the environment and give --env %s, or use --env-file", name, name)
	case assigned:
		return name, value, nil
	}
	if value = a.getenv(name); value == "" {
		return "", "", usagef("--env %s: the variable is not set here", name).withHint("set it, or give --env-file")
	}
	return name, value, nil
}

func (a *app) readEnvFile(file string) (map[string]string, error) {
	text, err := readLimited(file, envFileLimit)
	if err != nil {
		return nil, usagef("--env-file: %w", err).withHint("name a file that can be read, of lines NAME=VALUE")
	}
	env, twice, err := sandbox.ParseEnvFile(text, a.getenv)
	if err != nil {
		return nil, usagef("--env-file %s: %w", file, err).withHint("write one NAME=VALUE a line; # begins a comment")
	}
	for _, name := range twice {
		a.warn("%s sets %s twice: the last one counts", file, name)
	}
	return env, nil
}

// readLimited reads a file of at most limit bytes.
func readLimited(file string, limit int64) (text []byte, err error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	text, err = io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(text)) > limit {
		err = errors.New(file + " is longer than an env file can be")
	}
	return text, err
}
