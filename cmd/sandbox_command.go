package cmd

import (
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/spf13/pflag"

	"github.com/hermesbox/hermesbox/internal/envd"
	"github.com/hermesbox/hermesbox/internal/redact"
)

// commandOptions are the flags of commands that run something in a sandbox.
type commandOptions struct {
	user, workdir string
	env           []string
}

func (o *commandOptions) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.user, "user", "root", "`user` to run as; the home of Hermes is root's")
	flags.StringVar(&o.workdir, "workdir", "", "`directory` to run in (default: /workspace for root, else the user's home)")
	flags.StringArrayVar(&o.env, "env", nil, "variable to pass: `NAME` takes the caller's value, NAME=VALUE gives one")
}

// variables are those that the flags name. A secret is not written into a
// command line, which others can read, and is masked from now on.
func (o *commandOptions) variables(app *app) (map[string]string, error) {
	out := map[string]string{}
	for _, spec := range o.env {
		name, value, given := cutVariable(spec)
		switch {
		case !isVariable(name):
			return nil, usagef("--env %q: no name of a variable", redact.URL(name)).withHint("use letters, digits and _")
		case given && redact.IsSecretName(name):
			return nil, usagef("--env %s=…: the name looks like a secret's, and command lines can be read by others", name).
				withHint("set the variable, then give --env %s", name)
		case !given:
			if value = app.getenv(name); value == "" {
				return nil, usagef("--env %s: the variable is not set", name).withHint("set it, or write --env %s=VALUE", name)
			}
		}
		if redact.IsSecretName(name) {
			app.secrets.Add(value)
		}
		out[name] = value
	}
	return out, nil
}

// cutVariable splits NAME=VALUE.
func cutVariable(spec string) (name, value string, given bool) {
	for i := range len(spec) {
		if spec[i] == '=' {
			return spec[:i], spec[i+1:], true
		}
	}
	return spec, "", false
}

// command is what to start: with the environment of the Web UI for root, whose
// home it is, and the flags over it.
func (o *commandOptions) command(in inside, flags map[string]string, path string, args ...string) envd.Command {
	cmd := envd.Command{Path: path, Args: args, Env: map[string]string{}, Dir: o.workdir, KillOnCancel: true}
	if o.user == "root" {
		maps.Copy(cmd.Env, in.env)
		if cmd.Dir == "" {
			cmd.Dir = in.dir
		}
	}
	maps.Copy(cmd.Env, flags)
	return cmd
}

// serviceAs is the command service for another user.
func (t *target) serviceAs(user string) (*envd.Client, error) {
	service, err := envd.New(t.reach(envd.Port), envd.Options{User: user, Roots: t.client.Route.Roots})
	if err != nil {
		return nil, fmt.Errorf("reaching sandbox %s: %w", t.ID, err)
	}
	return service, nil
}

// insideFailed gives an error of the command service its exit code and the next step.
func insideFailed(title string, err error) error {
	var f *failure
	switch {
	case err == nil, errors.As(err, &f), errors.As(err, new(exitStatus)):
		return err
	case errors.Is(err, envd.ErrCut):
		return &failure{err: fmt.Errorf("the connection to %s was lost: %w", title, err), code: exitFailed, hint: "hermesbox sandbox show " + title + " tells its state; the command may still run in it"}
	case errors.Is(err, envd.ErrUnauthenticated):
		return &failure{err: err, code: exitAuth, hint: "check --user; a sandbox whose ports are not public needs the token that only its creator got"}
	case errors.Is(err, envd.ErrNoSandbox):
		return &failure{err: err, code: exitFailed, hint: "hermesbox sandbox ls lists what there is"}
	case errors.Is(err, envd.ErrNotReady):
		return &failure{err: err, code: exitFailed, hint: "the command service does not answer: hermesbox sandbox show " + title + " tells the state of the sandbox"}
	}
	var refused *envd.Error
	if errors.As(err, &refused) && strings.Contains(refused.Message, "cwd ") {
		return &failure{err: err, code: exitFailed, hint: "name a directory that is there with --workdir"}
	}
	return &failure{err: err, code: exitFailed}
}
