package cmd

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/hermesbox/hermesbox/internal/envd"
)

// insideScript tells what a command needs to know before it runs.
//
//go:embed sandbox_inside.sh
var insideScript string

// insideLimit is how much a sandbox may tell; secretsLimit how many secrets of
// it are masked. Both only bound what a hostile one can cost.
const (
	insideLimit  = 2 << 20
	secretsLimit = 256
)

// inside is what the Web UI of a sandbox runs with.
type inside struct {
	// env are the variables, creation-time overrides among them.
	env map[string]string
	// dir is its working directory; empty where there is none.
	dir string
}

// studioEnv is what the launcher sets, less what is a process's own.
func studioEnv() map[string]string {
	return map[string]string{
		"HERMES_HOME":                  "/root/.hermes",
		"HERMES_DISABLE_LAZY_INSTALLS": "1",
		"HERMES_GATEWAY_NO_SUPERVISE":  "1",
	}
}

// lookInside reads what commands in a sandbox get, and its secrets, which from
// now on are masked wherever they would be printed. service acts as root.
func (a *app) lookInside(ctx context.Context, service *envd.Client) (inside, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	told, said := &limited{left: insideLimit}, &limited{left: insideLimit}
	script := envd.Command{Path: "/bin/sh", Args: []string{"-c", insideScript, "sh"}, Dir: "/", KillOnCancel: true}
	exit, err := service.Run(ctx, script, nil, envd.Output{Stdout: told, Stderr: said})
	switch {
	case err != nil:
		return inside{}, fmt.Errorf("looking into the sandbox: %w", err)
	case !exit.OK():
		return inside{}, fmt.Errorf("looking into the sandbox: %s: %s", exit, strings.TrimSpace(said.String()))
	}
	in, secrets := readInside(told.String())
	for _, secret := range secrets {
		a.secrets.Add(secret)
	}
	return in, nil
}

// readInside reads what the script told: lines that begin with what they are
// of, so that no file can pass for another.
func readInside(text string) (inside, []string) {
	in := inside{env: studioEnv()}
	var found secretSet
	docs := map[string]*strings.Builder{}
	for line := range strings.SplitSeq(text, "\n") {
		what, rest, _ := strings.Cut(line, " ")
		switch {
		case what == "dir":
			in.dir = rest
		case what == "token":
			found.add(rest)
		case what == "override":
			found.assignment(rest)
			maps.Copy(in.env, override(rest))
		case what == "env":
			found.assignment(rest)
		case strings.HasPrefix(what, "doc"):
			if docs[what] == nil {
				docs[what] = &strings.Builder{}
			}
			docs[what].WriteString(rest + "\n")
		}
	}
	for _, doc := range docs {
		found.document(doc.String())
	}
	return in, found.all
}

// override reads a line of the overrides as the launcher does. Names that are
// fixed there are fixed here.
func override(line string) map[string]string {
	name, value, ok := strings.Cut(line, "=")
	if !ok || !isVariable(name) {
		return nil
	}
	switch name {
	case "HOME", "HERMES_HOME", "HERMES_BIN", "PORT", "BIND_HOST", "IFS", "PPID", "UID", "EUID", "BASHOPTS", "SHELLOPTS":
		return nil
	}
	return map[string]string{name: value}
}

// isVariable tells whether a variable can have the name.
func isVariable(name string) bool {
	for i, c := range []byte(name) {
		letter := c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != ""
}

// errTooMuch is more output than there is a use for.
var errTooMuch = errors.New("more output than is kept")

// limited is a buffer that takes only so much.
type limited struct {
	bytes.Buffer
	left int
}

func (l *limited) Write(p []byte) (int, error) {
	if l.left -= len(p); l.left < 0 {
		return 0, errTooMuch
	}
	return l.Buffer.Write(p)
}
