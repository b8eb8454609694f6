package cmd

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/hermesbox/hermesbox/internal/config"
	"github.com/hermesbox/hermesbox/internal/redact"
)

// app is one run of the program: its streams, its global flags, and the
// configuration once a command has asked for it.
type app struct {
	in      io.Reader
	out     io.WriteCloser // masks secrets
	err     io.WriteCloser // masks secrets
	rawOut  io.Writer      // for archives, which pass as they are
	rawErr  io.Writer      // for a terminal display, which needs the terminal itself
	getenv  func(string) string
	secrets *redact.Redactor
	masks   bool // the CI system is told secrets

	configPath string
	cube       string
	output     string
	progress   string
	yes        bool
	verbose    bool
}

func newApp(sys System) *app {
	secrets := redact.New()
	for _, name := range []string{"CUBE_API_KEY", "E2B_API_KEY"} {
		secrets.Add(sys.Getenv(name))
	}
	kind := redact.Kind{Patience: 250 * time.Millisecond} // nobody waits longer for the end of a line
	return &app{
		in: sys.In, out: secrets.Stream(sys.Out, kind), err: secrets.Stream(sys.Err, kind), rawOut: sys.Out, rawErr: sys.Err,
		getenv: sys.Getenv, secrets: secrets, output: "text",
	}
}

// close flushes what the masking holds back.
func (a *app) close() error { return errors.Join(a.out.Close(), a.err.Close()) }

// addFlags declares the flags that every command knows.
func (a *app) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&a.configPath, "config", "", "configuration `file` (default: hermesbox.yaml, found upwards from here)")
	flags.StringVar(&a.cube, "cube", "", "Cube `engine` to use: local, or what the configuration says")
	flags.StringVar(&a.output, "output", "text", "output `format`: text or json")
	flags.StringVar(&a.progress, "progress", "auto", "progress `mode`: auto, tty, plain, quiet or rawjson")
	flags.BoolVar(&a.yes, "yes", false, "answer yes where a command would ask")
	flags.BoolVarP(&a.verbose, "verbose", "v", false, "say more, never secrets")
}

// moreFormats is the annotation of commands that know more output formats than
// text and json.
const moreFormats = "formats"

// checkFlags refuses values of global flags that a command does not know; more
// are output formats of its own.
func (a *app) checkFlags(more ...string) error {
	if !slices.Contains(append([]string{"text", "json"}, more...), a.output) {
		given := a.output
		a.output = "text"
		return usagef("--output %q is no output format here", given).withHint("use %s", strings.Join(append([]string{"text", "json"}, more...), " or "))
	}
	if !slices.Contains([]string{"auto", "tty", "plain", "quiet", "rawjson"}, a.progress) {
		return usagef("--progress %q is no progress mode", a.progress).withHint("use auto, tty, plain, quiet or rawjson")
	}
	if a.cube != "" && a.cube != "local" {
		return usagef("--cube %q is no engine", a.cube).withHint("use --cube local, or set cube.api_url in hermesbox.yaml")
	}
	return nil
}

// config loads the configuration; set are the flags that override it.
func (a *app) config(set ...config.Override) (*config.Loaded, error) {
	dir, err := os.Getwd()
	if err != nil {
		return nil, fmt.Errorf("finding the working directory: %w", err)
	}
	if a.cube != "" {
		set = append(set, config.Override{Key: "cube.engine", Value: a.cube, Flag: "--cube"})
	}
	loaded, err := config.Load(config.Options{WorkDir: dir, Path: a.configPath, Getenv: a.getenv, Set: set})
	if err != nil {
		return nil, err
	}
	for _, secret := range loaded.Secrets() {
		a.secret(secret)
	}
	return loaded, nil
}

// printJSON writes one JSON document to standard output.
func (a *app) printJSON(v any) error {
	enc := json.NewEncoder(a.out)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("writing output: %w", err)
	}
	return nil
}

// warn prints a warning to standard error.
func (a *app) warn(format string, args ...any) {
	fmt.Fprintf(a.err, "hermesbox: warning: %s\n", visible(fmt.Sprintf(format, args...)))
}

// note prints a line about what was done to standard error, unless that is to be quiet or JSON.
func (a *app) note(format string, args ...any) {
	if a.progress == "quiet" || a.progress == "rawjson" {
		return
	}
	fmt.Fprintf(a.err, "hermesbox: %s\n", visible(fmt.Sprintf(format, args...)))
}

// display is where the builder's progress goes: the terminal itself where it
// redraws one, else the masked stream.
func (a *app) display() io.Writer {
	if f, ok := a.rawErr.(*os.File); ok && (a.progress == "auto" || a.progress == "tty") && term.IsTerminal(int(f.Fd())) {
		return f
	}
	return a.err
}

// pushProgress is where the progress of a push goes; nil where none is wanted.
func (a *app) pushProgress() io.Writer {
	if a.progress == "quiet" || a.progress == "rawjson" {
		return nil
	}
	return a.display()
}
